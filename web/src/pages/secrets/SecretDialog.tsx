import { Button, Group, Text, Textarea, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import classes from './SecretDialog.module.css';

/** Gives a new secret, or one that there is, its value. Nothing shows a value again, so that this field is the last place to see it. */
export default function SecretDialog({ name: given, close }: { name: string | undefined; close: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState(given ?? '');
  const [value, setValue] = useState('');
  const [shown, setShown] = useState(false);
  const submit = async (): Promise<void> => {
    if (given === undefined) {
      await client.secrets.create({ name: name.trim(), ...(value ? { value } : {}) });
    } else {
      await client.secrets.set(given, { value });
    }
    await queries.invalidateQueries({ queryKey: ['secrets'] });
  };
  return (
    <FormDialog
      title={given === undefined ? 'New secret' : `A new value for ${given}`}
      close={close}
      action={given === undefined ? 'Create' : 'Set the value'}
      submit={submit}
      incomplete={given === undefined ? name.trim() === '' : value === ''}
    >
      {given === undefined && (
        <TextInput
          label="Name"
          description="The environment variable in which runs find it, such as DEPLOY_TOKEN"
          required
          data-autofocus
          classNames={{ input: 'mono' }}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
      )}
      <Textarea
        label="Value"
        description={
          given === undefined
            ? 'May be given later: until then the secret is pending'
            : 'Replaces the one before. Runs that have begun keep theirs'
        }
        data-autofocus={given !== undefined || undefined}
        autosize
        minRows={2}
        maxRows={8}
        autoComplete="off"
        spellCheck={false}
        classNames={{ input: shown ? 'mono' : `mono ${classes.hidden}` }}
        value={value}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" c="dimmed">
          Nothing shows a value again once it is stored: not this page, not the API.
        </Text>
        <Button size="compact-sm" variant="subtle" flex="none" aria-pressed={shown} onClick={() => setShown(!shown)}>
          {shown ? 'Hide' : 'Show'}
        </Button>
      </Group>
    </FormDialog>
  );
}
