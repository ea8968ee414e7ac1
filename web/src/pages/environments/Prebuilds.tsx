import { Text } from '@mantine/core';
import type { CloudEnvironment, PreparedWorkspace } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { formatBytes, formatDuration, formatNumber } from '../../format.ts';
import { live } from '../../live.ts';
import { prebuildsQuery } from '../../queries.ts';
import type { Tone } from '../../states.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { RowActions } from '../../ui/RowActions.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { commitsOf } from './draft.ts';

const words: Record<string, [Tone, string]> = { ready: ['good', 'Ready'], failed: ['bad', 'Failed'], retired: ['calm', 'Retired'] };

const columns: Column<PreparedWorkspace>[] = [
  {
    header: 'State',
    main: true,
    cell: ({ state, reason }) => {
      const [tone, word] = words[state] ?? ['calm', state];
      return (
        <>
          <Status tone={tone}>{word}</Status>
          {reason && (
            <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {reason}
            </Text>
          )}
        </>
      );
    },
  },
  {
    header: 'Commits',
    cell: ({ heads }) => (
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {commitsOf(heads) || '–'}
      </Text>
    ),
  },
  { header: 'Worker', width: 140, cell: ({ worker_host }) => <Text size="sm">{worker_host}</Text> },
  { header: 'Size', width: 90, numeric: true, cell: ({ state, bytes }) => (state === 'failed' ? '–' : formatBytes(bytes)) },
  { header: 'Took', width: 80, numeric: true, cell: ({ duration_ms }) => (duration_ms > 0 ? formatDuration(duration_ms) : '–') },
  { header: 'Uses', width: 70, numeric: true, cell: ({ uses }) => formatNumber(uses) },
  { header: 'Built', width: 110, numeric: true, cell: ({ built_at }) => <Time at={built_at} /> },
];

/** Lists what workers keep for later runs of an environment. */
export function Prebuilds({ environment, mayManage }: { environment: CloudEnvironment; mayManage: boolean }) {
  const prebuilds = useQuery({ ...prebuildsQuery(environment.uid), ...live(5) });
  const [deleting, remove] = useState<PreparedWorkspace>();
  const actions: Column<PreparedWorkspace> = {
    header: 'Actions',
    width: 90,
    numeric: true,
    cell: (prebuild) =>
      prebuild.state === 'retired' ? null : (
        <RowActions of={`prepared workspace ${prebuild.uid}`} actions={[{ label: 'Delete', act: () => remove(prebuild) }]} />
      ),
  };
  return (
    <>
      <Failure error={prebuilds.error} retry={() => void prebuilds.refetch()} />
      {(prebuilds.data || !prebuilds.error) && (
        <DataTable
          label="Prepared workspaces"
          columns={mayManage ? [...columns, actions] : columns}
          rows={prebuilds.data?.prebuilds}
          rowKey={({ uid, worker_host }) => `${uid} ${worker_host}`}
          expected={2}
          empty={
            <Empty title="No prepared workspaces">
              <Text>A worker keeps what the setup commands of a run have left, so that later runs need not run them again.</Text>
            </Empty>
          }
        />
      )}
      {deleting && (
        <DeleteDialog
          noun="prepared workspace"
          name={`on ${deleting.worker_host}`}
          remove={() => client.environments.deletePrebuild(environment.uid, deleting.uid)}
          stale={['environments', environment.uid, 'prebuilds']}
          close={() => remove(undefined)}
        >
          {deleting.state === 'failed'
            ? 'The next run tries again at once.'
            : 'No new run gets it, nor what was made from it. The next run is prepared anew. Runs that already have a copy keep it.'}
        </DeleteDialog>
      )}
    </>
  );
}
