import { Anchor } from '@mantine/core';
import type { ComparedRun } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { formatCost, formatDuration, formatNumber } from '../../format.ts';
import { live } from '../../live.ts';
import { forkGroupQuery } from '../../queries.ts';
import { Clipped } from '../../ui/Clipped.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { RunStatus } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';

const columns: Column<ComparedRun>[] = [
  {
    header: 'Run',
    main: true,
    cell: (run) => (
      <Anchor component={Link} to="/runs/$runId" params={{ runId: run.run_id } as never} inherit>
        <Clipped>{run.title || run.run_id}</Clipped>
      </Anchor>
    ),
  },
  { header: 'State', width: 130, cell: (run) => <RunStatus state={run.state} /> },
  { header: 'Agent', width: 200, cell: (run) => <Clipped>{[run.harness, run.model_id].filter(Boolean).join(' · ')}</Clipped> },
  { header: 'Files', width: 80, numeric: true, cell: (run) => formatNumber(run.changes.files) },
  {
    header: 'Lines',
    width: 120,
    numeric: true,
    cell: (run) => `+${formatNumber(run.changes.additions)} −${formatNumber(run.changes.deletions)}`,
  },
  { header: 'Cost', width: 90, numeric: true, cell: (run) => formatCost(run.request_usage?.inference_cost_usd ?? 0) },
  {
    header: 'Time',
    width: 90,
    numeric: true,
    cell: (run) => run.run_time && formatDuration(1000 * Number.parseFloat(run.run_time.slice(2))),
  },
  { header: 'Created', width: 110, cell: (run) => <Time at={run.created_at} /> },
];

/** Compares the runs of a fork. */
export function ForkPage() {
  const { forkGroup } = useParams({ from: '/app/forks/$forkGroup' });
  const { data, error, refetch } = useQuery({ ...forkGroupQuery(forkGroup), ...live(5) });
  const from = data?.runs[0]?.forked_from;
  return (
    <Page title="Forks">
      <Failure error={error} retry={() => void refetch()} wanted={{ noun: 'fork group', list: 'Runs', to: '/runs' }} />
      {from && (
        <p>
          From turn {from.turn} of{' '}
          <Anchor component={Link} to="/runs/$runId" params={{ runId: from.run_id } as never} inherit>
            {from.run_id}
          </Anchor>
        </p>
      )}
      {!error && <DataTable label="Forks" columns={columns} rows={data?.runs} rowKey={(run) => run.run_id} empty={null} expected={2} />}
    </Page>
  );
}
