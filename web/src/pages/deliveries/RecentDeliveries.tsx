import { Group, Stack, Text, Title } from '@mantine/core';
import type { Delivery, Webhook } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { formatBytes } from '../../format.ts';
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
import { SendTest, TestOutcome, useSendTest, Waiting } from '../webhooks/SendTest.tsx';
import { usePreset } from '../webhooks/usePreset.ts';
import { BulkReplay } from './BulkReplay.tsx';
import { DeliveryDetail } from './DeliveryDetail.tsx';
import { LogFilters } from './LogFilters.tsx';
import { Outcomes } from './Outcomes.tsx';
import { filterOf, filters, isReplayable, logSearchOf, narrowingOf, queryOf, toneOf } from './outcome.ts';
import classes from './RecentDeliveries.module.css';

/** The live delivery log of a webhook, newest first. Each entry opens in place. */
export function RecentDeliveries({ factory, webhook, hook }: { factory: string; webhook: string; hook: Webhook | undefined }) {
  const search = useSearch({ from: '/app/factory/$uid/webhooks/$wuid' });
  const navigate = useNavigate();
  const query = queryOf(search);
  const log = useQuery({ ...deliveriesQuery(factory, webhook, query), ...live() });
  const queries = useQueryClient();
  const test = useSendTest(factory, webhook);
  const [selected, select] = useState<ReadonlySet<string>>(new Set());
  const newest = log.data?.items[0]?.delivery_id;
  // A new delivery changes the webhook's counts and the last use of its secret.
  useEffect(() => {
    if (newest) {
      void queries.invalidateQueries({ queryKey: ['webhook', webhook] });
    }
  }, [queries, webhook, newest]);
  const kept = logSearchOf(search);
  const filtered = Object.keys(kept).length > 0;
  const go = (next: Record<string, string>, replace = false): void => {
    void navigate({ to: '/factory/$uid/webhooks/$wuid', params: { uid: factory, wuid: webhook }, search: next, replace });
  };
  const { cursor, ...all } = query;
  const unused = !filtered && !cursor && log.data?.items.length === 0;
  const deliveries = log.data?.items ?? [];
  return (
    <Stack component="section" aria-label="Recent deliveries" gap="sm">
      <div className={classes.head}>
        <Title order={2} size="h5">
          Recent deliveries
        </Title>
        <OutcomeTabs factory={factory} webhook={webhook} />
      </div>
      {hook && <TestOutcome test={test} factory={factory} />}
      {unused ? (
        hook && (
          <NoDeliveries webhook={hook}>
            <SendTest webhook={hook} factory={factory} test={test} size="xs" />
          </NoDeliveries>
        )
      ) : (
        <>
          <LogFilters value={narrowingOf(search)} change={(value) => go({ ...filterOf(search).search, ...value }, true)}>
            {hook && <SendTest webhook={hook} factory={factory} test={test} size="xs" />}
          </LogFilters>
          <BulkReplay
            factory={factory}
            webhook={webhook}
            selected={deliveries.filter(({ delivery_id }) => selected.has(delivery_id))}
            filter={filtered ? all : undefined}
            clear={() => select(new Set())}
          />
        </>
      )}
      {log.error && <Failure error={log.error} retry={() => void log.refetch()} />}
      <div aria-busy={log.isPending && !log.error} hidden={unused}>
        <Heads deliveries={deliveries} selected={selected} select={select} />
        {log.data
          ? !unused && (
              <Entries
                deliveries={deliveries}
                factory={factory}
                selected={selected}
                select={select}
                more={log.data.nextCursor !== undefined}
              />
            )
          : !log.error && [1, 2, 3].map((i) => <div key={i} className={classes.room} />)}
      </div>
      <Pager
        cursor={cursor}
        next={log.isPlaceholderData ? undefined : log.data?.nextCursor}
        go={(next) => go({ ...kept, ...(next ? { cursor: next } : {}) })}
      />
    </Stack>
  );
}

/** The outcomes to choose from. They keep the other filters. */
function OutcomeTabs({ factory, webhook }: { factory: string; webhook: string }) {
  const search = useSearch({ from: '/app/factory/$uid/webhooks/$wuid' });
  const chosen = filterOf(search);
  const narrowed = Object.keys(narrowingOf(search)).length > 0;
  return (
    <nav aria-label="Outcome" className={filter.tabs}>
      {filters.map((one) => (
        <Link
          key={one.label}
          to="/factory/$uid/webhooks/$wuid"
          params={{ uid: factory, wuid: webhook }}
          search={{ ...narrowingOf(search), ...one.search }}
          className={filter.tab}
          activeOptions={{ exact: true }}
          data-on={(one.label === chosen.label && !(narrowed && one.label === 'All')) || undefined}
        >
          {one.label}
        </Link>
      ))}
    </nav>
  );
}

