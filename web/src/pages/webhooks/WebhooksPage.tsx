import { Anchor, Button, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Webhook } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { sessionQuery } from '../../api.ts';
import { formatNumber } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { signatureSchemesQuery, webhooksQuery } from '../../queries.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Icon } from '../../ui/Icon.tsx';
import { Page } from '../../ui/Page.tsx';
import { Time } from '../../ui/Time.tsx';
import { LastDeliveries } from '../deliveries/LastDeliveries.tsx';
import { FactoryParts } from '../factories/FactoryParts.tsx';
import { Counts } from './Counts.tsx';
import { EnableWebhook } from './EnableWebhook.tsx';
import { FactoryFilter } from './FactoryFilter.tsx';
import { FactoryFirst } from './FactoryFirst.tsx';
import { FinishSetup } from './FinishSetup.tsx';
import { authenticationOf } from './state.ts';
import { type Of, useEach } from './useEach.ts';

const NewWebhook = lazy(() => import('./NewWebhook.tsx'));
const RotateSecret = lazy(() => import('./RotateSecret.tsx'));

/** The webhooks of all factories or of one. */
export function WebhooksPage() {
  const search = useSearch({ from: '/app/webhooks' });
  const { factory } = search;
  const found = search.outcome === undefined ? undefined : { ...search, outcome: search.outcome };
  const navigate = useNavigate();
  const [making, { open, close }] = useDisclosure(false);
  const [finishing, finish] = useState<Of<Webhook>>();
  const [rotating, rotate] = useState<Of<Webhook>>();
  const { data: session } = useQuery(sessionQuery);
  const manages = may(session?.scopes, 'factories:manage');
  const schemes = useQuery(signatureSchemesQuery);
  const { factories, rows, left, error } = useEach(factory, (one) => one.webhooks_count, webhooksQuery);
  const senderOf = (webhook: Webhook): string | undefined =>
    schemes.data?.find(({ scheme }) => scheme === webhook.signature_scheme)?.sender;
  const columns: Column<Of<Webhook>>[] = [
    {
      header: 'Webhook',
      main: true,
      cell: (webhook) => (
        <Anchor
          component={Link}
          to="/factory/$uid/webhooks/$wuid"
          params={{ uid: webhook.factory.uid, wuid: webhook.uid } as never}
          inherit
          title={webhook.name}
        >
          {webhook.label || webhook.name}
        </Anchor>
      ),
    },
    {
      header: 'Factory',
      width: 130,
      cell: (webhook) => (
        <div className="clip" title={webhook.factory.name}>
          {webhook.factory.name}
        </div>
      ),
    },
    { header: 'Authentication', width: 170, cell: (webhook) => authenticationOf(webhook, senderOf(webhook)) },
    {
      header: 'Enabled',
      width: 150,
      cell: (webhook) =>
        webhook.pending_secret ? (
          <Button size="compact-xs" variant="default" onClick={() => finish(webhook)}>
            Finish setup
          </Button>
        ) : (
          <EnableWebhook webhook={webhook} factory={webhook.factory} bare />
        ),
    },
    { header: 'Last 24 hours', width: 150, cell: (webhook) => <Counts counts={webhook.counts} /> },
    { header: 'Last delivery', width: 116, numeric: true, cell: (webhook) => <Time at={webhook.last_delivery_at} /> },
  ];
  if (manages) {
    columns.push({
      header: 'Secret',
      width: 130,
      cell: (webhook) =>
        !webhook.pending_secret && (
          <Button
            size="compact-xs"
            variant="default"
            aria-label={`Rotate secret of ${webhook.label || webhook.name}`}
            onClick={() => rotate(webhook)}
          >
            Rotate secret
          </Button>
        ),
    });
  }
  const show = (webhook: Of<Webhook>): void =>
    void navigate({ to: '/factory/$uid/webhooks/$wuid', params: { uid: webhook.factory.uid, wuid: webhook.uid }, search: {} });
  return (
    <Page
      title="Webhooks"
      actions={
        <>
          {(factories?.length ?? 0) > 1 && (
            <FactoryFilter
              factories={factories ?? []}
              value={factory}
              change={(uid) => void navigate({ to: '/webhooks', search: uid ? { factory: uid } : {}, replace: true })}
            />
          )}
          {manages && (
            <Button
              leftSection={<Icon name="plus" />}
              onClick={open}
              disabled={factories?.length === 0}
              title={factories?.length === 0 ? 'Create a factory first' : undefined}
            >
              New webhook
            </Button>
          )}
        </>
      }
    >
      {factory !== undefined && <FactoryParts uid={factory} />}
      {manages ? <Failure error={error} /> : <Text>Your key cannot read webhooks. It needs the scope factories:manage.</Text>}
      {manages && found && rows && <LastDeliveries webhooks={rows} found={found} />}
      {manages && (rows || !error) && (
        <DataTable
          label="Webhooks"
          columns={columns}
          rows={rows}
          rowKey={(webhook) => webhook.uid}
          empty={<NoWebhooks without={factories?.length === 0} open={open} />}
          expected={4}
        />
      )}
      {left > 0 && (
        <Text size="sm" c="dimmed">
          {formatNumber(left)} more factories have webhooks: choose one to see its own.
        </Text>
      )}
      {rows && !found && <LastDeliveries webhooks={rows} />}
      {making && (
        <Suspense>
          <NewWebhook factories={factories ?? []} factory={factory} close={close} />
        </Suspense>
      )}
      {finishing && (
        <FinishSetup webhook={finishing} factory={finishing.factory.uid} close={() => finish(undefined)} finished={() => show(finishing)} />
      )}
      {rotating && (
        <Suspense>
          <RotateSecret webhook={rotating} factory={rotating.factory.uid} close={() => rotate(undefined)} />
        </Suspense>
      )}
    </Page>
  );
}

function NoWebhooks({ without, open }: { without: boolean; open: () => void }) {
  return (
    <Empty title="No webhooks yet">
      <Text>
        Another system posts JSON to the URL of a webhook. An automation can start a run for each matching delivery. The webhook’s page
        shows every delivery.
      </Text>
      {without ? (
        <FactoryFirst things="Webhooks" />
      ) : (
        <div>
          <Button onClick={open}>New webhook</Button>
        </div>
      )}
    </Empty>
  );
}
