import { Anchor, Button, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { RunItem } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useCallback, useState } from 'react';
import { sessionQuery } from '../../api.ts';
import { formatCost, formatDuration, formatWord, parseDuration } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { runsQuery } from '../../queries.ts';
import { firstOf, type Params } from '../../search.ts';
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
import { activeFilters, queryOf, quickFilters, sameFilters, withFilter } from './filters.ts';
import classes from './RunsPage.module.css';

const BulkCancel = lazy(() => import('./BulkCancel.tsx'));
const NewRun = lazy(() => import('./NewRun.tsx'));
const FilterPanel = lazy(() => import('./FilterPanel.tsx'));

const columns: Column<RunItem>[] = [
  {
    header: 'Run',
    main: true,
    cell: (run) => (
      <>
        <Anchor component={Link} to="/runs/$runId" params={{ runId: run.run_id } as never} inherit className={classes.title ?? ''}>
          {run.title || run.run_id}
        </Anchor>
        {run.status_message && (
          <Text size="xs" c="dimmed" className="clip" title={run.status_message.message}>
            {run.status_message.message}
          </Text>
        )}
      </>
    ),
  },
  { header: 'Status', width: 126, cell: (run) => <RunStatus state={run.state} /> },
  { header: 'Source', width: 112, cell: (run) => (run.source ? <span className="clip">{formatWord(run.source)}</span> : '') },
  { header: 'Agent', width: 112, cell: (run) => run.schedule?.schedule_name ?? agentOf(run) },
  { header: 'Creator', width: 100, cell: (run) => run.creator?.display_name ?? run.creator?.uid },
  { header: 'Duration', width: 100, numeric: true, cell: (run) => <RunTime run={run} /> },
  { header: 'Cost', width: 68, numeric: true, cell: (run) => costOf(run) },
  { header: 'Created', width: 108, numeric: true, cell: (run) => <Time at={run.created_at} /> },
];

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
  const [filtering, { toggle: toggleFilters }] = useDisclosure(false);
  const [composing, compose] = useDisclosure(false);
  const runs = useQuery({ ...runsQuery(queryOf(search)), ...live() });
  const active = activeFilters(search);
  // Stable, so that the filter panel renders only when the filters change.
  const go = useCallback(
    (next: Params, replace = false): void => {
      setSelected(new Set());
      void navigate({ to: '/runs', search: next, replace });
    },
    [navigate],
  );
  const refine = useCallback((next: Params): void => go(next, true), [go]);
  const mayWrite = may(session?.scopes, 'runs:write');
  const narrowed = active.length > 0 || firstOf(search.q) !== undefined;
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
            </Link>
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
          <Button variant="default" leftSection={<Icon name="filter" />} aria-expanded={filtering} onClick={toggleFilters}>
            Filters
          </Button>
        </Group>
      </Group>
      {filtering && (
        <Suspense>
          <FilterPanel search={search} change={refine} />
        </Suspense>
      )}
      {active.length > 0 && <AppliedFilters search={search} active={active} change={go} />}
      {mayWrite && selected.size > 0 && (
        <Suspense>
          <BulkCancel runs={runs.data?.items.filter((run) => selected.has(run.run_id)) ?? []} done={() => setSelected(new Set())} />
        </Suspense>
      )}
      {runs.error && <Failure error={runs.error} retry={() => void runs.refetch()} />}
      {(runs.data || !runs.error) && (
        <DataTable
          label="Runs"
          columns={columns}
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
