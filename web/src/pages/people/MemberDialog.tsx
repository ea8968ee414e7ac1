import { Select, TextInput } from '@mantine/core';
import type { Known, MemberRole } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { roleChoices } from './roles.ts';

/** Creates a user or a service account. */
export default function MemberDialog({ type, close }: { type: 'user' | 'service_account'; close: () => void }) {
  const queries = useQueryClient();
  const { data: session } = useQuery(sessionQuery);
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<string | null>(type === 'user' ? 'user' : null);
  const person = type === 'user';
  const submit = async (): Promise<void> => {
    const request = {
      display_name: name.trim(),
      ...(email.trim() ? { email: email.trim() } : {}),
      ...(role ? { role: role as Known<MemberRole> } : {}),
    };
    await (person ? client.users.create(request) : client.serviceAccounts.create(request));
    await queries.invalidateQueries({ queryKey: ['members'] });
  };
  return (
    <FormDialog
      title={person ? 'New user' : 'New service account'}
      close={close}
      action="Create"
      submit={submit}
      incomplete={name.trim() === ''}
    >
      <TextInput
        label="Name"
        description={person ? 'As others see it at what this person does' : 'Say which program it is for'}
        required
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextInput
        label="E-mail"
        description="For people; it identifies nobody"
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <Select label="Role" placeholder="None yet" clearable data={roleChoices(session?.scopes)} value={role} onChange={setRole} />
    </FormDialog>
  );
}
