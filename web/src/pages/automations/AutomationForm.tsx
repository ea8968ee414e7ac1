import { Button, Group, Select, Stack, Text, Textarea, TextInput } from '@mantine/core';
import type { Automation, Factory } from '@penstock/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { client } from '../../api.ts';
import { useEnvironmentChoices, useModelChoices } from '../../choices.ts';
import { errorAt, Failure } from '../../ui/Failure.tsx';
import { HealthFields } from '../../ui/Health.tsx';
import { type AutomationDraft, automationDraftOf, changeOf, creationOf, type OnHollow, othersOf } from './change.ts';
import { SubjectFields } from './SubjectFields.tsx';
import { Triggers } from './Triggers.tsx';

interface AutomationFormProps {
  /** undefined for a new one. */
  automation: Automation | undefined;
  factory: Factory;
  readOnly: boolean;
  saved: (automation: Automation) => void;
}

const onHollows: { value: OnHollow; label: string }[] = [
  { value: 'alert', label: 'Send the message run.hollow' },
  { value: 'fail', label: 'The run is FAILED' },
  { value: 'none', label: 'Alert nobody' },
];

/** Edits an automation. Fields that the form does not show, and fields that another user changes meanwhile, keep their values. */
export function AutomationForm({ automation: now, factory, readOnly, saved }: AutomationFormProps) {
  const queries = useQueryClient();
  const [automation, begin] = useState(now); // the automation before the edits: only differences from it are sent
  const [draft, setDraft] = useState(() => automationDraftOf(automation));
  const set = (change: Partial<AutomationDraft>): void => setDraft((before) => ({ ...before, ...change }));
  const change = automation && changeOf(automation, draft);
  const creation = automation ? undefined : creationOf(draft);
  const changed = automation ? change !== undefined && Object.keys(change).length > 0 : creation !== undefined;
  const beginAnew = (): void => {
    begin(now);
    setDraft(automationDraftOf(now));
  };
  if (automation && now !== automation && change && !changed) {
    beginAnew();
  }
  const saving = useMutation({
    mutationFn: (): Promise<Automation> =>
      automation
        ? client.automations.update(factory.uid, automation.uid, change ?? {})
        : client.automations.create(factory.uid, creation ?? { name: '', prompt: '', triggers: [] }),
    onSuccess: async (next) => {
      queries.setQueryData(['automation', next.uid], next);
      await queries.invalidateQueries({ queryKey: ['automations'] });
      await queries.invalidateQueries({ queryKey: ['factories'] });
      saved(next);
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    saving.mutate();
  };
  const others = automation ? othersOf(automation) : [];
  return (
    <form onSubmit={submit}>
      <Stack gap="md" maw={920}>
        <TextInput
          label="Name"
          required
          readOnly={readOnly}
          value={draft.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
        <Textarea
          label="Prompt"
          description="The task of every run. The payload of the delivery is added as a file."
          required
          readOnly={readOnly}
          autosize
          minRows={4}
          maxRows={16}
          value={draft.prompt}
          onChange={(event) => set({ prompt: event.currentTarget.value })}
        />
        <TextInput
          label="Title of its runs"
          description="{{data.order}} stands for that value of the payload, as text. Default: the name of the automation."
          placeholder="Ship order {{data.order}}"
          maxLength={200}
          readOnly={readOnly}
          value={draft.title}
          onChange={(event) => set({ title: event.currentTarget.value })}
        />
        <Configuration draft={draft} set={set} factory={factory} readOnly={readOnly} />
        {others.length > 0 && (
          <Text size="sm" c="dimmed">
            It also sets {others.join(', ')}. Saving does not change {others.length === 1 ? 'it' : 'them'}.
          </Text>
        )}
        <Triggers
          name="Trigger"
          field="triggers"
          triggers={draft.triggers}
          set={(triggers) => set({ triggers })}
          factory={factory.uid}
          automation={automation}
          readOnly={readOnly}
        />
        <SubjectFields draft={draft} set={set} error={saving.error} readOnly={readOnly} factory={factory.uid} />
        <HealthFields
          expectEvery={draft.texts.expect_every}
          pauseAfter={draft.texts.pause_after_failures}
          change={(fields) => set({ texts: { ...draft.texts, ...fields } })}
          error={saving.error}
          readOnly={readOnly}
        />
        <Select
          label="If a run did nothing"
          description="Its agent ended without an action, a changed file or an output, or every action failed."
          placeholder="Send the message run.hollow"
          clearable
          clearButtonProps={{ 'aria-label': 'Clear if a run did nothing' }}
          readOnly={readOnly}
          data={onHollows}
          error={errorAt(saving.error, '/on_hollow')}
          value={draft.onHollow || null}
          onChange={(value) => set({ onHollow: value ?? '' })}
        />
        <Failure error={saving.error} />
        {!readOnly && (
          <Group>
            <Button type="submit" loading={saving.isPending} disabled={!changed}>
              {automation ? 'Save' : 'Create'}
            </Button>
            {automation && changed && (
              <Button variant="default" onClick={beginAnew}>
                Discard
              </Button>
            )}
          </Group>
        )}
      </Stack>
    </form>
  );
}

export interface PartProps {
  draft: AutomationDraft;
  set: (change: Partial<AutomationDraft>) => void;
  readOnly: boolean;
}

function Configuration({ draft, set, factory, readOnly }: PartProps & { factory: Factory }) {
  const models = useModelChoices();
  const environments = useEnvironmentChoices();
  const agents = [...new Set([...factory.agents.map(({ name }) => name), ...(draft.agent ? [draft.agent] : [])])];
  return (
    <Group grow align="start" preventGrowOverflow={false}>
      <Select
        label="Agent"
        placeholder="The foreman"
        clearable
        readOnly={readOnly}
        data={agents}
        value={draft.agent || null}
        onChange={(agent) => set({ agent: agent ?? '' })}
      />
      <Select
        label="Model"
        placeholder="The agent’s"
        clearable
        searchable
        readOnly={readOnly}
        data={models.choices}
        value={draft.model || null}
        onChange={(model) => set({ model: model ?? '' })}
      />
      <Select
        label="Environment"
        placeholder="The agent’s"
        clearable
        searchable
        readOnly={readOnly}
        data={environments.choices}
        value={draft.environment || null}
        onChange={(environment) => set({ environment: environment ?? '' })}
      />
    </Group>
  );
}
