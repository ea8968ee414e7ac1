import { Anchor, Button, CloseButton, Group, NativeSelect, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { RunItem } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useCallback, useState } from 'react';
import { sessionQuery } from '../../api.ts';
import { formatCost, formatDuration, parseDuration } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { runsQuery } from '../../queries.ts';
import { firstOf, type Params } from '../../search.ts';
import { Clipped } from '../../ui/Clipped.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Failure } from '../../ui/Failure.tsx';
import filter from '../../ui/FilterTabs.module.css';
import { Icon } from '../../ui/Icon.tsx';
import { Page } from '../../ui/Page.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { SearchBox } from '../../ui/SearchBox.tsx';
import { RunStatus } from '../../ui/Status.tsx';
import { Since, Time } from '../../ui/Time.tsx';
import { agentOf } from '../run/agent.ts';
import { AppliedFilters } from './AppliedFilters.tsx';
import { EmptyRuns } from './EmptyRuns.tsx';
import { activeFilters, orderOf, orders, queryOf, quickFilters, sameFilters, triggerOf, withFilter, withOrder } from './filters.ts';
import classes from './RunsPage.module.css';
import { showsView, useViews, type View, viewOf, withView } from './views.ts';

const BulkActions = lazy(() => import('./BulkActions.tsx'));
const FactoryParts = lazy(async () => ({ default: (await import('../factories/FactoryParts.tsx')).FactoryParts }));
const NewRun = lazy(() => import('./NewRun.tsx'));

/** The same query as on Home, so that both have one answer. */
const blockedQuery = { state: ['BLOCKED' as const], sort_by: 'updated_at' as const, limit: 10 };

const columns: Column<RunItem>[] = [
  {
    header: 'Run',
    main: true,
    sort: 'title',
    cell: (run) => (
      <>
        <Anchor component={Link} to="/runs/$runId" params={{ runId: run.run_id } as never} inherit className={classes.title ?? ''}>
          {run.title || run.run_id}
        </Anchor>
        {run.subject && (
          <Text size="xs" c="dimmed" className="clip" title={run.subject}>
            {run.subject}
          </Text>
        )}
        {run.hollow && !run.status_message && (
          <Text size="xs" c="dimmed" className="clip" title={run.hollow_reason}>
            Did nothing: {run.hollow_reason}
          </Text>
        )}
        {run.stalled && (
          <Text size="xs" c="dimmed" className="clip">
            Stalled: no event since <Time at={run.stalled.last_event.at} />
          </Text>
        )}
        {run.status_message && (
          <Text size="xs" c="dimmed" className="clip" title={run.status_message.message}>
            {run.status_message.message}
          </Text>
        )}
      </>
    ),
  },
  { header: 'Status', width: 126, cell: (run) => <RunStatus state={run.state} /> },
  { header: 'Trigger', width: 190, cell: (run) => <Clipped>{triggerOf(run)}</Clipped> },
  { header: 'Agent', width: 128, sort: 'agent', cell: (run) => <Clipped>{agentOf(run) ?? ''}</Clipped> },
  { header: 'Duration', width: 100, numeric: true, cell: (run) => <RunTime run={run} /> },
  { header: 'Cost', width: 68, numeric: true, cell: (run) => costOf(run) },
];

const created: Column<RunItem> = {
  header: 'Created',
  width: 108,
  numeric: true,
  sort: 'created_at',
  cell: (run) => <Time at={run.created_at} />,
};
const updated: Column<RunItem> = {
  header: 'Updated',
  width: 108,
  numeric: true,
  sort: 'updated_at',
  cell: (run) => <Time at={run.updated_at} />,
};

/** The columns. The last one has the time that orders the list. */
const byCreated = [...columns, created];
const byUpdated = [...columns, updated];

function costOf(run: RunItem): string {
  const usd = run.request_usage?.inference_cost_usd;
  return usd === undefined ? '' : formatCost(usd);
}

function RunTime({ run }: { run: RunItem }) {
  if (run.state === 'INPROGRESS' && run.started_at) {
    return <Since at={run.started_at} />;
  }
  const taken = parseDuration(run.run_time);
  return <>{taken ? formatDuration(taken) : ''}</>;
}

