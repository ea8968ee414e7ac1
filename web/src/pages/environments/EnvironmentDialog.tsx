import { ActionIcon, Button, Fieldset, Group, NativeSelect, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core';
import type { CloudEnvironment } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { Icon } from '../../ui/Icon.tsx';
import { type CommandDraft, configOf, draftOf, type EnvironmentDraft, isGitHub, type PrebuildDraft, type RepoDraft } from './draft.ts';

/** Creates or replaces an environment. */
export default function EnvironmentDialog({ environment, close }: { environment: CloudEnvironment | undefined; close: () => void }) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => draftOf(environment?.config));
  const set = (change: Partial<EnvironmentDraft>): void => setDraft((before) => ({ ...before, ...change }));
  const submit = async (): Promise<void> => {
    const config = configOf(draft, environment?.config);
    await (environment ? client.environments.update(environment.uid, config) : client.environments.create(config));
    await queries.invalidateQueries({ queryKey: ['environments'] });
  };
  return (
    <FormDialog
      title={environment ? `Edit ${environment.config.name ?? environment.uid}` : 'New environment'}
      close={close}
      action={environment ? 'Save' : 'Create'}
      submit={submit}
      incomplete={draft.name.trim() === ''}
      size="lg"
    >
      <TextInput label="Name" required data-autofocus value={draft.name} onChange={(event) => set({ name: event.currentTarget.value })} />
      <TextInput label="Description" value={draft.description} onChange={(event) => set({ description: event.currentTarget.value })} />
      <TextInput
        label="Image"
        description="Only for workers that use containers. Other workers use the tools of their host."
        placeholder="debian:13"
        value={draft.image}
        onChange={(event) => set({ image: event.currentTarget.value })}
      />
      {draft.image.trim() && (
        <TextInput
          label="Secret of the image"
          description="Managed secret with USER:PASSWORD for the registry, which is among its hosts."
          placeholder="none"
          value={draft.secret}
          onChange={(event) => set({ secret: event.currentTarget.value })}
        />
      )}
      <Repositories repos={draft.repos} change={(repos) => set({ repos })} />
      <Commands legend="Setup commands, in order" label="Command" commands={draft.commands} change={(commands) => set({ commands })} />
      <PrebuildFields prebuild={draft.prebuild} change={(prebuild) => set({ prebuild })} />
    </FormDialog>
  );
}

/** What is kept of the setup for later runs. */
function PrebuildFields({ prebuild, change }: { prebuild: PrebuildDraft; change: (prebuild: PrebuildDraft) => void }) {
  const set = (part: Partial<PrebuildDraft>): void => change({ ...prebuild, ...part });
  return (
    <Fieldset legend="Prepared workspaces" p="xs">
      <Stack gap="xs">
        <NativeSelect
          label="What the setup leaves"
          value={prebuild.mode}
          data={[
            { value: '', label: 'Kept for runs without variables' },
            { value: 'lazy', label: 'Kept for all runs' },
            { value: 'off', label: 'Not kept' },
          ]}
          onChange={(event) => set({ mode: event.currentTarget.value as PrebuildDraft['mode'] })}
        />
        {prebuild.mode === 'lazy' && (
          <>
            <Textarea
              label="Inputs"
              description="Files whose change needs the commands again, one pattern in a line. By default, every new commit does."
              placeholder="**/package-lock.json"
              autosize
              maxRows={6}
              spellCheck={false}
              classNames={{ input: 'mono' }}
              value={prebuild.inputs}
              onChange={(event) => set({ inputs: event.currentTarget.value })}
            />
            <Commands
              legend="Commands on what was kept, instead of the setup commands"
              label="Update command"
              commands={prebuild.commands}
              change={(commands) => set({ commands })}
            />
            <Textarea
              label="Secrets of the setup"
              description="Variables that the commands get, one name in a line. Only runs with all of them use what is kept."
              placeholder="NPM_TOKEN"
              autosize
              maxRows={6}
              spellCheck={false}
              classNames={{ input: 'mono' }}
              value={prebuild.secrets}
              onChange={(event) => set({ secrets: event.currentTarget.value })}
            />
          </>
        )}
      </Stack>
    </Fieldset>
  );
}

/** The id of the next entry of a list. */
const nextId = (list: readonly { id: number }[]): number => Math.max(-1, ...list.map(({ id }) => id)) + 1;

function Repositories({ repos, change }: { repos: RepoDraft[]; change: (repos: RepoDraft[]) => void }) {
  const edit = (id: number, part: Partial<RepoDraft>): void => change(repos.map((one) => (one.id === id ? { ...one, ...part } : one)));
  return (
    <Fieldset legend="Repositories to clone" p="xs">
      <Stack gap="xs">
        {repos.map(({ id, place, ref }, i) => (
          <Group key={id} gap={4} wrap="nowrap" align="start">
            <SimpleGrid cols={{ base: 1, xs: 2 }} spacing={4} verticalSpacing={4} flex={1}>
              <TextInput
                aria-label={`Repository ${i + 1}`}
                placeholder="owner/name on GitHub, or https://…"
                value={place}
                onChange={(event) => edit(id, { place: event.currentTarget.value })}
              />
              <TextInput
                aria-label={`Branch, tag or commit of repository ${i + 1}`}
                placeholder="default branch"
                disabled={isGitHub(place)}
                value={isGitHub(place) ? '' : ref}
                onChange={(event) => edit(id, { ref: event.currentTarget.value })}
              />
            </SimpleGrid>
            <Remove label={`Remove repository ${i + 1}`} act={() => change(repos.filter((one) => one.id !== id))} />
          </Group>
        ))}
        <Add label="Add a repository" act={() => change([...repos, { id: nextId(repos), place: '', ref: '' }])} />
      </Stack>
    </Fieldset>
  );
}

interface CommandsProps {
  legend: string;
  /** The name of one of them. */
  label: string;
  commands: CommandDraft[];
  change: (commands: CommandDraft[]) => void;
}

function Commands({ legend, label, commands, change }: CommandsProps) {
  return (
    <Fieldset legend={legend} p="xs">
      <Stack gap="xs">
        {commands.map(({ id, text }, i) => (
          <Group key={id} gap={4} wrap="nowrap">
            <Textarea
              aria-label={`${label} ${i + 1}`}
              placeholder="npm ci"
              flex={1}
              autosize
              minRows={1}
              maxRows={10}
              spellCheck={false}
              classNames={{ input: 'mono' }}
              value={text}
              onChange={(event) => {
                const next = event.currentTarget.value;
                change(commands.map((one) => (one.id === id ? { id, text: next } : one)));
              }}
            />
            <Remove label={`Remove ${label.toLowerCase()} ${i + 1}`} act={() => change(commands.filter((one) => one.id !== id))} />
          </Group>
        ))}
        <Add
          label={`Add ${label === 'Command' ? 'a' : 'an'} ${label.toLowerCase()}`}
          act={() => change([...commands, { id: nextId(commands), text: '' }])}
        />
      </Stack>
    </Fieldset>
  );
}

function Remove({ label, act }: { label: string; act: () => void }) {
  return (
    <ActionIcon variant="subtle" color="gray" c="dimmed" aria-label={label} title={label} onClick={act}>
      <Icon name="cross" />
    </ActionIcon>
  );
}

function Add({ label, act }: { label: string; act: () => void }) {
  return (
    <Group>
      <Button size="compact-sm" variant="default" leftSection={<Icon name="plus" size={12} />} onClick={act}>
        {label}
      </Button>
    </Group>
  );
}
