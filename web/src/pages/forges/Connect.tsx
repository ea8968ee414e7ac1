import { Select, Text, TextInput } from '@mantine/core';
import type { Forge } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { errorAt } from '../../ui/Failure.tsx';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { RepositoriesField, TokenFields } from './Fields.tsx';
import { repositoriesIn } from './forge.ts';
import { RevealSecret } from './RevealSecret.tsx';

/** What the token of a bot must be able to do. */
const needs = {
  github: 'Fine-grained, with read and write access to contents, issues and pull requests; or a classic one with repo',
  gitea: 'With write:repository, write:issue and read:user',
};

/** Connects to a forge and shows the secret of its events once. The server asks the forge for the account of the token before it stores anything. */
export default function Connect({ close }: { close: () => void }) {
  const queries = useQueryClient();
  const [provider, setProvider] = useState<'github' | 'gitea'>('github');
  const [draft, setDraft] = useState({ name: '', url: '', token: '', readToken: '', repositories: '' });
  const set = (change: Partial<typeof draft>): void => setDraft((before) => ({ ...before, ...change }));
  const name = draft.name.trim();
  const url = draft.url.trim();
  const token = draft.token.trim();
  const readToken = draft.readToken.trim();
  const isGitHub = provider === 'github';
  const [connected, setConnected] = useState<Forge>();
  if (connected) {
    return <RevealSecret forge={connected} title={`Connected to ${connected.name}`} close={close} />;
  }
  const submit = async (): Promise<void> => {
    const made = await client.forges.create({
      name,
      provider,
      ...(url ? { url } : {}),
      token,
      ...(readToken ? { read_token: readToken } : {}),
      repositories: repositoriesIn(draft.repositories),
    });
    await queries.invalidateQueries({ queryKey: ['forges'] });
    setConnected(made);
  };
  return (
    <FormDialog
      title="Connect to a forge"
      close={close}
      action="Connect"
      submit={submit}
      done={() => {}} // the secret is shown
      incomplete={!name || !token || (!isGitHub && !url)}
      size="lg"
    >
      {(error) => (
        <>
          <TextInput
            label="Name"
            description="Runs name the connection so. It cannot change later"
            placeholder="acme"
            required
            data-autofocus
            autoComplete="off"
            maxLength={63}
            error={errorAt(error, '/name')}
            value={draft.name}
            onChange={(event) => set({ name: event.currentTarget.value })}
          />
          <Select
            label="Provider"
            data={[
              { value: 'github', label: 'GitHub' },
              { value: 'gitea', label: 'Gitea or Forgejo' },
            ]}
            allowDeselect={false}
            error={errorAt(error, '/provider')}
            value={provider}
            onChange={(value) => setProvider(value as typeof provider)}
          />
          <TextInput
            label="URL"
            description={isGitHub ? 'Only for GitHub Enterprise Server. Leave empty for github.com' : undefined}
            placeholder={isGitHub ? 'https://github.com' : 'https://git.example.com'}
            required={!isGitHub}
            autoComplete="off"
            error={errorAt(error, '/url')}
            value={draft.url}
            onChange={(event) => set({ url: event.currentTarget.value })}
          />
          <TokenFields token={draft.token} readToken={draft.readToken} set={set} error={error} needs={needs[provider]} />
          <RepositoriesField text={draft.repositories} set={(repositories) => set({ repositories })} error={error} />
          <Text size="sm" c="dimmed">
            Neither a page nor the API shows the tokens again, and no sandbox has them.
          </Text>
        </>
      )}
    </FormDialog>
  );
}
