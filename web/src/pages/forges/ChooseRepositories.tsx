import type { Forge } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { RepositoriesField } from './Fields.tsx';
import { repositoriesIn } from './forge.ts';

/** Changes which repositories runs may use through a connection. */
export default function ChooseRepositories({ forge: { uid, name, repositories }, close }: { forge: Forge; close: () => void }) {
  const queries = useQueryClient();
  const [text, setText] = useState(repositories?.join('\n') ?? '');
  const submit = async (): Promise<void> => {
    await client.forges.update(uid, { repositories: repositoriesIn(text) });
    await queries.invalidateQueries({ queryKey: ['forges'] });
  };
  return (
    <FormDialog title={`Choose the repositories of ${name}`} close={close} action="Save" submit={submit}>
      {(error) => <RepositoriesField text={text} set={setText} error={error} />}
    </FormDialog>
  );
}
