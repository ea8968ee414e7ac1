import { Anchor, Button, Group, Text } from '@mantine/core';
import type { ScheduledAgentItem } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { formatAbsolute } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { schedulesQuery } from '../../queries.ts';
import { Code } from '../../ui/Code.tsx';
import { curl } from '../../ui/curl.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Empty } from '../../ui/Empty.tsx';
import { EnabledSwitch } from '../../ui/EnabledSwitch.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Health } from '../../ui/Health.tsx';
import { Icon } from '../../ui/Icon.tsx';
import { Page } from '../../ui/Page.tsx';
import { RowActions } from '../../ui/RowActions.tsx';
import { Time } from '../../ui/Time.tsx';
import { TimesDialog } from './TimesDialog.tsx';

const ScheduleDialog = lazy(() => import('./ScheduleDialog.tsx'));

const columns: Column<ScheduledAgentItem>[] = [
  {
    header: 'Schedule',
    main: true,
    cell: ({ name, prompt, agent_config }) => (
      <>
        <Text component="span" size="sm" fw={500}>
          {name}
        </Text>
        <Text size="xs" c="dimmed" className="clip" title={prompt}>
          {prompt || agent_config?.skill_spec}
        </Text>
      </>
    ),
  },
  {
    header: 'When',
    width: 140,
    cell: ({ cron_schedule, time_zone }) => (
      <span className="mono" title={time_zone}>
        {cron_schedule}
        {time_zone !== 'UTC' && ` ${time_zone}`}
      </span>
    ),
  },
  { header: 'Next', width: 200, cell: (schedule) => <Next schedule={schedule} /> },
];

/** The next time, and more times on demand. */
function Next({ schedule }: { schedule: ScheduledAgentItem }) {
  const upcoming = schedule.upcoming ?? [];
  if (!schedule.history?.next_run) {
    return <>–</>;
  }
  return (
    <details>
      <summary title="The next five times">
        <Time at={schedule.history.next_run} />
      </summary>
      {upcoming.map((at) => (
        <Text key={at} size="xs" c="dimmed" component="div">
          <time dateTime={at}>{formatAbsolute(at)}</time>
        </Text>
      ))}
    </details>
  );
}

function Last({ schedule, showTimes }: { schedule: ScheduledAgentItem; showTimes: () => void }) {
  return (
    <>
      <Anchor component={Link} to="/runs" search={{ schedule_id: schedule.id } as never} size="sm" title={`Runs of ${schedule.name}`}>
        {schedule.history?.last_ran ? <Time at={schedule.history.last_ran} /> : 'never'}
      </Anchor>
      <Anchor component="button" type="button" size="xs" display="block" onClick={showTimes} aria-label={`All times of ${schedule.name}`}>
        All times
      </Anchor>
      {schedule.last_spawn_error && (
        <Text size="xs" c="var(--bad)" className="plain">
          {schedule.last_spawn_error}
        </Text>
      )}
    </>
  );
}

export function SchedulesPage() {
  const { data: session } = useQuery(sessionQuery);
  const schedules = useQuery({ ...schedulesQuery, ...live(10) });
  const [editing, edit] = useState<{ schedule?: ScheduledAgentItem }>();
  const [deleting, remove] = useState<ScheduledAgentItem>();
  const [showing, show] = useState<ScheduledAgentItem>();
  const mayManage = may(session?.scopes, 'runs:write');
  const last: Column<ScheduledAgentItem> = {
    header: 'Last run',
    width: 130,
    cell: (schedule) => <Last schedule={schedule} showTimes={() => show(schedule)} />,
  };
  const enabled: Column<ScheduledAgentItem> = {
    header: 'Enabled',
    width: 110,
    cell: (schedule) => (
      <EnabledSwitch
        name={schedule.name}
        on={schedule.enabled}
        disabled={!mayManage}
        title={mayManage ? undefined : 'Your key cannot change schedules. It needs the scope runs:write.'}
        change={(on) => (on ? client.schedules.resume(schedule.id) : client.schedules.pause(schedule.id))}
        stale={[['schedules']]}
        bare
      >
        <Health of={schedule} />
      </EnabledSwitch>
    ),
  };
  const actions: Column<ScheduledAgentItem> = {
    header: 'Actions',
    width: 140,
    numeric: true,
    cell: (schedule) => (
      <RowActions
        of={schedule.name}
        actions={[
          { label: 'Edit', act: () => edit({ schedule }) },
          { label: 'Delete', act: () => remove(schedule) },
        ]}
      />
    ),
  };
  const create = (
    <Button leftSection={<Icon name="plus" />} onClick={() => edit({})}>
      New schedule
    </Button>
  );
  return (
    <Page title="Schedules" actions={mayManage && create}>
      <Failure error={schedules.error} retry={() => void schedules.refetch()} />
      {(schedules.data || !schedules.error) && (
        <DataTable
          label="Schedules"
          columns={[...columns, last, enabled, ...(mayManage ? [actions] : [])]}
          rows={schedules.data?.schedules}
          rowKey={({ id }) => id}
          empty={
            <Empty title="No schedules yet">
              <Text>A schedule starts runs at set times: each night, every Monday, every ten minutes.</Text>
              <Code label="create a schedule with curl">
                {curl('POST', '/agent/schedules', {
                  name: 'nightly',
                  cron_schedule: '0 3 * * *',
                  prompt: 'Check every link of the handbook',
                })}
              </Code>
              {mayManage && <Group>{create}</Group>}
            </Empty>
          }
        />
      )}
      {editing && (
        <Suspense>
          <ScheduleDialog schedule={editing.schedule} close={() => edit(undefined)} />
        </Suspense>
      )}
      {showing && <TimesDialog name={showing.name} of={{ schedule_id: showing.id }} close={() => show(undefined)} />}
      {deleting && (
        <DeleteDialog
          noun="schedule"
          name={deleting.name}
          remove={() => client.schedules.delete(deleting.id)}
          stale={['schedules']}
          close={() => remove(undefined)}
        >
          It will not start any more runs. Runs that have already started continue.
        </DeleteDialog>
      )}
    </Page>
  );
}
