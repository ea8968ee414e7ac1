import { Anchor, Group, Text, Title } from '@mantine/core';
import type { Automation, Delivery, DeliveryMatch, RunItem, Webhook } from '@penstock/sdk';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { sessionQuery } from '../../api.ts';
import { logOfWebhook } from '../../deliverylog.ts';
import { formatWord } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { deliveriesQuery, runsQuery, webhooksQuery } from '../../queries.ts';
import { RunStatus, Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { outcomeOf } from '../deliveries/outcome.ts';
import { Reason } from '../deliveries/Reason.tsx';
import { TimesDialog } from '../schedules/TimesDialog.tsx';
import classes from './Activity.module.css';
import { LastRuns } from './LastRuns.tsx';
import { webhooksOf } from './triggers.ts';

/** The number of webhooks whose logs are read, and of entries that are shown. */
const [mostWebhooks, mostEntries] = [5, 30];

interface Event {
  key: string;
  at: string;
  run?: RunItem;
  delivery?: Delivery;
  match?: DeliveryMatch;
}

/** What the automation made of the last events: a run, or why there was none. */
export function Activity({ automation, factory }: { automation: Automation; factory: string }) {
  const { data: session } = useQuery(sessionQuery);
  const manages = may(session?.scopes, 'factories:manage');
  const runs = useQuery({ ...runsQuery({ automation_id: automation.uid, limit: 50, sort_by: 'created_at' }), ...live(10) });
  const webhooks = useQuery({ ...webhooksQuery(factory), staleTime: 30_000, enabled: manages });
  const used = (webhooks.data ?? []).filter((webhook) => isUsed(webhook, automation)).slice(0, mostWebhooks);
  const logs = useQueries({
    queries: used.map(({ uid }) => ({ ...deliveriesQuery(logOfWebhook(factory, uid), { limit: 50, outcome: 'accepted' }), ...live(10) })),
  });
  const pending = runs.isPending || (manages && webhooks.isPending) || logs.some((log) => log.isPending);
  const deliveries = logs.flatMap(({ data }) => data?.items ?? []);
  const events = eventsOf(automation.uid, runs.data?.items ?? [], deliveries);
  const [showsTimes, showTimes] = useState(false);
  return (
    <section aria-label="Activity" aria-busy={pending}>
      <Group justify="space-between" maw={920} mb={4}>
        <Title order={2} size="h5">
          Activity
        </Title>
        {automation.triggers.some(({ schedule }) => schedule) && (
          <Anchor component="button" type="button" size="sm" onClick={() => showTimes(true)}>
            All times
          </Anchor>
        )}
      </Group>
      {showsTimes && <TimesDialog name={automation.name} of={{ automation_uid: automation.uid }} close={() => showTimes(false)} />}
      <div className={classes.last}>
        <LastRuns runs={runs.data?.items ?? []} />
      </div>
      {/* It scrolls, which a keyboard must be able to do. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can */}
      <section className={classes.box} aria-label="Last events" tabIndex={0}>
        {!pending && events.length === 0 && (
          <Text size="sm" c="dimmed" p="sm">
            It has not fired, and no delivery has reached it.
          </Text>
        )}
        <ul className={classes.events}>
          {events.map((event) => (
            <li key={event.key}>
              <Time at={event.at} />
              <Outcome event={event} />
              <span className={classes.about}>
                <What event={event} factory={factory} />
                {event.match && !event.match.would_trigger && !event.match.fate && <Reason match={event.match} />}
              </span>
            </li>
          ))}
        </ul>
      </section>
    </section>
  );
}

/** Whether deliveries to a webhook can reach the automation. */
function isUsed({ uid, name, signature_scheme }: Webhook, { triggers }: Automation): boolean {
  return triggers.some((trigger) => trigger.provider === signature_scheme || webhooksOf(trigger).some((id) => id === uid || id === name));
}

/** The events of an automation, newest first. A delivery and its run are one event. */
function eventsOf(automation: string, runs: readonly RunItem[], deliveries: readonly Delivery[]): Event[] {
  const byId = new Map(runs.map((run) => [run.run_id, run]));
  const shown = new Set<string>(); // a run can have several deliveries
  const events: Event[] = [];
  for (const delivery of deliveries) {
    const match = delivery.matches.find(({ automation_uid }) => automation_uid === automation);
    if (match) {
      const run = byId.get(match.run_id ?? '');
      shown.add(match.run_id ?? '');
      events.push({ key: delivery.delivery_id, at: delivery.received_at, delivery, match, ...(run ? { run } : {}) });
    }
  }
  events.push(...runs.filter(({ run_id }) => !shown.has(run_id)).map((run) => ({ key: run.run_id, at: run.created_at, run })));
  return events.sort((a, b) => b.at.localeCompare(a.at)).slice(0, mostEntries);
}

function Outcome({ event: { match } }: { event: Event }) {
  if (match?.failed_at === 'automation') {
    return <Status tone="bad">Failed</Status>;
  }
  const { word, tone } = match ? outcomeOf(match) : ({ word: 'Fired', tone: 'good' } as const);
  return <Status tone={tone}>{word}</Status>;
}

/** The event, and the run that it started. */
function What({ event: { delivery, match, run }, factory }: { event: Event; factory: string }) {
  const runId = run?.run_id ?? match?.run_id;
  return (
    <span className={classes.what}>
      {delivery ? (
        <>
          <Anchor
            component={Link}
            to="/factory/$uid/webhooks/$wuid/deliveries/$did"
            params={{ uid: factory, wuid: delivery.webhook_uid, did: delivery.delivery_id } as never}
            inherit
          >
            {delivery.event_type || 'Delivery'}
          </Anchor>
          {delivery.summary && (
            <span className={`mono clip ${classes.summary}`} title={delivery.summary}>
              {delivery.summary}
            </span>
          )}
        </>
      ) : (
        (run?.schedule?.schedule_name ?? formatWord(run?.source ?? ''))
      )}
      {runId && (
        <>
          <Anchor component={Link} to="/runs/$runId" params={{ runId } as never} inherit>
            View run
          </Anchor>
          {run && <RunStatus state={run.state} />}
        </>
      )}
    </span>
  );
}
