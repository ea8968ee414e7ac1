import type { Factory, Webhook } from '@penstock/sdk';
import { client } from '../../api.ts';
import { EnabledSwitch } from '../../ui/EnabledSwitch.tsx';
import { Status } from '../../ui/Status.tsx';
import { troubleOf } from './state.ts';

/**
 * Switches a webhook off and on. In a factory that comes from a repository the files have `enabled`: there the webhook is suspended and
 * resumed instead, which is no part of the files.
 */
export function EnableWebhook({ webhook, factory, bare = false }: { webhook: Webhook; factory: Factory | undefined; bare?: boolean }) {
  const files = factory?.source === 'repository';
  const stuck = files && !webhook.enabled;
  const change = (on: boolean): Promise<unknown> =>
    client.webhooks.update(factory?.uid ?? '', webhook.uid, {
      ...(files || webhook.enabled === on ? {} : { enabled: on }),
      ...(on && webhook.suspended ? { suspended: false } : {}),
      ...(!on && files ? { suspended: true } : {}),
    });
  const trouble = bare && troubleOf(webhook);
  return (
    <EnabledSwitch
      name={webhook.label || webhook.name}
      on={webhook.enabled && !webhook.suspended && !webhook.pending_secret}
      disabled={!factory || webhook.pending_secret || stuck}
      title={stuck ? 'Disabled in the files of its repository' : files ? 'Suspends it; its files stay as they are' : undefined}
      change={change}
      stale={[['webhooks'], ['webhook', webhook.uid]]}
      bare={bare}
    >
      {trouble && <Status tone="warn">{trouble}</Status>}
    </EnabledSwitch>
  );
}
