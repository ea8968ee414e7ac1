import { Group, SegmentedControl, Text, TextInput } from '@mantine/core';
import type { Factory } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { client } from '../../api.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { creationOf, draftOf, type FactoryDraft, isComplete, updateOf } from './draft.ts';

/** Creates a factory and goes to its page, or edits one. */
export default function FactoryDialog({ factory, close }: { factory: Factory | undefined; close: () => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => draftOf(factory));
  const field = (name: keyof FactoryDraft) => ({
    value: draft[name],
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setDraft((before) => ({ ...before, [name]: value }));
    },
  });
  const submit = async (): Promise<void> => {
    const { uid } = factory
      ? await client.factories.update(factory.uid, updateOf(draft))
      : await client.factories.create(creationOf(draft));
    await Promise.all([queries.invalidateQueries({ queryKey: ['factories'] }), queries.invalidateQueries({ queryKey: ['factory', uid] })]);
    if (!factory) {
      await navigate({ to: '/factory/$uid', params: { uid } });
    }
  };
  return (
    <FormDialog
      title={factory ? `Edit ${factory.name}` : 'New factory'}
      close={close}
      action={factory ? 'Save' : 'Create'}
      submit={submit}
      incomplete={!isComplete(draft)}
      size="lg"
    >
      {!factory && (
        <SegmentedControl
          aria-label="Location of its files"
          data={[
            { value: 'service', label: 'Edited here' },
            { value: 'repository', label: 'From a Git repository' },
          ]}
          value={draft.source}
          onChange={(source) => setDraft((before) => ({ ...before, source: source as FactoryDraft['source'] }))}
        />
      )}
      {draft.source === 'service' ? (
        <>
          <TextInput label="Name" required data-autofocus {...field('name')} />
          <TextInput label="Alias" description="A short name" {...field('alias')} />
          <TextInput label="Description" {...field('description')} />
        </>
      ) : (
        <>
          <Text size="sm" c="dimmed">
            Each new commit on the branch is applied if it is valid. You cannot edit the factory here.
          </Text>
          <TextInput
            label="Repository"
            description="https:// or ssh://, without credentials"
            placeholder="https://git.example.com/acme/factory.git"
            required
            {...field('url')}
          />
          <Group grow align="start">
            <TextInput label="Branch" placeholder="default branch" {...field('branch')} />
            <TextInput label="Folder" placeholder="repository root" {...field('path')} />
          </Group>
          <TextInput
            label="Secret"
            description="For a private repository: the name of the secret that holds the token, or user:token"
            {...field('secret')}
          />
        </>
      )}
    </FormDialog>
  );
}