interface SelectionProps {
  deliveries: Delivery[];
  selected: ReadonlySet<string>;
  select: (selected: ReadonlySet<string>) => void;
}

function Heads({ deliveries, selected, select }: SelectionProps) {
  const ids = deliveries.filter(isReplayable).map(({ delivery_id }) => delivery_id);
  const all = ids.length > 0 && ids.every((id) => selected.has(id));
  return (
    <div className={classes.line}>
      <input
        type="checkbox"
        aria-label="Select all on this page"
        disabled={ids.length === 0}
        checked={all}
        onChange={() => select(new Set(all ? [] : ids))}
      />
      <div className={`${classes.summary} ${classes.names}`} aria-hidden="true">
        <span />
        <span>Outcome</span>
        <span>Event</span>
        <span>Payload</span>
        <span>Automations</span>
        <span className={classes.right}>Size</span>
        <span className={classes.right}>Received</span>
      </div>
    </div>
  );
}

interface EntriesProps extends SelectionProps {
  factory: string;
  /** Whether there is another page. */
  more: boolean;
}

function Entries({ deliveries, factory, selected, select, more }: EntriesProps) {
  if (deliveries.length === 0) {
    return (
      <Text py="xl" ta="center" c="dimmed">
        {more ? 'No such deliveries on this page. Older ones may match.' : 'No such deliveries.'}
      </Text>
    );
  }
  const toggle = (id: string): void => {
    const next = new Set(selected);
    if (!next.delete(id)) {
      next.add(id);
    }
    select(next);
  };
  return (
    <ul className={classes.log} aria-label="Deliveries">
      {deliveries.map((delivery) => (
        <Entry
          key={delivery.delivery_id}
          delivery={delivery}
          factory={factory}
          selected={selected.has(delivery.delivery_id)}
          toggle={() => toggle(delivery.delivery_id)}
        />
      ))}
    </ul>
  );
}

/** Shows how to send the first delivery: with the button, or in a shell, if one can sign it. */
function NoDeliveries({ webhook, children }: { webhook: Webhook; children: ReactNode }) {
  const { preset, ready } = usePreset(webhook.signature_scheme);
  const command = firstDelivery(webhook, preset);
  return (
    <Stack py="md" gap="sm" maw={760}>
      <Group gap="md">
        <Waiting />
        {children}
      </Group>
      {command && ready && (
        <>
          <Text size="sm" c="dimmed">
            Or send one yourself. Replace YOUR-SECRET with the secret:
          </Text>
          <Code label="a delivery with curl">{command}</Code>
        </>
      )}
    </Stack>
  );
}

interface EntryProps {
  delivery: Delivery;
  factory: string;
  selected: boolean;
  toggle: () => void;
}

function Entry({ delivery, factory, selected, toggle }: EntryProps) {
  const [opened, setOpened] = useState(false);
  const about = delivery.summary ?? delivery.delivery_id;
  return (
    <li className={classes.row} data-entry>
      <div className={classes.line}>
        <input
          type="checkbox"
          aria-label={`Select ${delivery.delivery_id}`}
          disabled={!isReplayable(delivery)}
          checked={selected}
          onChange={toggle}
        />
        <button type="button" data-name className={classes.summary} aria-expanded={opened} onClick={() => setOpened(!opened)}>
          <Icon name="chevron" size={12} />
          <span>
            <Status tone={toneOf(delivery)}>{delivery.label}</Status>
          </span>
          <span className="clip" title={delivery.event_type}>
            {delivery.replay_of ? `Replay${delivery.event_type ? ` of ${delivery.event_type}` : ''}` : delivery.event_type}
          </span>
          <span className="mono clip" title={about}>
            {about}
          </span>
          <span>
            <Outcomes delivery={delivery} />
          </span>
          <span className={classes.right}>{formatBytes(delivery.size)}</span>
          <span className={classes.right}>
            <Time at={delivery.received_at} />
          </span>
        </button>
      </div>
      {opened && (
        <div className={classes.more}>
          <DeliveryDetail delivery={delivery} factory={factory} linked />
        </div>
      )}
    </li>
  );
}
