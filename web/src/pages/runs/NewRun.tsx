import { Button, Checkbox, Group, Select, SimpleGrid, Stack, TagsInput, Text, Textarea, TextInput } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import type { RunAgentRequest, RunItem } from '@penstock/sdk';
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { client } from '../../api.ts';
import { useAgentChoices, useEnvironmentChoices, useHarnessChoices, useModelChoices, whensBusy } from '../../choices.ts';
import { environmentsQuery } from '../../queries.ts';
import { Code } from '../../ui/Code.tsx';
import { curl } from '../../ui/curl.ts';
import { Dialog } from '../../ui/Dialog.tsx';
import { errorAt, Failure } from '../../ui/Failure.tsx';
import { knownRepositories, problemOf, repositoriesOf, repositoryText } from './repositories.ts';

const modes = [
  { value: 'normal', label: 'Normal' },
  { value: 'plan', label: 'Plan first, then ask' },
  { value: 'orchestrate', label: 'Orchestrate child runs' },
];

interface Draft {
  prompt: string;
  title: string;
  repositories: string[];
  agent: string | null;
  harness: string | null;
  model: string | null;
  environment: string | null;
  mode: string | null;
  interactive: boolean;
  personal: boolean;
  subject: string;
  whenBusy: string | null;
}

const emptyDraft: Draft = {
  prompt: '',
  title: '',
  repositories: [],
  agent: null,
  harness: null,
  model: null,
  environment: null,
  mode: 'normal',
  interactive: false,
  personal: false,
  subject: '',
  whenBusy: null,
};

/** The draft of a request. */
function draftOf(request: RunAgentRequest): Draft {
  return {
    prompt: request.prompt ?? '',
    title: request.title ?? '',
    repositories: (request.config?.repositories ?? []).map(repositoryText),
    agent: request.agent_identity_uid ?? null,
    harness: request.config?.harness?.type ?? null,
    model: request.config?.harness?.model_id ?? request.config?.model_id ?? null,
    environment: request.config?.environment_id ?? null,
    mode: request.mode ?? 'normal',
    interactive: request.interactive ?? false,
    personal: request.team === false,
    subject: '', // what was one conversation's starts another one
    whenBusy: null,
  };
}

/** The request of a draft. For empty fields, the server decides. What the form does not show is as in like. */
export function requestOf(draft: Draft, like?: RunAgentRequest): RunAgentRequest {
  const { model_id: _, environment_id: __, repositories: ____, harness: before, ...rest } = like?.config ?? {};
  const { model_id: ___, ...settings } = (before?.type ?? null) === draft.harness ? (before ?? {}) : {};
  const harness = { ...settings, ...(draft.harness ? { type: draft.harness } : {}) };
  const config = {
    ...rest,
    ...(Object.keys(harness).length > 0 ? { harness } : {}),
    ...(draft.model ? { model_id: draft.model } : {}),
    ...(draft.environment ? { environment_id: draft.environment } : {}),
    ...(draft.repositories.length > 0 ? { repositories: repositoriesOf(draft.repositories) } : {}),
  };
  return {
    ...(like?.metadata ? { metadata: like.metadata } : {}),
    ...(like?.attachments ? { attachments: like.attachments } : {}),
    prompt: draft.prompt,
    ...(draft.title.trim() ? { title: draft.title.trim() } : {}),
    ...(draft.agent ? { agent_identity_uid: draft.agent } : {}),
    ...(draft.mode && draft.mode !== 'normal' ? { mode: draft.mode as 'plan' | 'orchestrate' } : {}),
    ...(draft.interactive ? { interactive: true } : {}),
    ...(draft.personal ? { team: false } : {}),
    ...(draft.subject.trim() ? { subject: draft.subject.trim() } : {}),
    ...(draft.subject.trim() && draft.whenBusy ? { when_busy: draft.whenBusy as NonNullable<RunAgentRequest['when_busy']> } : {}),
    ...(Object.keys(config).length > 0 ? { config } : {}),
  };
}

interface NewRunProps {
  title?: string;
  /** The form begins with these values. */
  like?: RunAgentRequest;
  /** The form begins with this prompt. */
  prompt?: string;
  close: () => void;
}

