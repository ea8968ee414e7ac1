import { Button } from '@mantine/core';
import type { Factory, Webhook } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { factoryQuery, webhookQuery } from '../../queries.ts';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { Status } from '../../ui/Status.tsx';
import { FactoryParts } from '../factories/FactoryParts.tsx';
import { DeleteWebhook } from './DeleteWebhook.tsx';
import { EditElsewhere } from './EditElsewhere.tsx';
import { EnableWebhook } from './EnableWebhook.tsx';
import { FinishSetup } from './FinishSetup.tsx';
import { troubleOf } from './state.ts';
import { WebhookDeliveries } from './WebhookDeliveries.tsx';
import { WebhookFacts } from './WebhookFacts.tsx';

const EditWebhook = lazy(() => import('./EditWebhook.tsx'));
const RotateSecret = lazy(() => import('./RotateSecret.tsx'));
const VerifyRequest = lazy(() => import('./VerifyRequest.tsx'));

/** Shows a webhook and its delivery log. */
export function WebhookPage() {
  const { uid, wuid } = useParams({ from: '/app/factory/$uid/webhooks/$wuid' });
  const factory = useQuery({ ...factoryQuery(uid), staleTime: 30_000 });
  const webhook = useQuery({ ...webhookQuery(uid, wuid), ...live(5) });
  const { data: session } = useQuery(sessionQuery);
  const hook = webhook.data;
  const trouble = hook && troubleOf(hook);
  return (
    <Page
      title={hook?.label ?? 'Webhook'}
      heading={
        <>
          {hook?.label ?? 'Webhook'} {trouble && <Status tone="warn">{trouble}</Status>}
        </>
      }
      actions={hook && may(session?.scopes, 'factories:manage') && <Actions webhook={hook} factory={factory.data} />}
    >
      {/* Below the buttons, which a narrow screen wraps once they are there. */}
      {(hook || webhook.error) && <FactoryParts uid={uid} part="Webhooks" />}
      {(factory.data || !factory.error) && (
        <Failure
          error={webhook.error ?? factory.error}
          retry={() => void webhook.refetch()}
          wanted={{ noun: 'webhook', list: 'Webhooks', to: '/webhooks' }}
        />
      )}
      {hook && (
        <>
          <EditElsewhere factory={factory.data} file={`webhooks/${hook.name}.yaml`} />
          <WebhookFacts webhook={hook} />
        </>
      )}
      {/* Read at once, shown below the rest when that is there: so it does not move. */}
      {(hook || !webhook.error) && (
        <div hidden={!hook}>
          <WebhookDeliveries factory={uid} webhook={wuid} hook={hook} />
        </div>
      )}
    </Page>
  );
}

function Actions({ webhook, factory }: { webhook: Webhook; factory: Factory | undefined }) {
  const [dialog, setDialog] = useState<'edit' | 'rotate' | 'finish' | 'verify' | 'delete'>();
  const close = (): void => setDialog(undefined);
  const uid = factory?.uid ?? '';
  return (
    <>
      <EnableWebhook webhook={webhook} factory={factory} />
      {webhook.pending_secret ? (
        <Button onClick={() => setDialog('finish')} disabled={!factory}>
          Finish setup
        </Button>
      ) : (
        <Button variant="default" onClick={() => setDialog('rotate')} disabled={!factory}>
          Rotate secret
        </Button>
      )}
      {webhook.auth_mode !== 'url_token' && (
        <Button variant="default" onClick={() => setDialog('verify')} disabled={!factory}>
          Verify a request
        </Button>
      )}
      {factory && factory.source !== 'repository' && (
        <>
          <Button variant="default" onClick={() => setDialog('edit')}>
            Edit
          </Button>
          <Button variant="default" onClick={() => setDialog('delete')}>
            Delete
          </Button>
        </>
      )}
      {dialog === 'finish' && <FinishSetup webhook={webhook} factory={uid} close={close} />}
      <Suspense>
        {dialog === 'edit' && <EditWebhook webhook={webhook} factory={uid} close={close} />}
        {dialog === 'rotate' && <RotateSecret webhook={webhook} factory={uid} close={close} />}
        {dialog === 'verify' && <VerifyRequest webhook={webhook} factory={uid} close={close} />}
      </Suspense>
      {dialog === 'delete' && <DeleteWebhook webhook={webhook} factory={uid} close={close} />}
    </>
  );
}
