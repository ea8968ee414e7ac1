import { Anchor, Group, Text, Title } from '@mantine/core';
import type { Delivery, Webhook } from '@penstock/sdk';
import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { logOfWebhook } from '../../deliverylog.ts';
import { formatShort } from '../../format.ts';
import { live } from '../../live.ts';
import { deliveriesQuery } from '../../queries.ts';
import { Failure } from '../../ui/Failure.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import type { Of } from '../webhooks/useEach.ts';
import classes from './LastDeliveries.module.css';
import { Matches } from './Matches.tsx';
import { isReplayable, outcomeNames, queryOf, reasonOf, toneOf } from './outcome.ts';
import { Replay } from './Replay.tsx';

/** The number of webhooks whose logs are read, and of deliveries that are shown. */
const last = { webhooks: 5, deliveries: 8 };
const most = { webhooks: 20, deliveries: 50 };

/** The outcomes of deliveries that no log has. */
const whyOnlyCounted: Record<string, string> = {
  rate_limited: 'Deliveries above the rate limit',
  turned_away: 'Requests to a webhook that is disabled or suspended, or has no secret yet,',
};

/** The outcome and time of the deliveries to show, as they are in the URL. */
export interface Found {
  outcome: string;
  received_after?: string;
  received_before?: string;
}

interface LastDeliveriesProps {
  webhooks: readonly Of<Webhook>[];
  /** The deliveries to show. By default, the last accepted ones. */
  found?: Found;
}

/** Deliveries to several webhooks, newest first, with what each automation made of them. */
export function LastDeliveries({ webhooks, found }: LastDeliveriesProps) {
  const limits = found ? most : last;
  const counted = found && whyOnlyCounted[found.outcome];
  const used = webhooks
    .filter(({ last_delivery_at }) => found || last_delivery_at)
    .toSorted((a, b) => (b.last_delivery_at ?? '').localeCompare(a.last_delivery_at ?? ''))
    .slice(0, counted ? 0 : limits.webhooks);
  const query = found ? queryOf({ ...found }) : { outcome: 'accepted' as const };
  const logs = useQueries({
    queries: used.map(({ uid, factory }) => ({
      ...deliveriesQuery(logOfWebhook(factory.uid, uid), { ...query, limit: limits.deliveries }),
      ...live(10),
    })),
  });
  const all = logs
    .flatMap(({ data }, i) => (data?.items ?? []).map((delivery) => ({ webhook: used[i], delivery })))
    .filter((one): one is One => one.webhook !== undefined && (found !== undefined || isReplayable(one.delivery)))
    .sort((a, b) => b.delivery.received_at.localeCompare(a.delivery.received_at));
  const deliveries = all.slice(0, limits.deliveries);
  const pending = logs.some(({ isPending }) => isPending);
  if (!found && (deliveries.length === 0 || pending)) {
    return null;
  }
  const title = found ? `${outcomeNames[found.outcome as keyof typeof outcomeNames] ?? 'All'} deliveries` : 'Last deliveries';
  return (
    <section aria-label={title} aria-busy={pending}>
      <Group gap="sm" mb={4} align="baseline">
        <Title order={2} size="h5">
          {title}
        </Title>
        {found && <About found={found} />}
      </Group>
      <Failure error={logs.find(({ error }) => error)?.error} />
      {!pending && deliveries.length === 0 && (
        <Text size="sm" c="dimmed">
          {counted
            ? `${counted} are counted, but not stored. The list shows how many each webhook had in the last 24 hours.`
            : 'No such deliveries in this time.'}
        </Text>
      )}
      <ul className={classes.deliveries}>
        {deliveries.map(({ webhook, delivery }) => (
          <Entry key={delivery.delivery_id} webhook={webhook} delivery={delivery} outcome={found !== undefined} />
        ))}
      </ul>
      {all.length > deliveries.length && (
        <Text size="sm" c="dimmed">
          The page of each webhook has the older ones.
        </Text>
      )}
    </section>
  );
}

/** The time of the deliveries, and a link to the list without them. */
function About({ found: { received_after: from, received_before: to } }: { found: Found }) {
  const time = [from && `from ${formatShort(from)}`, to && `to ${formatShort(to)}`].filter(Boolean).join(' ');
  return (
    <Text size="sm" c="dimmed">
      {time}{' '}
      <Anchor component={Link} to="/webhooks" search={{} as never} inherit>
        Show all webhooks
      </Anchor>
    </Text>
  );
}

interface One {
  webhook: Of<Webhook>;
  delivery: Delivery;
}

/** A delivery. outcome shows what became of it, where that is not the same for all. */
function Entry({ webhook, delivery, outcome }: One & { outcome: boolean }) {
  const { delivery_id, event_type, summary, received_at, replay_of } = delivery;
  const log = logOfWebhook(webhook.factory.uid, webhook.uid);
  const name = event_type || 'Delivery';
  const reason = outcome && reasonOf(delivery);
  return (
    <li>
      <div className={classes.about}>
        <Time at={received_at} />
        <span className={classes.what}>
          {outcome && <Status tone={toneOf(delivery)}>{delivery.label}</Status>}
          <Anchor component={Link} {...log.pageOf(delivery_id)} inherit>
            {name}
          </Anchor>
          <span>
            {replay_of ? 'replayed to' : 'to'} {webhook.label || webhook.name}
          </span>
          {summary && (
            <span className={`mono clip ${classes.summary}`} title={summary}>
              {summary}
            </span>
          )}
        </span>
        {isReplayable(delivery) && (
          <span className={classes.replay}>
            <Replay delivery={delivery} log={log} of={`${name} to ${webhook.label || webhook.name}`} />
          </span>
        )}
      </div>
      {reason && <div>{reason}</div>}
      {isReplayable(delivery) && <Matches delivery={delivery} log={log} />}
    </li>
  );
}