/** Starts a run and goes to its page. */
export default function NewRun({ like, prompt = '', title = like ? 'Edit and run' : 'New run', close }: NewRunProps) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(like ? draftOf(like) : { ...emptyDraft, prompt });
  const [copied, setCopied] = useState(false);
  const clipboard = useClipboard();
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const command = curl('POST', '/agent/runs', requestOf(draft, like));
  // Also shown, because browsers have no clipboard without https.
  const copy = (): void => {
    clipboard.copy(command);
    setCopied(true);
  };
  const creating = useMutation({ mutationFn: (request: RunAgentRequest) => client.runs.create(request) });
  const submit = (event?: FormEvent): void => {
    event?.preventDefault();
    if (creating.isPending || creating.isSuccess || problemOf(draft.repositories)) {
      return; // a held key repeats
    }
    creating.mutate(requestOf(draft, like), {
      onSuccess: ({ run_id }) => {
        void queries.invalidateQueries({ queryKey: ['runs'] });
        void navigate({ to: '/runs/$runId', params: { runId: run_id } });
      },
    });
  };
  return (
    <Dialog title={title} close={close} size="lg">
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Textarea
            label="Prompt"
            placeholder="What should the agent do?"
            required
            data-autofocus
            autosize
            minRows={4}
            maxRows={14}
            value={draft.prompt}
            onChange={(event) => set({ prompt: event.currentTarget.value })}
            onKeyDown={(event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && draft.prompt.trim() && submit()}
          />
          <Repositories
            texts={draft.repositories}
            error={problemOf(draft.repositories) ?? repositoryError(creating.error, draft.repositories.length)}
            change={(repositories) => set({ repositories })}
          />
          <TextInput
            label="Title"
            placeholder="From the prompt"
            value={draft.title}
            onChange={(event) => set({ title: event.currentTarget.value })}
          />
          <RunFields draft={draft} set={set} />
          <Group grow align="start">
            <TextInput
              label="Subject"
              description="If a run works on it, that run gets the prompt."
              placeholder="None: a run of its own"
              maxLength={512}
              error={errorAt(creating.error, '/subject')}
              value={draft.subject}
              onChange={(event) => set({ subject: event.currentTarget.value })}
            />
            {draft.subject.trim() !== '' && (
              <Select
                label="While its run works"
                description="What the prompt does."
                placeholder="Wait for its turn to end, then together"
                clearable
                data={whensBusy}
                value={draft.whenBusy}
                onChange={(whenBusy) => set({ whenBusy })}
              />
            )}
          </Group>
          {copied && <Code label="create this run with curl">{command}</Code>}
          <Failure error={creating.error} />
          <Group justify="space-between">
            <Button variant="subtle" onClick={copy}>
              Copy as cURL
            </Button>
            <Group gap="xs">
              <Button variant="default" onClick={close}>
                Close
              </Button>
              <Button
                type="submit"
                loading={creating.isPending}
                disabled={draft.prompt.trim() === '' || problemOf(draft.repositories) !== undefined}
              >
                Start
              </Button>
            </Group>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

/** The server's error about the repositories, or one of them. */
function repositoryError(error: unknown, count: number): string | undefined {
  const at = '/config/repositories';
  const pointers = [at, ...Array.from({ length: count }, (_, i) => [`${at}/${i}/url`, `${at}/${i}/ref`]).flat()];
  return pointers.map((pointer) => errorAt(error, pointer)).find((text) => text !== undefined);
}

interface RepositoriesProps {
  texts: string[];
  error: string | undefined;
  change: (texts: string[]) => void;
}

/** What the run works on. Offers the repositories of environments, and of the runs that this page has read. */
function Repositories({ texts, error, change }: RepositoriesProps) {
  const queries = useQueryClient();
  const { data } = useQuery(environmentsQuery);
  const [runs] = useState(() => listedRuns(queries));
  return (
    <TagsInput
      label="Repositories"
      description="owner/name of GitHub or a URL, with #REF for a branch, tag or commit."
      placeholder={texts.length === 0 ? 'acme/shop#main' : ''}
      data={knownRepositories(data?.environments ?? [], runs)}
      maxTags={20}
      splitChars={[' ', ',']}
      clearable
      error={error}
      value={texts}
      onChange={change}
    />
  );
}

/** The runs of the lists that were read already. */
function listedRuns(queries: QueryClient): RunItem[] {
  return queries.getQueriesData<{ items?: RunItem[] }>({ queryKey: ['runs'] }).flatMap(([, list]) => list?.items ?? []);
}

interface RunFieldsProps {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
}

/** The options of a run. */
function RunFields({ draft, set }: RunFieldsProps) {
  const agents = useAgentChoices();
  const harnesses = useHarnessChoices();
  const models = useModelChoices();
  // The server knows no models of a harness from its configuration, so offer all.
  const known = draft.harness ? harnesses.modelsOf(draft.harness) : new Set<string>();
  const usable = models.choices.filter(({ value }) => known.size === 0 || known.has(value) || value === draft.model);
  const environments = useEnvironmentChoices();
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="sm">
        <Select
          label="Agent"
          placeholder="None"
          searchable
          clearable
          value={draft.agent}
          onChange={(agent) => set({ agent })}
          data={agents.choices}
        />
        <Select
          label="Harness"
          placeholder={draft.agent ? 'Default' : 'Built-in agent (default)'}
          clearable
          value={draft.harness}
          onChange={(harness) => {
            const can = harness ? harnesses.modelsOf(harness) : new Set<string>();
            set({ harness, ...(draft.model && can.size > 0 && !can.has(draft.model) ? { model: null } : {}) });
          }}
          data={harnesses.choices}
          // The list itself scrolls, since it is what a screen reader knows.
          withScrollArea={false}
          styles={{ options: { maxHeight: 320, overflowY: 'auto' } }}
          renderOption={({ option }) => (
            <Stack gap={0}>
              {option.label}
              {harnesses.reasons.has(option.value) && <Text size="xs">{harnesses.reasons.get(option.value)}</Text>}
            </Stack>
          )}
        />
        <Select
          label="Model"
          placeholder={
            draft.agent || draft.harness || !models.standard
              ? 'Default'
              : `${models.choices.find(({ value }) => value === models.standard)?.label ?? models.standard} (default)`
          }
          searchable
          clearable
          value={draft.model}
          onChange={(model) => set({ model })}
          data={usable.map((one) => ({ ...one, disabled: models.unavailable.has(one.value) }))}
        />
        <Select
          label="Environment"
          placeholder="None"
          searchable
          clearable
          value={draft.environment}
          onChange={(environment) => set({ environment })}
          data={environments.choices}
        />
        <Select label="Mode" value={draft.mode} allowDeselect={false} onChange={(mode) => set({ mode })} data={modes} />
      </SimpleGrid>
      <Group>
        <Checkbox
          label="Interactive: stays open for follow-ups"
          checked={draft.interactive}
          onChange={(event) => set({ interactive: event.currentTarget.checked })}
        />
        <Checkbox
          label="Personal: only you and admins can see it"
          checked={draft.personal}
          onChange={(event) => set({ personal: event.currentTarget.checked })}
        />
      </Group>
      <Failure error={agents.error ?? harnesses.error ?? models.error ?? environments.error} />
    </>
  );
}
