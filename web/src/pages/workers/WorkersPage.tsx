import { Group, Text } from '@mantine/core';
import type { ConnectedWorker } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { formatNumber } from '../../format.ts';
import { live } from '../../live.ts';
import { statsQuery, workersQuery } from '../../queries.ts';
import { Code } from '../../ui/Code.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { Time } from '../../ui/Time.tsx';
import { Executions } from './Executions.tsx';
import { Load } from './Load.tsx';

const columns: Column<ConnectedWorker>[] = [
  { header: 'Host', main: true, cell: ({ worker_host }) => <span className="mono">{worker_host}</span> },
  { header: 'Kind', width: 130, cell: kindOf },
  { header: 'Load', width: 220, cell: ({ busy, capacity, worker_host }) => <Load busy={busy} capacity={capacity} of={worker_host} /> },
  { header: 'Workers', width: 90, numeric: true, cell: ({ connection_count }) => connection_count },
  { header: 'Last heartbeat', width: 130, numeric: true, cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
  { header: 'Connected', width: 130, numeric: true, cell: ({ connected_at }) => <Time at={connected_at} /> },
];

/** Says which workers start each run in a Pod. */
function kindOf({ connection_count, launcher_count = 0 }: ConnectedWorker): string {
  if (launcher_count === 0) {
    return 'Worker';
  }
  return launcher_count === connection_count ? 'Launcher' : 'Worker, launcher';
}

export function WorkersPage() {
  const workers = useQuery({ ...workersQuery, ...live(5) });
  const { data: stats } = useQuery({ ...statsQuery(24), ...live(5) });
  return (
    <Page title="Workers">
      <Group gap="sm" mih={{ base: 58, xs: 24 }} align="start">
        <Text size="sm">In the server:</Text>
        {stats && stats.capacity.server_slots > 0 && (
          <Load busy={stats.capacity.server_busy} capacity={stats.capacity.server_slots} of="the worker inside the server" />
        )}
        {stats && stats.capacity.server_slots === 0 && <Text size="sm">none. The server was started without a worker</Text>}
        {stats && (
          <Text size="sm" c="dimmed">
            {formatNumber(stats.capacity.queued)} queued
          </Text>
        )}
      </Group>
      <Text size="sm" c="dimmed">
        On other machines:
      </Text>
      <Failure error={workers.error} retry={() => void workers.refetch()} />
      {(workers.data || !workers.error) && (
        <DataTable
          label="Workers"
          columns={columns}
          rows={workers.data?.workers}
          rowKey={({ worker_host }) => worker_host}
          expected={3}
          empty={
            <Empty title="No workers on other machines">
              <Text>
                A worker needs only an outgoing connection to this server, and a key with the scope <code>worker</code> in a file. A run
                that names its host as <code>worker_host</code> waits for it.
              </Text>
              <Code label="start a worker">{`penstock worker --server ${location.origin} --key-file worker.key --host build-box-1`}</Code>
            </Empty>
          }
        />
      )}
      {workers.data && <Executions workers={workers.data.workers} />}
    </Page>
  );
}
