import { Anchor, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import type { HourStats, Stats } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { sessionQuery } from '../../api.ts';
import { formatCount, formatDuration, formatNumber } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { live, useNow } from '../../live.ts';
import { runsQuery, statsQuery, usageQuery } from '../../queries.ts';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import filter from '../../ui/FilterTabs.module.css';
import { Page } from '../../ui/Page.tsx';
import { costOf } from '../../ui/usage.tsx';
import { Load } from '../workers/Load.tsx';
import { ActiveRuns } from './ActiveRuns.tsx';
import { Bars } from './Bars.tsx';
import { Costs } from './Costs.tsx';
import { barsOf, deliverySeries, hoursOf, type Range, ranges, runSeries, statsOfBars, totalOf, waitSeries } from './chart.ts';
import { FirstSteps } from './FirstSteps.tsx';
import classes from './Home.module.css';
import { LastFinished } from './LastFinished.tsx';
import { NeedsAttention } from './NeedsAttention.tsx';
import { QuickRun } from './QuickRun.tsx';
import { useAttention } from './useAttention.ts';
import { useFirstSteps } from './useFirstSteps.ts';

export function HomePage() {
  const { data: session } = useQuery(sessionQuery);
  const stats = useQuery({ ...statsQuery(24), ...live(15) });
  const attention = useAttention();
  const finished = useQuery({ ...runsQuery({ state: ['SUCCEEDED'], sort_by: 'updated_at', limit: 3 }), ...live(15) });
  const { steps, hide } = useFirstSteps();
  return (
    <Page title="Home" actions={stats.data && <Now stats={stats.data} />}>
      <Failure error={stats.error} retry={() => void stats.refetch()} />
      {/* All at once, so that nothing moves. */}
      {attention.ready && steps && !finished.isPending ? (
        <>
          <NeedsAttention {...attention} />
          {steps.length > 0 && <FirstSteps steps={steps} hide={hide} />}
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md" className={classes.pair ?? ''}>
            {may(session?.scopes, 'runs:write') && <QuickRun />}
            <Stack gap="md">
              <ActiveRuns runs={attention.active} />
              <LastFinished runs={finished.data?.items ?? []} />
            </Stack>
          </SimpleGrid>
          <Charts />
        </>
      ) : (
        <div className={classes.room} aria-busy="true" />
      )}
    </Page>
  );
}

/** The cost of the week, and the load of the workers. */
function Now({ stats: { capacity } }: { stats: Stats }) {
  const { data: usage } = useQuery({ ...usageQuery(7, 'model'), ...live(60) });
  return (
    <Group gap="lg">
      {usage && (
        <Anchor component={Link} to="/spend" search={{ days: '7' } as never} size="sm">
          {costOf(usage.total)} in 7 days
        </Anchor>
      )}
      <Group gap="xs">
        <Anchor component={Link} to="/workers" size="sm">
          Workers
        </Anchor>
        <Load busy={capacity.busy} capacity={capacity.slots} of="all workers" />
      </Group>
      <Text size="sm">
        <Anchor component={Link} to="/runs" search={{ state: 'QUEUED' } as never} inherit>
          {formatNumber(capacity.queued)} queued
        </Anchor>
      </Text>
    </Group>
  );
}

const seconds = (n: number): string => formatDuration(n * 1000);

/** The charts of the chosen time. */
function Charts() {
  const search = useSearch({ from: '/app/' });
  const range = ranges.find(({ name }) => name === search.range)?.name ?? '24h';
  const hour = useNow(3600);
  const stats = useQuery({ ...statsQuery(hoursOf(range, new Date(hour))), ...live(range === '24h' ? 15 : 60) });
  return (
    <>
      <Group justify="space-between" gap="xs" mt="xs">
        <Title order={2} size="h4">
          Activity
        </Title>
        <nav className={filter.tabs} aria-label="Time">
          {ranges.map(({ name, label }) => (
            <Link
              key={name}
              to="/"
              search={{ ...search, range: name }}
              replace
              resetScroll={false}
              className={filter.tab ?? ''}
              data-on={name === range || undefined}
              aria-current={name === range || undefined}
            >
              {label}
            </Link>
          ))}
        </nav>
      </Group>
      <Failure error={stats.error} retry={() => void stats.refetch()} />
      {stats.data && <Figures range={range} hours={stats.data.hours} />}
    </>
  );
}

function Figures({ range, hours }: { range: Range; hours: HourStats[] }) {
  const all = hours.map(({ start }) => start);
  const bars = barsOf(range, all);
  const sums = statsOfBars(bars, hours);
  const starts = sums.map(({ start }) => start);
  const runs = runSeries(sums);
  const total = runs.reduce((sum, one) => sum + totalOf(one), 0);
  const deliveries = sums.some((bar) => bar.deliveries) ? deliverySeries(sums) : undefined;
  const received = deliveries?.reduce((sum, one) => sum + totalOf(one), 0) ?? 0;
  const taken = sums.reduce((sum, { queue_wait }) => sum + queue_wait.runs, 0);
  const waited = sums.reduce((sum, { queue_wait }) => sum + queue_wait.runs * queue_wait.mean_seconds, 0);
  const longest = Math.max(...sums.map(({ queue_wait }) => queue_wait.max_seconds), 0);
  if (total === 0 && received === 0) {
    return <Empty title={`No activity in the last ${ranges.find(({ name }) => name === range)?.label}`}>{null}</Empty>;
  }
  const common = { range, starts };
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
      <Bars
        {...common}
        title="Runs by status"
        summary={`${formatCount(total, 'run')}, by the time when they were created`}
        series={runs}
        format={formatNumber}
        sums
        whole
      />
      <Costs {...common} hours={all} bars={bars} />
      <Bars
        {...common}
        title="Queue time"
        summary={
          taken > 0 ? `Runs waited ${seconds(waited / taken)} on average, and ${seconds(longest)} at most` : 'No worker claimed a run'
        }
        series={waitSeries(sums)}
        format={seconds}
        tick={(n) => (n === 0 ? '0' : seconds(n))}
      />
      {deliveries && (
        <Bars
          {...common}
          title="Deliveries by outcome"
          summary={`${formatCount(received, 'delivery', 'deliveries')} to webhooks`}
          series={deliveries}
          format={formatNumber}
          sums
          whole
        />
      )}
    </SimpleGrid>
  );
}
