import { Anchor, Text } from '@mantine/core';
import type { ConnectedWorker, WorkerExecution } from '@penstock/sdk';
import { Link } from '@tanstack/react-router';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { RunStatus, Status } from '../../ui/Status.tsx';
import { Since } from '../../ui/Time.tsx';

interface Execution extends WorkerExecution {
  worker_host: string;
}

const columns: Column<Execution>[] = [
  {
    header: 'Run',
    main: true,
    cell: ({ run_id, title }) => (
      <Anchor
        component={Link}
        to="/runs/$runId"
        params={{ runId: run_id } as never}
        size="sm"
        underline="hover"
        className="clip"
        display="block"
        title={title}
      >
        {title}
      </Anchor>
    ),
  },
  { header: 'Host', width: 130, cell: ({ worker_host }) => <span className="mono">{worker_host}</span> },
  { header: 'Status', width: 170, cell: (execution) => <ExecutionStatus {...execution} /> },
  { header: 'Waits for', width: '36%', cell: ({ waiting }) => waiting && <Wait {...waiting} /> },
  { header: 'Since', width: 84, numeric: true, cell: ({ since }) => <Since at={since} /> },
];

/** A Pod that waits for a reason of its own needs a look; one that starts as usual does not. */
function ExecutionStatus({ state, waiting }: Execution) {
  if (!waiting) {
    return <RunStatus state={state} />;
  }
  return (
    <Status tone={isUnusual(waiting.reason) ? 'warn' : 'busy'} pulse>
      Waiting for a Pod
    </Status>
  );
}

/** The launcher reports "Starting" after a reason that no longer holds. */
const isUnusual = (reason: string | undefined): boolean => reason !== undefined && reason !== 'Starting';

function Wait({ reason, message }: NonNullable<WorkerExecution['waiting']>) {
  return (
    <span>
      {reason && <span className="mono">{reason}: </span>}
      {message}
    </span>
  );
}

/** The runs that workers have, those first that have not started. */
export function Executions({ workers }: { workers: readonly ConnectedWorker[] }) {
  const order = ['CLAIMED', 'PENDING', 'INPROGRESS'];
  const rows = workers
    .flatMap(({ worker_host, executions = [] }) => executions.map((execution) => ({ ...execution, worker_host })))
    .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state) || a.since.localeCompare(b.since));
  if (rows.length === 0) {
    return null;
  }
  return (
    <>
      <Text component="h2" size="sm" c="dimmed" mt="md">
        Their runs:
      </Text>
      <DataTable label="Runs of workers" columns={columns} rows={rows} rowKey={({ run_id }) => run_id} empty={null} />
    </>
  );
}
