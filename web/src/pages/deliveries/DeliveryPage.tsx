import { Anchor } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type DeliveryLog, logOfConnection, logOfWebhook } from '../../deliverylog.ts';
import { live } from '../../live.ts';
import { deliveryQuery, forgeQuery, webhookQuery } from '../../queries.ts';
import { CopyButton } from '../../ui/CopyButton.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { FactoryParts } from '../factories/FactoryParts.tsx';
import { DeliveryDetail } from './DeliveryDetail.tsx';
import { toneOf } from './outcome.ts';

/** Shows one delivery to a webhook. Runs link to the delivery that started them. */
export function DeliveryPage() {
  const { uid, wuid, did } = useParams({ from: '/app/factory/$uid/webhooks/$wuid/deliveries/$did' });
  const webhook = useQuery(webhookQuery(uid, wuid));
  return (
    <OneDelivery
      log={logOfWebhook(uid, wuid)}
      did={did}
      to={{ noun: 'webhook', name: webhook.data?.label, error: webhook.error, list: 'Webhooks', place: '/webhooks' }}
    >
      <FactoryParts uid={uid} part="Webhooks" />
    </OneDelivery>
  );
}

/** Shows one delivery to a connection to a forge, as {@link DeliveryPage} does. */
export function ConnectionDeliveryPage() {
  const { uid, did } = useParams({ from: '/app/forges/$uid/deliveries/$did' });
  const forge = useQuery(forgeQuery(uid));
  return (
    <OneDelivery
      log={logOfConnection(uid)}
      did={did}
      to={{ noun: 'connection', name: forge.data?.name, error: forge.error, list: 'Forges', place: '/forges' }}
    />
  );
}

interface OneDeliveryProps {
  log: DeliveryLog;
  did: string;
  /** What the delivery was sent to. Its name is undefined during the first request, and after an error. */
  to: { noun: string; name: string | undefined; error: unknown; list: string; place: string };
  children?: ReactNode;
}

function OneDelivery({ log, did, to, children }: OneDeliveryProps) {
  const delivery = useQuery({ ...deliveryQuery(log, did), ...live(10) });
  const found = delivery.data;
  const { noun, name, error, list, place } = to;
  return (
    <Page
      title="Delivery"
      heading={<>Delivery {found && <Status tone={toneOf(found)}>{found.label}</Status>}</>}
      actions={
        <span>
          <span className="mono" style={{ overflowWrap: 'anywhere' }}>
            {did}
          </span>{' '}
          <CopyButton value={did} label="Copy the ID" />
        </span>
      }
    >
      {children}
      <div hidden={!found}>
        To{' '}
        <Anchor component={Link} {...log.page} search={{} as never}>
          {name ?? `its ${noun}`}
        </Anchor>
        {found && (
          <>
            , <Time at={found.received_at} />
          </>
        )}
      </div>
      {(name !== undefined || !error) && (
        <Failure
          error={delivery.error}
          retry={() => void delivery.refetch()}
          wanted={{
            noun: 'delivery',
            list: `the deliveries of the ${noun}`,
            to: log.factory === undefined ? `/forges/${log.uid}` : `/factory/${log.factory}/webhooks/${log.uid}`,
          }}
        />
      )}
      <Failure error={error} wanted={{ noun, list, to: place }} />
      {found && <DeliveryDetail delivery={found} log={log} key={did} />}
    </Page>
  );
}
