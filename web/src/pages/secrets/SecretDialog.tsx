import { Button, Group, Text, Textarea, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import classes from './SecretDialog.module.css';

/** Creates a secret or sets its value. No page shows the value again, so this field can show it. */
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
      title={given === undefined ? 'New secret' : `Set the value of ${given}`}
      close={close}
      action={given === undefined ? 'Create' : 'Set value'}
      submit={submit}
      incomplete={given === undefined ? name.trim() === '' : value === ''}
    >
      {given === undefined && (
        <TextInput
          label="Name"
          description="Runs get the value in the environment variable with this name, such as DEPLOY_TOKEN"
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
            ? 'Optional. Until you set a value, the secret is pending'
            : 'Replaces the current value. Runs that have already started keep the old one'
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
          After you store it, neither this page nor the API shows the value again.
        </Text>
        <Button size="compact-sm" variant="subtle" flex="none" aria-pressed={shown} onClick={() => setShown(!shown)}>
          {shown ? 'Hide' : 'Show'}
        </Button>
      </Group>
    </FormDialog>
  );
}
