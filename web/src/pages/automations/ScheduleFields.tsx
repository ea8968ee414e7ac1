import { Group, MultiSelect, Radio, Select, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { schedulesQuery } from '../../queries.ts';
import type { CatchUp, Overlap } from '../schedules/draft.ts';
import { TickFields } from '../schedules/TickFields.tsx';
import { NextTimes } from './NextTimes.tsx';
import type { TriggerEditorProps } from './TriggerEditor.tsx';
import { missingOf } from './triggers.ts';

/** Edits the schedule of a trigger: its own, or schedules of the team. */
export function ScheduleFields({ trigger, change, readOnly }: Pick<TriggerEditorProps, 'trigger' | 'change' | 'readOnly'>) {
  const schedules = useQuery(schedulesQuery);
  const { clock } = trigger;
  return (
    <>
      <Radio.Group
        aria-label="Which schedule"
        value={trigger.own ? 'own' : 'schedules'}
        onChange={(which) => change({ ...trigger, own: which === 'own' })}
      >
        <Group>
          <Radio value="own" label="Its own schedule" disabled={readOnly && !trigger.own} />
          <Radio value="schedules" label="Team schedules" disabled={readOnly && trigger.own} />
        </Group>
      </Radio.Group>
      {trigger.own ? (
        <Group align="start" gap="lg">
          <Stack gap="xs">
            <TextInput
              label="Cron"
              readOnly={readOnly}
              description="minute hour day month weekday, or @daily, @every 1h30m"
              value={clock.cron}
              onChange={(event) => change({ ...trigger, clock: { ...clock, cron: event.currentTarget.value } })}
            />
            <Select
              label="Time zone"
              readOnly={readOnly}
              searchable
              allowDeselect={false}
              data={[...new Set(['UTC', clock.timezone ?? 'UTC', ...Intl.supportedValuesOf('timeZone')])]}
              value={clock.timezone ?? 'UTC'}
              onChange={(timezone) => change({ ...trigger, clock: { ...clock, timezone: timezone ?? 'UTC' } })}
            />
            <TextInput
              label="Name"
              readOnly={readOnly}
              description="Its runs show this name"
              value={clock.name ?? ''}
              onChange={(event) => change({ ...trigger, clock: { ...clock, name: event.currentTarget.value } })}
            />
            <TickFields
              readOnly={readOnly}
              overlap={(clock.overlap ?? 'allow') as Overlap}
              catchUp={(clock.catch_up ?? 'once') as CatchUp}
              change={({ overlap = clock.overlap, catchUp = clock.catch_up }) =>
                change({ ...trigger, clock: { ...clock, overlap, catch_up: catchUp } })
              }
            />
          </Stack>
          <NextTimes cron={clock.cron} timezone={clock.timezone ?? 'UTC'} />
        </Group>
      ) : (
        <MultiSelect
          label="Schedules"
          withAsterisk
          description={missingOf(trigger)}
          readOnly={readOnly}
          data={schedules.data?.schedules.map(({ id, name }) => ({ value: id, label: name })) ?? []}
          value={trigger.scheduleIds}
          onChange={(scheduleIds) => change({ ...trigger, scheduleIds })}
        />
      )}
    </>
  );
}
