import { Anchor, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { formatNumber } from '../../format.ts';
import { live } from '../../live.ts';
import { subjectQuery } from '../../queries.ts';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { Time } from '../../ui/Time.tsx';
import { Fact } from '../run/Facts.tsx';
import { AutomationOf } from './AutomationOf.tsx';
import { SubjectEvents } from './SubjectEvents.tsx';
import { SubjectStatus } from './SubjectStatus.tsx';

/** Shows a subject: the run that works on it, and what became of its events. */
export function SubjectPage() {
  const { uid } = useParams({ from: '/app/subjects/$uid' });
  const { data: subject, error, refetch } = useQuery({ ...subjectQuery(uid), ...live(5) });
  const rest = (subject?.events_count ?? 0) - (subject?.events?.length ?? 0);
  return (
    <Page title={subject?.subject ?? 'Subject'} actions={subject && <SubjectStatus subject={subject} />}>
      <Failure error={error} retry={() => void refetch()} wanted={{ noun: 'subject', list: 'Subjects', to: '/subjects' }} />
      {subject && (
        <Stack component="dl" gap={0} m={0} maw={640}>
          <Fact name="Automation">{subject.automation_uid && <AutomationOf subject={subject} />}</Fact>
          <Fact name="Run">
            {subject.run_id && (
              <>
                <Anchor component={Link} to="/runs/$runId" params={{ runId: subject.run_id } as never} inherit>
                  View run
                </Anchor>
                {' · '}
                <Anchor component={Link} to="/runs" search={{ subject: subject.subject } as never} inherit>
                  All runs on this subject
                </Anchor>
              </>
            )}
          </Fact>
          <Fact name="Events">{formatNumber(subject.events_count)}</Fact>
          <Fact name="Waiting">
            {subject.waiting_count > 0 && (
              <>
                {formatNumber(subject.waiting_count)}
                {subject.next_at && (
                  <>
                    , given to a run <Time at={subject.next_at} /> at the earliest
                  </>
                )}
              </>
            )}
          </Fact>
          <Fact name="Closed">{subject.closed_at && <Time at={subject.closed_at} />}</Fact>
          <Fact name="First event">
            <Time at={subject.created_at} />
          </Fact>
          <Fact name="Last event">
            <Time at={subject.updated_at} />
          </Fact>
        </Stack>
      )}
      {subject && (
        <section aria-labelledby="subject-events">
          <Title order={2} size="h5" mb={4} id="subject-events">
            {rest > 0 ? `Latest ${formatNumber(subject.events?.length ?? 0)} events` : 'Events'}
          </Title>
          <SubjectEvents subject={subject} events={subject.events} />
        </section>
      )}
    </Page>
  );
}
