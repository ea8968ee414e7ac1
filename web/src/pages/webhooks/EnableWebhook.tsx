import type { Factory, Webhook } from '@penstock/sdk';
import { client } from '../../api.ts';
import { EnabledSwitch } from '../../ui/EnabledSwitch.tsx';
import { Status } from '../../ui/Status.tsx';
import { troubleOf } from './state.ts';

/**
 * Enables or disables a webhook. If its factory comes from a repository, `enabled` is in the files, so the switch suspends and resumes the webhook
 * instead.
 */
export function EnableWebhook({ webhook, factory, bare = false }: { webhook: Webhook; factory: Factory | undefined; bare?: boolean }) {
  const files = factory?.source === 'repository';
  const stuck = files && !webhook.enabled;
  const change = (on: boolean): Promise<unknown> =>
    // All fields, whatever the webhook is: it may be older than the last change.
    client.webhooks.update(
      factory?.uid ?? '',
      webhook.uid,
      files ? { suspended: !on } : { enabled: on, ...(on ? { suspended: false } : {}) },
    );
  const trouble = bare && troubleOf(webhook);
  return (
    <EnabledSwitch
      name={webhook.label || webhook.name}
      on={webhook.enabled && !webhook.suspended && !webhook.pending_secret}
      disabled={!factory || webhook.pending_secret || stuck}
      title={stuck ? 'Disabled in the files of its repository' : files ? 'Suspends the webhook. Its file does not change.' : undefined}
      change={change}
      stale={[['webhooks'], ['webhook', webhook.uid]]}
      bare={bare}
    >
      {trouble && <Status tone="warn">{trouble}</Status>}
    </EnabledSwitch>
  );
}
