import { Anchor, Title } from '@mantine/core';
import type { RunItem } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { RunStatus } from '../../ui/Status.tsx';
import { Since } from '../../ui/Time.tsx';
import { CancelRun } from '../run/CancelRun.tsx';
import own from './Bars.module.css';
import classes from './Home.module.css';
import { Named } from './NeedsAttention.tsx';

const most = 5;

/** The newest runs that are not finished. */
export function ActiveRuns({ runs }: { runs: RunItem[] }) {
  const { data: session } = useQuery(sessionQuery);
  const mayWrite = may(session?.scopes, 'runs:write');
  return (
    <section className={own.chart} aria-label="Active runs">
      <Title order={2} size="h5">
        Active runs
      </Title>
      {runs.length === 0 && <p className={classes.none}>No run is active.</p>}
      <ul className={classes.lines} data-plain="true">
        {runs.slice(0, most).map((run) => (
          <li key={run.run_id} data-entry>
            <RunStatus state={run.state} />
            <Named to={`/runs/${run.run_id}`} name={run.title || run.run_id} detail={run.status_message?.message}>
              <Since at={run.started_at ?? run.created_at} />
            </Named>
            <span className={classes.actions}>{mayWrite && <CancelRun run={run} of={run.title} />}</span>
          </li>
        ))}
      </ul>
      {runs.length > most && (
        <Anchor
          component={Link}
          to="/runs"
          search={{ state: ['QUEUED', 'CLAIMED', 'PENDING', 'INPROGRESS', 'BLOCKED'] } as never}
          size="sm"
        >
          Show all
        </Anchor>
      )}
    </section>
  );
}
