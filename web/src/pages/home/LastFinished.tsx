import { Anchor, Title } from '@mantine/core';
import type { RunItem } from '@penstock/sdk';
import { Link } from '@tanstack/react-router';
import { RunStatus } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import own from './Bars.module.css';
import classes from './Home.module.css';
import { Named } from './NeedsAttention.tsx';

/** The runs that succeeded last, each with the way to what it changed. Renders nothing if there are none. */
export function LastFinished({ runs }: { runs: readonly RunItem[] }) {
  return (
    runs.length > 0 && (
      <section className={own.chart} aria-label="Last finished">
        <Title order={2} size="h5">
          Last finished
        </Title>
        <ul className={classes.lines} data-plain="true">
          {runs.map(({ run_id, state, title, updated_at }) => (
            <li key={run_id} data-entry>
              <RunStatus state={state} />
              <Named to={`/runs/${run_id}`} name={title || run_id}>
                <Time at={updated_at} />
              </Named>
              <Anchor
                component={Link}
                to="/runs/$runId"
                params={{ runId: run_id } as never}
                search={{ tab: 'changes' } as never}
                size="sm"
                aria-label={`Changes of ${title || run_id}`}
              >
                Changes
              </Anchor>
            </li>
          ))}
        </ul>
      </section>
    )
  );
}
