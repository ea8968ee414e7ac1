import { Text } from '@mantine/core';
import type { Forge } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { TokenFields } from './Fields.tsx';

/** Gives a connection new tokens. */
export default function ReplaceToken({ forge: { uid, name, read_token }, close }: { forge: Forge; close: () => void }) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState({ token: '', readToken: '' });
  const token = draft.token.trim();
  const readToken = draft.readToken.trim();
  const submit = async (): Promise<void> => {
    await client.forges.update(uid, { ...(token ? { token } : {}), ...(readToken ? { read_token: readToken } : {}) });
    await queries.invalidateQueries({ queryKey: ['forges'] });
  };
  return (
    <FormDialog title={`Replace the token of ${name}`} close={close} action="Replace" submit={submit} incomplete={!token && !readToken}>
      {(error) => (
        <>
          <TokenFields
            {...draft}
            set={(change) => setDraft((before) => ({ ...before, ...change }))}
            error={error}
            hasReadToken={read_token}
          />
          <Text size="sm" c="dimmed">
            The forge is asked before anything is replaced. Runs get the new one with their next execution.
          </Text>
        </>
      )}
    </FormDialog>
  );
}
