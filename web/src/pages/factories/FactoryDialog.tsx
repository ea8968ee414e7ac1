import { Group, SegmentedControl, Text, TextInput } from '@mantine/core';
import type { Factory } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { creationOf, draftOf, type FactoryDraft, isComplete, updateOf } from './draft.ts';
import { ExampleFields } from './ExampleFields.tsx';
import { useExample } from './useExample.ts';

interface FactoryDialogProps {
  factory: Factory | undefined;
  /** Begins with the examples. */
  byExample?: boolean;
  close: () => void;
}

/** Creates a factory, also from an example, and goes to its page, or edits one. */
export default function FactoryDialog({ factory, byExample = false, close }: FactoryDialogProps) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { data: session } = useQuery(sessionQuery);
  const [draft, setDraft] = useState(() => draftOf(factory));
  const [copies, copy] = useState(byExample);
  const example = useExample(copies);
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
      : await (copies ? example.create() : client.factories.create(creationOf(draft)));
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
      incomplete={copies ? !example.ready : !isComplete(draft)}
      error={example.error}
      size="lg"
    >
      {!factory && (
        <SegmentedControl
          aria-label="Location of its files"
          data={[
            { value: 'service', label: 'Edited here' },
            { value: 'repository', label: 'Git repository' },
            // The secrets of an example are created with it.
            ...(may(session?.scopes, 'secrets:manage') ? [{ value: 'example', label: 'Example' }] : []),
          ]}
          value={copies ? 'example' : draft.source}
          onChange={(source) => {
            copy(source === 'example');
            if (source !== 'example') {
              setDraft((before) => ({ ...before, source: source as FactoryDraft['source'] }));
            }
          }}
        />
      )}
      {copies ? (
        <ExampleFields {...example.fields} />
      ) : draft.source === 'service' ? (
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
