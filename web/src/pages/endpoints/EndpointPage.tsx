import { Button, Stack, Text } from '@mantine/core';
import type { EventEndpoint } from '@penstock/sdk';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { formatNumber } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { allFactoriesQuery, endpointQuery } from '../../queries.ts';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { EnabledSwitch } from '../../ui/EnabledSwitch.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { Time } from '../../ui/Time.tsx';
import { Fact } from '../run/Facts.tsx';
import { Attempts } from './Attempts.tsx';
import { EndpointStatus } from './EndpointStatus.tsx';
import { nameOf } from './endpoint.ts';

const EditEndpoint = lazy(() => import('./EditEndpoint.tsx'));
const RotateEndpoint = lazy(() => import('./RotateEndpoint.tsx'));

/** Shows an event endpoint and what was sent to it. */
export function EndpointPage() {
  const { uid } = useParams({ from: '/app/event-endpoints/$uid' });
  const { data: endpoint, error, refetch } = useQuery({ ...endpointQuery(uid), ...live(5) });
  const title = endpoint ? nameOf(endpoint) : 'Event endpoint';
  return (
    <Page
      title={title}
      heading={
        <>
          {title} {endpoint && <EndpointStatus endpoint={endpoint} />}
        </>
      }
      actions={endpoint && <Actions endpoint={endpoint} />}
    >
      <Failure
        error={error}
        retry={() => void refetch()}
        wanted={{ noun: 'event endpoint', list: 'Event endpoints', to: '/event-endpoints' }}
      />
      {endpoint && (
        <>
          <Facts endpoint={endpoint} />
          <Attempts endpoint={endpoint} />
        </>
      )}
    </Page>
  );
}

function Facts({ endpoint }: { endpoint: EventEndpoint }) {
  const { data: session } = useQuery(sessionQuery);
  const named = may(session?.scopes, 'factories:read') && endpoint.factory_uids !== undefined;
  const factories = useQuery({ ...allFactoriesQuery, staleTime: 60_000, enabled: named });
  const names = endpoint.factory_uids?.map((uid) => factories.data?.find((factory) => factory.uid === uid)?.name ?? uid);
  const { waiting, delivered, failed, last_success_at, failing_since, waits_until } = endpoint.stats;
  const { format } = endpoint;
  return (
    <Stack component="dl" gap={0} m={0} maw={640}>
      <Fact name="Disabled">{endpoint.disabled_reason}</Fact>
      <Fact name="Failing since">{endpoint.enabled && failing_since && <Time at={failing_since} />}</Fact>
      <Fact name="Waits until">{waits_until && Date.parse(waits_until) > Date.now() && <Time at={waits_until} />}</Fact>
      <Fact name="URL">
        <span className="mono">{endpoint.url}/…</span>
      </Fact>
      <Fact name="Format">{format}</Fact>
      <Fact name="Channel">{endpoint.channel}</Fact>
      <Fact name="May answer">{format === 'slack_app' && (endpoint.may_answer?.join(', ') ?? 'nobody')}</Fact>
      <Fact name="Interactivity URL">{endpoint.interactivity_url && <span className="mono">{endpoint.interactivity_url}</span>}</Fact>
      <Fact name="Events">{endpoint.events.join(', ') || 'all'}</Fact>
      <Fact name="Factories">{names?.join(', ')}</Fact>
      <Fact name="Messages">
        {`${formatNumber(delivered)} delivered, ${formatNumber(waiting)} waiting, ${formatNumber(failed)} failed`}
      </Fact>
      <Fact name="Last success">{last_success_at && <Time at={last_success_at} />}</Fact>
      <Fact name="Old secret">
        {endpoint.secrets[1]?.expires_at && (
          <>
            valid until <Time at={endpoint.secrets[1].expires_at} />
          </>
        )}
      </Fact>
    </Stack>
  );
}

function Actions({ endpoint }: { endpoint: EventEndpoint }) {
  const { uid, enabled, format } = endpoint;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<'edit' | 'rotate' | 'delete'>();
  const close = (): void => setDialog(undefined);
  const pinging = useMutation({
    mutationFn: () => client.eventEndpoints.ping(uid),
    onSettled: () => queries.invalidateQueries({ queryKey: ['endpoints'] }),
  });
  return (
    <>
      <EnabledSwitch
        name={nameOf(endpoint)}
        on={enabled}
        disabled={false}
        title={enabled ? undefined : 'Sends what waits'}
        change={(on) => client.eventEndpoints.update(uid, { enabled: on })}
        stale={[['endpoints']]}
      />
      <Button variant="default" onClick={() => pinging.mutate()} disabled={!enabled} loading={pinging.isPending}>
        Send a ping
      </Button>
      {format === 'standard' && (
        <Button variant="default" onClick={() => setDialog('rotate')}>
          Rotate secret
        </Button>
      )}
      <Button variant="default" onClick={() => setDialog('edit')}>
        Edit
      </Button>
      <Button variant="default" onClick={() => setDialog('delete')}>
        Delete
      </Button>
      {pinging.isSuccess && (
        <Text size="sm" role="status">
          The ping will appear below.
        </Text>
      )}
      <Failure error={pinging.error} />
      <Suspense>
        {dialog === 'edit' && <EditEndpoint endpoint={endpoint} close={close} />}
        {dialog === 'rotate' && <RotateEndpoint endpoint={endpoint} close={close} />}
      </Suspense>
      {dialog === 'delete' && (
        <DeleteDialog
          noun="event endpoint"
          name={nameOf(endpoint)}
          remove={() => client.eventEndpoints.delete(uid)}
          done={async () => {
            await navigate({ to: '/event-endpoints' });
            await queries.invalidateQueries({ queryKey: ['endpoints'] });
          }}
          close={close}
        >
          Nothing more is sent to it, also not what waits.
        </DeleteDialog>
      )}
    </>
  );
}
