import { Stack, Text, Title } from '@mantine/core';
import { type Delivery, NotFoundError } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import type { DeliveryLog } from '../../deliverylog.ts';
import { formatBytes } from '../../format.ts';
import { live } from '../../live.ts';
import { deliveriesQuery } from '../../queries.ts';
import type { Params } from '../../search.ts';
import { Failure } from '../../ui/Failure.tsx';
import filter from '../../ui/FilterTabs.module.css';
import { Icon } from '../../ui/Icon.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { BulkReplay } from './BulkReplay.tsx';
import { DeliveryDetail } from './DeliveryDetail.tsx';
import { LogFilters } from './LogFilters.tsx';
import { Outcomes } from './Outcomes.tsx';
import { filterOf, filters, isReplayable, logSearchOf, narrowingOf, queryOf, toneOf, whyOf } from './outcome.ts';
import { Why } from './Reason.tsx';
import classes from './RecentDeliveries.module.css';

interface RecentDeliveriesProps {
  log: DeliveryLog;
  /** The buttons beside the filters. */
  actions?: ReactNode;
  /** What a test has shown. */
  outcome?: ReactNode;
  /** Replaces the log before its first delivery. */
  none: ReactNode;
  /** Replaces the log if the server has none. */
  missing?: ReactNode;
}

/** The live log of deliveries, newest first. Each entry opens in place. The address has its filters. */
export function RecentDeliveries({ log, actions, outcome, none, missing }: RecentDeliveriesProps) {
  const search = useSearch({ strict: false }) as Params;
  const navigate = useNavigate();
  const query = queryOf(search);
  const { data, error, isPending, isPlaceholderData, refetch } = useQuery({ ...deliveriesQuery(log, query), ...live() });
  const queries = useQueryClient();
  const [selected, select] = useState<ReadonlySet<string>>(new Set());
  const newest = data?.items[0]?.delivery_id;
  const { uid } = log;
  // A new delivery changes a webhook's counts and the last use of its secret.
  useEffect(() => {
    if (newest) {
      void queries.invalidateQueries({ queryKey: ['webhook', uid] });
    }
  }, [queries, uid, newest]);
  const kept = logSearchOf(search);
  const filtered = Object.keys(kept).length > 0;
  const go = (next: Record<string, string>, replace = false): void => {
    void navigate({ ...log.page, search: next as never, replace });
  };
  const { cursor, ...all } = query;
  const deliveries = data?.items ?? [];
  const unavailable = error instanceof NotFoundError && missing;
  const instead = unavailable || (!filtered && !cursor && data?.items.length === 0 && none);
  return (
    <Stack component="section" aria-label="Recent deliveries" gap="sm">
      <div className={classes.head}>
        <Title order={2} size="h5">
          Recent deliveries
        </Title>
        {!unavailable && <OutcomeTabs log={log} />}
      </div>
      {outcome}
      {instead || (
        <>
          <LogFilters value={narrowingOf(search)} change={(value) => go({ ...filterOf(search).search, ...value }, true)}>
            {actions}
          </LogFilters>
          <BulkReplay
            log={log}
            selected={deliveries.filter(({ delivery_id }) => selected.has(delivery_id))}
            filter={filtered ? all : undefined}
            clear={() => select(new Set())}
          />
        </>
      )}
      {error && !unavailable && <Failure error={error} retry={() => void refetch()} />}
      <div aria-busy={isPending && !error} hidden={Boolean(instead)}>
        <Heads deliveries={deliveries} selected={selected} select={select} />
        {data
          ? !instead && (
              <Entries deliveries={deliveries} log={log} selected={selected} select={select} more={data.nextCursor !== undefined} />
            )
          : !error && [1, 2, 3].map((i) => <div key={i} className={classes.room} />)}
      </div>
      <Pager
        cursor={cursor}
        next={isPlaceholderData ? undefined : data?.nextCursor}
        go={(next) => go({ ...kept, ...(next ? { cursor: next } : {}) })}
      />
    </Stack>
  );
}

/** The outcomes to choose from. They keep the other filters. */
function OutcomeTabs({ log }: { log: DeliveryLog }) {
  const search = useSearch({ strict: false }) as Params;
  const chosen = filterOf(search);
  const narrowed = Object.keys(narrowingOf(search)).length > 0;
  return (
    <nav aria-label="Outcome" className={filter.tabs}>
      {filters.map((one) => (
        <Link
          key={one.label}
          {...log.page}
          search={{ ...narrowingOf(search), ...one.search } as never}
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
  log: DeliveryLog;
  /** Whether there is another page. */
  more: boolean;
}

function Entries({ deliveries, log, selected, select, more }: EntriesProps) {
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
          log={log}
          selected={selected.has(delivery.delivery_id)}
          toggle={() => toggle(delivery.delivery_id)}
        />
      ))}
    </ul>
  );
}

interface EntryProps {
  delivery: Delivery;
  log: DeliveryLog;
  selected: boolean;
  toggle: () => void;
}

function Entry({ delivery, log, selected, toggle }: EntryProps) {
  const [opened, setOpened] = useState(false);
  const about = delivery.summary ?? delivery.delivery_id;
  const why = whyOf(delivery);
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
          {why && !opened && (
            <span className={classes.why}>
              <Why reason={why} />
            </span>
          )}
        </button>
      </div>
      {opened && (
        <div className={classes.more}>
          <DeliveryDetail delivery={delivery} log={log} linked />
        </div>
      )}
    </li>
  );
}
