import { Button, Checkbox, Group, Select, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import type { RunAgentRequest } from '@penstock/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { client } from '../../api.ts';
import { useAgentChoices, useEnvironmentChoices, useModelChoices } from '../../choices.ts';
import { Code } from '../../ui/Code.tsx';
import { curl } from '../../ui/curl.ts';
import { Dialog } from '../../ui/Dialog.tsx';
import { Failure } from '../../ui/Failure.tsx';

const modes = [
  { value: 'normal', label: 'Normal' },
  { value: 'plan', label: 'Plan first, then ask' },
  { value: 'orchestrate', label: 'Orchestrate child runs' },
];

interface Draft {
  prompt: string;
  title: string;
  agent: string | null;
  model: string | null;
  environment: string | null;
  mode: string | null;
  interactive: boolean;
  personal: boolean;
}

const emptyDraft: Draft = {
  prompt: '',
  title: '',
  agent: null,
  model: null,
  environment: null,
  mode: 'normal',
  interactive: false,
  personal: false,
};

/** The request of a draft. For empty fields, the server decides. */
export function requestOf(draft: Draft): RunAgentRequest {
  const config = {
    ...(draft.model ? { model_id: draft.model } : {}),
    ...(draft.environment ? { environment_id: draft.environment } : {}),
  };
  return {
    prompt: draft.prompt,
    ...(draft.title.trim() ? { title: draft.title.trim() } : {}),
    ...(draft.agent ? { agent_identity_uid: draft.agent } : {}),
    ...(draft.mode && draft.mode !== 'normal' ? { mode: draft.mode as 'plan' | 'orchestrate' } : {}),
    ...(draft.interactive ? { interactive: true } : {}),
    ...(draft.personal ? { team: false } : {}),
    ...(Object.keys(config).length > 0 ? { config } : {}),
  };
}

/** Starts a run and goes to its page. */
export default function NewRun({ close }: { close: () => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(emptyDraft);
  const [copied, setCopied] = useState(false);
  const clipboard = useClipboard();
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const command = curl('POST', '/agent/runs', requestOf(draft));
  // Also shown, because browsers have no clipboard without https.
  const copy = (): void => {
    clipboard.copy(command);
    setCopied(true);
  };
  const creating = useMutation({ mutationFn: (request: RunAgentRequest) => client.runs.create(request) });
  const submit = (event?: FormEvent): void => {
    event?.preventDefault();
    if (creating.isPending || creating.isSuccess) {
      return; // a held key repeats
    }
    creating.mutate(requestOf(draft), {
      onSuccess: ({ run_id }) => {
        void queries.invalidateQueries({ queryKey: ['runs'] });
        void navigate({ to: '/runs/$runId', params: { runId: run_id } });
      },
    });
  };
  return (
    <Dialog title="New run" close={close} size="lg">
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
          <TextInput
            label="Title"
            placeholder="From the prompt"
            value={draft.title}
            onChange={(event) => set({ title: event.currentTarget.value })}
          />
          <RunFields draft={draft} set={set} />
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
              <Button type="submit" loading={creating.isPending} disabled={draft.prompt.trim() === ''}>
                Start
              </Button>
            </Group>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

interface RunFieldsProps {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
}

/** The options of a run. */
function RunFields({ draft, set }: RunFieldsProps) {
  const agents = useAgentChoices();
  const models = useModelChoices();
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
          label="Model"
          placeholder={draft.agent || !models.standard ? 'Default' : `${models.standard} (default)`}
          searchable
          clearable
          value={draft.model}
          onChange={(model) => set({ model })}
          data={models.choices.map((one) => ({ ...one, disabled: models.unavailable.has(one.value) }))}
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
      <Failure error={agents.error ?? models.error ?? environments.error} />
    </>
  );
}