export function RunsPage() {
  const search = useSearch({ from: '/app/runs' });
  const navigate = useNavigate();
  const { data: session } = useQuery(sessionQuery);
  const [selected, setSelected] = useState<Set<string>>(new Set());
  const [composing, compose] = useDisclosure(false);
  const runs = useQuery({ ...runsQuery(queryOf(search)), ...live() });
  const active = activeFilters(search);
  const factory = firstOf(search.factory_uid);
  const go = useCallback(
    (next: Params, replace = false): void => {
      setSelected(new Set());
      void navigate({ to: '/runs', search: next, replace });
    },
    [navigate],
  );
  const mayWrite = may(session?.scopes, 'runs:write');
  const [views, setViews] = useViews();
  const order = orders[orderOf(search)] as (typeof orders)[number];
  const narrowed = active.length > 0 || firstOf(search.q) !== undefined;
  const saved =
    views.some((view) => showsView(search, view)) ||
    quickFilters(session?.actor.uid ?? '').some((quick) => sameFilters(search, quick.search) && orderOf(search) === 0);
  const save = (name: string): void => {
    const view = viewOf(name, search);
    setViews((before) => withView(before, view));
    go(view.search, true);
  };
  return (
    <Page
      title="Runs"
      actions={
        mayWrite && (
          <Button leftSection={<Icon name="plus" />} onClick={compose.open}>
            New run
          </Button>
        )
      }
    >
      {factory !== undefined && (
        <Suspense>
          <FactoryParts uid={factory} />
        </Suspense>
      )}
      <Group gap="xs" justify="space-between">
        <nav aria-label="Quick filters" className={filter.tabs}>
          {quickFilters(session?.actor.uid ?? '').map((quick) => (
            <Link
              key={quick.label}
              to="/runs"
              search={quick.search}
              className={filter.tab}
              activeOptions={{ exact: true }}
              data-on={sameFilters(search, quick.search) || undefined}
            >
              {quick.label}
              {quick.label === 'Blocked' && <BlockedCount />}
            </Link>
          ))}
          {views.map((view) => (
            <SavedView
              key={view.name}
              view={view}
              shown={showsView(search, view)}
              remove={() => setViews((before) => before.filter(({ name }) => name !== view.name))}
            />
          ))}
        </nav>
        <Group gap="xs" className={classes.find ?? ''}>
          <SearchBox
            aria-label="Search runs"
            placeholder="Search title, prompt, skill"
            className={classes.search ?? ''}
            value={firstOf(search.q) ?? ''}
            change={(q) => go(withFilter(search, 'q', q), true)}
          />
        </Group>
      </Group>
      <Group gap="xs" justify="space-between" align="start">
        <AppliedFilters search={search} active={active} narrowed={narrowed} change={go} save={saved ? undefined : save} />
        <NativeSelect
          size="xs"
          aria-label="Order"
          data={orders.map(({ label }, i) => ({ value: String(i), label }))}
          value={String(orderOf(search))}
          onChange={(event) => {
            const next = orders[Number(event.currentTarget.value)] ?? order;
            go(withOrder(search, next.sort_by, next.sort_order), true);
          }}
        />
      </Group>
      {mayWrite && selected.size > 0 && (
        <Suspense>
          <BulkActions runs={runs.data?.items.filter((run) => selected.has(run.run_id)) ?? []} done={() => setSelected(new Set())} />
        </Suspense>
      )}
      {runs.error && <Failure error={runs.error} retry={() => void runs.refetch()} />}
      {(runs.data || !runs.error) && (
        <DataTable
          label="Runs"
          columns={order.sort_by === 'updated_at' ? byUpdated : byCreated}
          sorting={{ by: order.sort_by, order: order.sort_order, change: (by, direction) => go(withOrder(search, by, direction), true) }}
          rows={runs.data?.items}
          rowKey={(run) => run.run_id}
          empty={<EmptyRuns narrowed={narrowed} compose={mayWrite ? compose.open : undefined} />}
          selection={mayWrite ? { selected, change: setSelected, labelOf: (run) => run.title } : undefined}
        />
      )}
      <Pager
        cursor={firstOf(search.cursor)}
        next={runs.isPlaceholderData ? undefined : runs.data?.nextCursor}
        go={(cursor) => go(cursor ? { ...search, cursor } : withFilter(search, 'cursor', ''))}
      />
      {composing && (
        <Suspense>
          <NewRun close={compose.close} />
        </Suspense>
      )}
    </Page>
  );
}

/** The number of blocked runs. */
function BlockedCount() {
  const { data } = useQuery({ ...runsQuery(blockedQuery), ...live(15) });
  const n = data?.items.length ?? 0;
  return n > 0 ? <span className={classes.count}>{data?.nextCursor ? `${n}+` : n}</span> : null;
}

function SavedView({ view, shown, remove }: { view: View; shown: boolean; remove: () => void }) {
  return (
    <span className={filter.tab} data-on={shown || undefined}>
      <Link to="/runs" search={view.search as never} className={classes.view ?? ''} activeOptions={{ exact: true }}>
        {view.name}
      </Link>
      {shown && <CloseButton size="xs" aria-label={`Delete view ${view.name}`} title={`Delete view ${view.name}`} onClick={remove} />}
    </span>
  );
}
