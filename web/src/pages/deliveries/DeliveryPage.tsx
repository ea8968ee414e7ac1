import { Anchor } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { live } from '../../live.ts';
import { deliveryQuery, webhookQuery } from '../../queries.ts';
import { CopyButton } from '../../ui/CopyButton.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { FactoryParts } from '../factories/FactoryParts.tsx';
import { DeliveryDetail } from './DeliveryDetail.tsx';
import { toneOf } from './outcome.ts';

/** Shows one delivery. Runs link to the delivery that started them. */
export function DeliveryPage() {
  const { uid, wuid, did } = useParams({ from: '/app/factory/$uid/webhooks/$wuid/deliveries/$did' });
  const delivery = useQuery({ ...deliveryQuery(uid, wuid, did), ...live(10) });
  const webhook = useQuery(webhookQuery(uid, wuid));
  const found = delivery.data;
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
      <FactoryParts uid={uid} part="Webhooks" />
      <div hidden={!found}>
        To{' '}
        <Anchor component={Link} to="/factory/$uid/webhooks/$wuid" params={{ uid, wuid } as never} search={{} as never}>
          {webhook.data?.label ?? 'its webhook'}
        </Anchor>
        {found && (
          <>
            , <Time at={found.received_at} />
          </>
        )}
      </div>
      {(webhook.data || !webhook.error) && (
        <Failure
          error={delivery.error}
          retry={() => void delivery.refetch()}
          wanted={{ noun: 'delivery', list: 'the deliveries of the webhook', to: `/factory/${uid}/webhooks/${wuid}` }}
        />
      )}
      <Failure error={webhook.error} wanted={{ noun: 'webhook', list: 'Webhooks', to: '/webhooks' }} />
      {found && <DeliveryDetail delivery={found} factory={uid} key={did} />}
    </Page>
  );
}
