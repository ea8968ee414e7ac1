import { Alert, Button, Checkbox, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import type { CreateKeyRequest, Key, Known, MemberRole } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { Code } from '../../ui/Code.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { roleChoices } from '../people/roles.ts';
import { useOwnerChoices } from './owners.ts';
import { givable, lives, scopes } from './scopes.ts';

/** Creates a key and shows it once. */
export default function KeyDialog({ close }: { close: () => void }) {
  const queries = useQueryClient();
  const { data: session } = useQuery(sessionQuery);
  const owners = useOwnerChoices(session?.scopes);
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<string[]>([]);
  const [life, setLife] = useState('0');
  const [owner, setOwner] = useState<string | null>(null);
  const [chosenRole, setRole] = useState<string>();
  const choices = roleChoices(session?.scopes);
  const role = chosenRole ?? (choices.some(({ value }) => value === 'user') ? 'user' : '');
  const mine = givable(session?.scopes);
  const [key, setKey] = useState<Key>();
  if (key) {
    return <Reveal made={key} close={close} />;
  }
  const submit = async (): Promise<void> => {
    const created = await client.keys.create({
      name: name.trim(),
      ...(role ? { role: role as Known<MemberRole> } : { scopes: chosen as NonNullable<CreateKeyRequest['scopes']> }),
      ...(life === '0' ? {} : { expires_in_seconds: Number(life) }),
      ...owners.request(owner),
    });
    await queries.invalidateQueries({ queryKey: ['keys'] });
    setKey(created);
  };
  return (
    <FormDialog
      title="New key"
      close={close}
      action="Create"
      submit={submit}
      done={() => {}} // the key is shown
      incomplete={name.trim() === '' || (!role && chosen.length === 0)}
      error={owners.error}
      size="lg"
    >
      <TextInput
        label="Name"
        description="Say what uses the key, so that you know later whether you can revoke it"
        required
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Select
        label="May do"
        allowDeselect={false}
        data={[...choices, { value: '', label: 'Single scopes' }]}
        value={role}
        onChange={(value) => setRole(value ?? '')}
      />
      {!role && (
        <Checkbox.Group label="Scopes" required value={chosen} onChange={setChosen}>
          <Stack gap={6} mt={6}>
            {scopes.map(({ scope, what }) => (
              <Checkbox
                key={scope}
                value={scope}
                label={<span className="mono">{scope}</span>}
                description={what}
                disabled={!mine.includes(scope)}
              />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
      <Group grow align="start">
        <Select label="Expires" data={lives} value={life} allowDeselect={false} onChange={(value) => setLife(value ?? '0')} />
        <Select label="Owner" placeholder="Me" searchable clearable value={owner} onChange={setOwner} data={owners.choices} />
      </Group>
    </FormDialog>
  );
}

function Reveal({ made, close }: { made: Key; close: () => void }) {
  const key = made.key ?? '';
  return (
    <Dialog title={`The key ${made.name}`} close={close} size="lg" stays>
      <Stack gap="sm">
        <Alert variant="default" role="status" title="This key is shown only once">
          Copy it now. If you lose it, create another one.
        </Alert>
        <Code label="the key">{key}</Code>
        <Text size="sm">Try it:</Text>
        <Code label="try the key with curl">{`curl ${location.origin}/api/v1/me -H 'Authorization: Bearer ${key}'`}</Code>
        <Group justify="flex-end">
          <Button onClick={close}>I have copied it</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
