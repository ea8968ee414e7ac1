import { Anchor, Title } from '@mantine/core';
import type { Delivery, Webhook } from '@penstock/sdk';
import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { live } from '../../live.ts';
import { deliveriesQuery } from '../../queries.ts';
import { Time } from '../../ui/Time.tsx';
import type { Of } from '../webhooks/useEach.ts';
import classes from './LastDeliveries.module.css';
import { Matches } from './Matches.tsx';
import { isReplayable } from './outcome.ts';
import { Replay } from './Replay.tsx';

/** The number of webhooks whose logs are read, and of deliveries that are shown. */
const [mostWebhooks, mostDeliveries] = [5, 8];

interface One {
  webhook: Of<Webhook>;
  delivery: Delivery;
}

/** The last accepted deliveries to several webhooks, newest first, with what each automation made of them. */
export function LastDeliveries({ webhooks }: { webhooks: readonly Of<Webhook>[] }) {
  const used = webhooks
    .filter(({ last_delivery_at }) => last_delivery_at)
    .toSorted((a, b) => (b.last_delivery_at ?? '').localeCompare(a.last_delivery_at ?? ''))
    .slice(0, mostWebhooks);
  const logs = useQueries({
    queries: used.map(({ uid, factory }) => ({
      ...deliveriesQuery(factory.uid, uid, { limit: mostDeliveries, outcome: 'accepted' }),
      ...live(10),
    })),
  });
  const deliveries = logs
    .flatMap(({ data }, i) => (data?.items ?? []).map((delivery) => ({ webhook: used[i], delivery })))
    .filter((one): one is One => one.webhook !== undefined && isReplayable(one.delivery))
    .sort((a, b) => b.delivery.received_at.localeCompare(a.delivery.received_at))
    .slice(0, mostDeliveries);
  if (deliveries.length === 0 || logs.some(({ isPending }) => isPending)) {
    return null;
  }
  return (
    <section aria-label="Last deliveries">
      <Title order={2} size="h5" mb={4}>
        Last deliveries
      </Title>
      <ul className={classes.deliveries}>
        {deliveries.map(({ webhook, delivery }) => (
          <Entry key={delivery.delivery_id} webhook={webhook} delivery={delivery} />
        ))}
      </ul>
    </section>
  );
}

function Entry({ webhook, delivery }: One) {
  const { delivery_id, event_type, summary, received_at, replay_of } = delivery;
  const factory = webhook.factory.uid;
  const name = event_type || 'Delivery';
  return (
    <li>
      <div className={classes.about}>
        <Time at={received_at} />
        <span className={classes.what}>
          <Anchor
            component={Link}
            to="/factory/$uid/webhooks/$wuid/deliveries/$did"
            params={{ uid: factory, wuid: webhook.uid, did: delivery_id } as never}
            inherit
          >
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
        <span className={classes.replay}>
          <Replay delivery={delivery} factory={factory} of={`${name} to ${webhook.label || webhook.name}`} />
        </span>
      </div>
      <Matches delivery={delivery} factory={factory} />
    </li>
  );
}
