import { Stack, Text, Title } from '@mantine/core';
import type { Delivery, Webhook } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { formatBytes, formatCount } from '../../format.ts';
import { live } from '../../live.ts';
import { deliveriesQuery } from '../../queries.ts';
import { Code } from '../../ui/Code.tsx';
import { Failure } from '../../ui/Failure.tsx';
import filter from '../../ui/FilterTabs.module.css';
import { Icon } from '../../ui/Icon.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { firstDelivery } from '../webhooks/command.ts';
import { usePreset } from '../webhooks/usePreset.ts';
import { DeliveryDetail } from './DeliveryDetail.tsx';
import { filterOf, filters, identityOf, queryOf, toneOf } from './outcome.ts';
import classes from './RecentDeliveries.module.css';

/** The live delivery log of a webhook, newest first. Each entry opens in place. */
export function RecentDeliveries({ factory, webhook, hook }: { factory: string; webhook: string; hook: Webhook | undefined }) {
  const search = useSearch({ from: '/app/factory/$uid/webhooks/$wuid' });
  const navigate = useNavigate();
  const query = queryOf(search);
  const chosen = filterOf(search);
  const log = useQuery({ ...deliveriesQuery(factory, webhook, query), ...live() });
  const params = { uid: factory, wuid: webhook };
  const queries = useQueryClient();
  const newest = log.data?.items[0]?.delivery_id;
  // A new delivery changes the webhook's counts and the last use of its secret.
  useEffect(() => {
    if (newest) {
      void queries.invalidateQueries({ queryKey: ['webhook', webhook] });
    }
  }, [queries, webhook, newest]);
  const go = (cursor: string | undefined): void => {
    void navigate({
      to: '/factory/$uid/webhooks/$wuid',
      params,
      search: { ...chosen.search, ...(cursor ? { cursor } : {}) },
    });
  };
  return (
    <section aria-label="Recent deliveries">
      <div className={classes.head}>
        <Title order={2} size="h5">
          Recent deliveries
        </Title>
        <nav aria-label="Outcome" className={filter.tabs}>
          {filters.map((one) => (
            <Link
              key={one.label}
              to="/factory/$uid/webhooks/$wuid"
              params={params}
              search={one.search}
              className={filter.tab}
              activeOptions={{ exact: true }}
              data-on={one.label === chosen.label || undefined}
            >
              {one.label}
            </Link>
          ))}
        </nav>
      </div>
      {log.error && <Failure error={log.error} retry={() => void log.refetch()} />}
      <div aria-busy={log.isPending && !log.error}>
        <div className={`${classes.summary} ${classes.names}`} aria-hidden="true">
          <span />
          <span>Outcome</span>
          <span>Delivery</span>
          <span className={classes.right}>Size</span>
          <span>Delivery ID</span>
          <span>Runs</span>
          <span className={classes.right}>Received</span>
        </div>
        {log.data ? (
          <Entries deliveries={log.data.items} factory={factory} empty={chosen.label !== 'All' || query.cursor ? undefined : hook} />
        ) : (
          !log.error && [1, 2, 3].map((i) => <div key={i} className={classes.room} />)
        )}
      </div>
      <Pager cursor={query.cursor} next={log.isPlaceholderData ? undefined : log.data?.nextCursor} go={go} />
    </section>
  );
}

interface EntriesProps {
  deliveries: Delivery[];
  factory: string;
  /** The webhook, if an empty list means that it has never had a delivery. */
  empty: Webhook | undefined;
}

function Entries({ deliveries, factory, empty }: EntriesProps) {
  if (deliveries.length === 0) {
    return empty ? (
      <NoDeliveries webhook={empty} />
    ) : (
      <Text py="xl" ta="center" c="dimmed">
        No such deliveries.
      </Text>
    );
  }
  return (
    <ul className={classes.log} aria-label="Deliveries">
      {deliveries.map((delivery) => (
        <Entry key={delivery.delivery_id} delivery={delivery} factory={factory} />
      ))}
    </ul>
  );
}

/** Shows how to send the first delivery, if a shell can sign it. */
function NoDeliveries({ webhook }: { webhook: Webhook }) {
  const { preset, ready } = usePreset(webhook.signature_scheme);
  const command = firstDelivery(webhook, preset);
  return (
    <Stack py="md" gap="sm" maw={760}>
      <Text>No deliveries yet. The first one will appear here.</Text>
      {command && ready && (
        <>
          <Text size="sm" c="dimmed">
            Send one yourself. Replace YOUR-SECRET with the secret:
          </Text>
          <Code label="a delivery with curl">{command}</Code>
        </>
      )}
    </Stack>
  );
}

function Entry({ delivery, factory }: { delivery: Delivery; factory: string }) {
  const [opened, setOpened] = useState(false);
  const runs = delivery.runs.length;
  return (
    <li className={classes.row} data-entry>
      <button type="button" className={classes.summary} aria-expanded={opened} onClick={() => setOpened(!opened)}>
        <Icon name="chevron" size={12} />
        <span>
          <Status tone={toneOf(delivery)}>{delivery.label}</Status>
        </span>
        <span className="mono clip" title={delivery.delivery_id}>
          {delivery.delivery_id}
        </span>
        <span className={classes.right}>{formatBytes(delivery.size)}</span>
        <span>{identityOf(delivery)}</span>
        <span>{runs > 0 ? formatCount(runs, 'run') : delivery.outcome === 'accepted' ? 'no run' : ''}</span>
        <span className={classes.right}>
          <Time at={delivery.received_at} />
        </span>
      </button>
      {opened && (
        <div className={classes.more}>
          <DeliveryDetail delivery={delivery} factory={factory} linked />
        </div>
      )}
    </li>
  );
}
