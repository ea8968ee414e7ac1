import { Button, Group, Text, Title } from '@mantine/core';
import type { EndpointAttempt, EventEndpoint } from '@penstock/sdk';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { client } from '../../api.ts';
import { live } from '../../live.ts';
import { attemptsQuery } from '../../queries.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { RowActions } from '../../ui/RowActions.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { resultOf } from './endpoint.ts';

const ReplaySince = lazy(() => import('./ReplaySince.tsx'));

const columns: Column<EndpointAttempt>[] = [
  { header: 'Message', main: true, cell: ({ type }) => <span className="mono">{type}</span> },
  { header: 'Time', width: 100, numeric: true, cell: ({ at }) => <Time at={at} /> },
  { header: 'Attempt', width: 80, numeric: true, cell: ({ attempt }) => attempt },
  {
    header: 'Result',
    cell: (attempt) => (
      <div>
        <Status tone={attempt.succeeded ? 'good' : 'bad'}>{attempt.succeeded ? 'Delivered' : 'Failed'}</Status>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {resultOf(attempt)}
        </Text>
      </div>
    ),
  },
  { header: 'Next attempt', width: 120, numeric: true, cell: ({ next_attempt_at }) => next_attempt_at && <Time at={next_attempt_at} /> },
];

/** The requests to an endpoint, newest first. Each message can be sent again. */
export function Attempts({ endpoint }: { endpoint: EventEndpoint }) {
  const { cursor } = useSearch({ from: '/app/event-endpoints/$uid' });
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [since, setSince] = useState(false);
  const attempts = useQuery({ ...attemptsQuery(endpoint.uid, cursor), ...live(5) });
  const replaying = useMutation({
    mutationFn: (message: string) => client.eventEndpoints.replay(endpoint.uid, { message_id: message }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['endpoints'] }),
  });
  const actions: Column<EndpointAttempt> = {
    header: 'Actions',
    width: 90,
    numeric: true,
    cell: ({ message_id, type }) => (
      <RowActions
        of={type}
        actions={[{ label: 'Replay', act: () => replaying.mutate(message_id), disabled: !endpoint.enabled || replaying.isPending }]}
      />
    ),
  };
  return (
    <section aria-labelledby="attempts">
      <Group justify="space-between" align="center" mb={4}>
        <Title order={2} size="h5" id="attempts">
          Attempts of the last 7 days
        </Title>
        <Button variant="default" size="xs" disabled={!endpoint.enabled} onClick={() => setSince(true)}>
          Replay since…
        </Button>
      </Group>
      {since && (
        <Suspense>
          <ReplaySince endpoint={endpoint} close={() => setSince(false)} />
        </Suspense>
      )}
      <Failure error={replaying.error ?? attempts.error} />
      {(attempts.data || !attempts.error) && (
        <DataTable
          label="Attempts"
          columns={[...columns, actions]}
          rows={attempts.data?.items}
          rowKey={({ uid }) => uid}
          empty={
            <Text py="xl" ta="center" c="dimmed">
              Nothing was sent yet. Send a ping to see whether the endpoint works.
            </Text>
          }
        />
      )}
      <Pager
        cursor={cursor}
        next={attempts.isPlaceholderData ? undefined : attempts.data?.nextCursor}
        go={(next) =>
          void navigate({ to: '/event-endpoints/$uid', params: { uid: endpoint.uid }, search: next ? { cursor: next } : {} } as never)
        }
      />
    </section>
  );
}
