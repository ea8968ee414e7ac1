import { Anchor, Title } from '@mantine/core';
import type { RunItem } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { formatCount } from '../../format.ts';
import { live } from '../../live.ts';
import { subjectQuery } from '../../queries.ts';
import { wordOfFate } from '../../states.ts';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import classes from './Facts.module.css';

/** The most events that are shown. */
const most = 20;

/** The events about the subject of a run: which reached it, which wait, and which did neither. */
export function Events({ uid, run }: { uid: string; run: RunItem }) {
  const { data } = useQuery({ ...subjectQuery(uid), ...live(10) });
  const events = data?.events ?? [];
  if (!data || events.length === 0) {
    return null;
  }
  return (
    <section aria-label="Events">
      <Title order={2} size="h6">
        Events about {data.subject}
      </Title>
      {data.closed_at && <p className={classes.note}>An event closed the subject.</p>}
      {data.run_id && data.run_id !== run.run_id && (
        <p className={classes.note}>
          <Anchor component={Link} to="/runs/$runId" params={{ runId: data.run_id } as never} inherit>
            Another run
          </Anchor>{' '}
          works on it now.
        </p>
      )}
      <ul className={classes.children}>
        {events.slice(0, most).map((event) => {
          const { word, tone } = wordOfFate(event.fate);
          const elsewhere = event.run_id && event.run_id !== run.run_id;
          return (
            <li key={event.occurrence_uid}>
              <Status tone={tone}>{word}</Status> <Time at={event.due_at} />
              {event.delivery_id && data.factory_uid && event.webhook_uid && (
                <>
                  {' '}
                  <Anchor
                    component={Link}
                    to="/factory/$uid/webhooks/$wuid/deliveries/$did"
                    params={{ uid: data.factory_uid, wuid: event.webhook_uid, did: event.delivery_id } as never}
                    inherit
                  >
                    Delivery
                  </Anchor>
                </>
              )}
              {elsewhere && (
                <>
                  {' '}
                  <Anchor component={Link} to="/runs/$runId" params={{ runId: event.run_id } as never} inherit>
                    Its run
                  </Anchor>
                </>
              )}
              {event.reason && <span className={classes.reason}>{event.reason}</span>}
            </li>
          );
        })}
      </ul>
      {data.events_count > most && <p className={classes.note}>{formatCount(data.events_count, 'event')} in all.</p>}
    </section>
  );
}
