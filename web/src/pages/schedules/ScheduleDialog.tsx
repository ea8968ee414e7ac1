import { Autocomplete, Checkbox, Group, Select, Text, Textarea, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import type { ScheduledAgentItem } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { useAgentChoices, useEnvironmentChoices, useModelChoices } from '../../choices.ts';
import { formatAbsolute, formatRelative } from '../../format.ts';
import { useNow } from '../../live.ts';
import { scheduleTimesQuery } from '../../queries.ts';
import { describe } from '../../ui/Failure.tsx';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { HealthFields } from '../../ui/Health.tsx';
import { draftOf, requestOf, type ScheduleDraft } from './draft.ts';
import { TickFields } from './TickFields.tsx';

/** Creates or replaces a schedule. */
export default function ScheduleDialog({ schedule, close }: { schedule: ScheduledAgentItem | undefined; close: () => void }) {
  const queries = useQueryClient();
  const [models, environments, agents] = [useModelChoices(), useEnvironmentChoices(), useAgentChoices()];
  const [draft, setDraft] = useState(() => draftOf(schedule));
  const set = (change: Partial<ScheduleDraft>): void => setDraft((before) => ({ ...before, ...change }));
  const submit = async (): Promise<void> => {
    const request = requestOf(draft, schedule);
    await (schedule ? client.schedules.update(schedule.id, request) : client.schedules.create(request));
    await queries.invalidateQueries({ queryKey: ['schedules'] });
  };
  return (
    <FormDialog
      title={schedule ? `Edit ${schedule.name}` : 'New schedule'}
      close={close}
      action={schedule ? 'Save' : 'Create'}
      submit={submit}
      incomplete={draft.name.trim() === '' || draft.cron.trim() === '' || (draft.prompt.trim() === '' && draft.skill.trim() === '')}
      error={models.error ?? environments.error ?? agents.error}
      size="lg"
    >
      <TextInput label="Name" required data-autofocus value={draft.name} onChange={(event) => set({ name: event.currentTarget.value })} />
      <Cron cron={draft.cron} timeZone={draft.timeZone} change={(cron) => set({ cron })} />
      <Group grow align="start">
        {/* Not a Select: browsers list some zones by older names only, such as Asia/Calcutta. */}
        <Autocomplete
          label="Time zone"
          limit={100}
          value={draft.timeZone}
          onChange={(timeZone) => set({ timeZone })}
          data={['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]}
        />
        <TickFields overlap={draft.overlap} catchUp={draft.catchUp} change={set} />
      </Group>
      <Textarea
        label="Prompt"
        description="The task of each run. You can leave it empty if you choose a skill."
        autosize
        minRows={3}
        maxRows={12}
        value={draft.prompt}
        onChange={(event) => set({ prompt: event.currentTarget.value })}
      />
      <Group grow align="start">
        <Select
          label="Agent"
          placeholder="None"
          searchable
          clearable
          value={draft.agent}
          onChange={(agent) => set({ agent })}
          data={agents.choices}
        />
        <TextInput
          label="Skill"
          placeholder="owner/repo:name"
          value={draft.skill}
          onChange={(event) => set({ skill: event.currentTarget.value })}
        />
      </Group>
      <Group grow align="start">
        <Select
          label="Environment"
          placeholder="None"
          searchable
          clearable
          value={draft.environment}
          onChange={(environment) => set({ environment })}
          data={environments.choices}
        />
        <Select
          label="Model"
          placeholder="Default"
          searchable
          clearable
          value={draft.model}
          onChange={(model) => set({ model })}
          data={models.choices}
        />
      </Group>
      <HealthFields
        expectEvery={draft.expectEvery}
        pauseAfter={draft.pauseAfter}
        change={({ expect_every, pause_after_failures }) =>
          set({ expectEvery: expect_every ?? draft.expectEvery, pauseAfter: pause_after_failures ?? draft.pauseAfter })
        }
      />
      <Group>
        <Checkbox label="Enabled" checked={draft.enabled} onChange={(event) => set({ enabled: event.currentTarget.checked })} />
        <Checkbox
          label="Personal: only you and admins can see it and its runs"
          checked={!draft.team}
          onChange={(event) => set({ team: !event.currentTarget.checked })}
        />
      </Group>
    </FormDialog>
  );
}

/** A field for a cron expression that shows the next times from the server during typing. */
function Cron({ cron, timeZone, change }: { cron: string; timeZone: string; change: (cron: string) => void }) {
  const now = useNow(5);
  const [asked] = useDebouncedValue(cron.trim(), 300);
  const [zone] = useDebouncedValue(timeZone.trim(), 300);
  const times = useQuery({ ...scheduleTimesQuery(asked, zone), enabled: asked !== '' });
  const wrong = times.error ? describe(times.error) : undefined;
  return (
    <div>
      <TextInput
        label="When (cron)"
        description="Minute, hour, day, month, weekday; or @hourly, @daily, @weekly, @every 1h30m"
        required
        spellCheck={false}
        classNames={{ input: 'mono' }}
        error={wrong && asked === cron.trim() ? wrong.fields.map(({ detail }) => detail).join('; ') || wrong.detail : undefined}
        value={cron}
        onChange={(event) => change(event.currentTarget.value)}
      />
      <Text size="xs" c="dimmed" mt={4} mih={36} role="status">
        {times.data && !wrong && (
          <>
            Next:{' '}
            {times.data.upcoming.map((at, i) => (
              <span key={at}>
                {i > 0 && ' · '}
                <time dateTime={at} title={formatRelative(at, now)}>
                  {formatAbsolute(at)}
                </time>
              </span>
            ))}
          </>
        )}
      </Text>
    </div>
  );
}
