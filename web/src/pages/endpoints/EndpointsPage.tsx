import { Anchor, Button, Group, Text } from '@mantine/core';
import type { EventEndpoint } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { sessionQuery } from '../../api.ts';
import { formatNumber } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { endpointsQuery } from '../../queries.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Icon } from '../../ui/Icon.tsx';
import { Page } from '../../ui/Page.tsx';
import { Time } from '../../ui/Time.tsx';
import { EndpointStatus } from './EndpointStatus.tsx';
import { nameOf } from './endpoint.ts';

const NewEndpoint = lazy(() => import('./NewEndpoint.tsx'));

const columns: Column<EventEndpoint>[] = [
  {
    header: 'Endpoint',
    main: true,
    cell: (endpoint) => (
      <>
        <Anchor component={Link} to="/event-endpoints/$uid" params={{ uid: endpoint.uid } as never} inherit>
          {nameOf(endpoint)}
        </Anchor>
        {endpoint.description && (
          <Text size="xs" c="dimmed" className="mono">
            {endpoint.url}
          </Text>
        )}
      </>
    ),
  },
  {
    header: 'State',
    width: 230,
    cell: (endpoint) => (
      <div>
        <EndpointStatus endpoint={endpoint} />
        {endpoint.enabled && endpoint.stats.failing_since && (
          <Text size="xs" c="dimmed">
            since <Time at={endpoint.stats.failing_since} />
          </Text>
        )}
        {endpoint.disabled_reason && (
          <Text size="xs" c="dimmed">
            {endpoint.disabled_reason}
          </Text>
        )}
      </div>
    ),
  },
  { header: 'Format', width: 100, cell: ({ format }) => format },
  { header: 'Events', width: 200, cell: ({ events }) => (events.length === 0 ? 'all' : <span className="mono">{events.join(' ')}</span>) },
  { header: 'Waiting', width: 80, numeric: true, cell: ({ stats }) => formatNumber(stats.waiting) },
  { header: 'Delivered', width: 90, numeric: true, cell: ({ stats }) => formatNumber(stats.delivered) },
  { header: 'Failed', width: 70, numeric: true, cell: ({ stats }) => formatNumber(stats.failed) },
];

/** The receivers of messages about events, with the counts of the last 7 days. */
export function EndpointsPage() {
  const endpoints = useQuery({ ...endpointsQuery, ...live(5) });
  const [creating, create] = useState(false);
  const { data: session } = useQuery(sessionQuery);
  const mayManage = may(session?.scopes, 'events:manage');
  const button = (
    <Button leftSection={<Icon name="plus" />} onClick={() => create(true)}>
      New endpoint
    </Button>
  );
  return (
    <Page title="Event endpoints" actions={mayManage && button}>
      <Failure error={endpoints.error} retry={() => void endpoints.refetch()} />
      {(endpoints.data || !endpoints.error) && (
        <DataTable
          label="Event endpoints"
          columns={columns}
          rows={endpoints.data?.endpoints}
          rowKey={({ uid }) => uid}
          empty={
            <Empty title="No event endpoints">
              <Text>
                An event endpoint is a URL of yours that gets a message when a run waits, fails or ends, or when a budget has no room. It
                can also be a channel of Slack or Mattermost.
              </Text>
              <Group>{button}</Group>
            </Empty>
          }
        />
      )}
      {creating && (
        <Suspense>
          <NewEndpoint close={() => create(false)} />
        </Suspense>
      )}
    </Page>
  );
}
