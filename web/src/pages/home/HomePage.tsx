import { Anchor, Group, SimpleGrid, Text } from '@mantine/core';
import type { Stats } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { formatCount, formatDuration, formatNumber } from '../../format.ts';
import { live } from '../../live.ts';
import { statsQuery } from '../../queries.ts';
import { Code } from '../../ui/Code.tsx';
import { curl } from '../../ui/curl.ts';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { Load } from '../workers/Load.tsx';
import { Bars } from './Bars.tsx';
import { Costs } from './Costs.tsx';
import { deliverySeries, runSeries, totalOf, waitSeries } from './chart.ts';

export function HomePage() {
  const stats = useQuery({ ...statsQuery, ...live(15) });
  return (
    <Page title="Home" heading="The last 24 hours">
      <Failure error={stats.error} retry={() => void stats.refetch()} />
      {stats.data && <Now stats={stats.data} />}
      {stats.data && <Charts stats={stats.data} />}
    </Page>
  );
}

/** The load of the workers. */
function Now({ stats: { capacity } }: { stats: Stats }) {
  return (
    <Group gap="lg">
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

function Charts({ stats: { hours, factories } }: { stats: Stats }) {
  const starts = hours.map(({ start }) => start);
  const runs = runSeries(hours);
  const total = runs.reduce((sum, one) => sum + totalOf(one), 0);
  const deliveries = hours.some((hour) => hour.deliveries) ? deliverySeries(hours) : undefined;
  const received = deliveries?.reduce((sum, one) => sum + totalOf(one), 0) ?? 0;
  const taken = hours.reduce((sum, { queue_wait }) => sum + queue_wait.runs, 0);
  const waited = hours.reduce((sum, { queue_wait }) => sum + queue_wait.runs * queue_wait.mean_seconds, 0);
  const longest = Math.max(...hours.map(({ queue_wait }) => queue_wait.max_seconds), 0);
  if (total === 0 && received === 0) {
    return (
      <Empty title="No activity in the last 24 hours">
        <Text>
          Start a run on the page{' '}
          <Anchor component={Link} to="/runs" inherit>
            Runs
          </Anchor>
          , or with any HTTP client. This page then shows your runs, their cost and how long they waited.
        </Text>
        <Code label="create a run with curl">{curl('POST', '/agent/runs', { prompt: 'Say hello' })}</Code>
      </Empty>
    );
  }
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
      <Bars
        title="Runs by status"
        summary={`${formatCount(total, 'run')}, by the hour in which they were created`}
        starts={starts}
        series={runs}
        format={formatNumber}
        sums
      />
      <Bars
        title="Queue time"
        summary={
          taken > 0 ? `Runs waited ${seconds(waited / taken)} on average, and ${seconds(longest)} at most` : 'No worker claimed a run'
        }
        starts={starts}
        series={waitSeries(hours)}
        format={seconds}
      />
      {deliveries && (
        <Bars
          title="Deliveries by outcome"
          summary={`${formatCount(received, 'delivery', 'deliveries')} to webhooks`}
          starts={starts}
          series={deliveries}
          format={formatNumber}
          sums
        />
      )}
      <Costs factories={factories} />
    </SimpleGrid>
  );
}
