import { Anchor, Group, Text } from '@mantine/core';
import type { Subject } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { formatNumber } from '../../format.ts';
import { live } from '../../live.ts';
import { subjectsQuery } from '../../queries.ts';
import { firstOf, type Params } from '../../search.ts';
import { AppliedInput } from '../../ui/AppliedInput.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { Time } from '../../ui/Time.tsx';
import { AutomationOf } from './AutomationOf.tsx';
import { SubjectFilters } from './SubjectFilters.tsx';
import { SubjectStatus } from './SubjectStatus.tsx';
import { filtersOf, queryOf } from './subject.ts';

const columns: Column<Subject>[] = [
  {
    header: 'Subject',
    main: true,
    cell: ({ uid, subject }) => (
      <Anchor component={Link} to="/subjects/$uid" params={{ uid } as never} inherit className="clip" title={subject} display="block">
        {subject}
      </Anchor>
    ),
  },
  { header: 'Status', width: 126, cell: (subject) => <SubjectStatus subject={subject} /> },
  { header: 'Automation', width: 200, cell: (subject) => subject.automation_uid && <AutomationOf subject={subject} /> },
  {
    header: 'Run',
    width: 100,
    cell: ({ run_id }) =>
      run_id && (
        <Anchor component={Link} to="/runs/$runId" params={{ runId: run_id } as never} inherit>
          View run
        </Anchor>
      ),
  },
  {
    header: 'Events',
    width: 150,
    numeric: true,
    cell: ({ events_count, waiting_count }) =>
      `${formatNumber(events_count)}${waiting_count > 0 ? ` (${formatNumber(waiting_count)} waiting)` : ''}`,
  },
  { header: 'Last event', width: 120, numeric: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
];

/** What events were about, newest first, with the run that works on each. */
export function SubjectsPage() {
  const search = useSearch({ from: '/app/subjects' });
  const navigate = useNavigate();
  const subjects = useQuery({ ...subjectsQuery(queryOf(search)), ...live() });
  const chosen = filtersOf(search);
  const go = (next: Params, replace = false): void => void navigate({ to: '/subjects', search: next, replace });
  const filter = (name: keyof typeof chosen, value: string | undefined): void => {
    const { [name]: _, ...rest } = chosen;
    go(value ? { ...rest, [name]: value } : rest, true);
  };
  return (
    <Page title="Subjects">
      <Group gap="xs">
        <AppliedInput
          aria-label="Subject"
          placeholder="acme/shop#7"
          data-search
          w={260}
          value={chosen.subject ?? ''}
          apply={(text) => filter('subject', text)}
        />
        <SubjectFilters factory={chosen.factory_uid} automation={chosen.automation_uid} change={filter} />
      </Group>
      {subjects.error && <Failure error={subjects.error} retry={() => void subjects.refetch()} />}
      {(subjects.data || !subjects.error) && (
        <DataTable
          label="Subjects"
          columns={columns}
          rows={subjects.data?.items}
          rowKey={({ uid }) => uid}
          empty={<NoSubjects narrowed={Object.keys(chosen).length > 0} />}
        />
      )}
      <Pager
        cursor={firstOf(search.cursor)}
        next={subjects.isPlaceholderData ? undefined : subjects.data?.nextCursor}
        go={(cursor) => go(cursor ? { ...chosen, cursor } : chosen)}
      />
    </Page>
  );
}

function NoSubjects({ narrowed }: { narrowed: boolean }) {
  return narrowed ? (
    <Text py="xl" ta="center" c="dimmed">
      No such subjects.
    </Text>
  ) : (
    <Empty title="No subjects yet">
      <Text>
        A subject is what events are about, such as a pull request. Set it in an automation under “One run for each subject”: all events
        about it then reach one run.
      </Text>
    </Empty>
  );
}
