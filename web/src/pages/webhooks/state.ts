import type { Webhook } from '@penstock/sdk';

/** Why a webhook refuses deliveries though nobody has disabled it; its sender gets 404. */
export function troubleOf(webhook: Pick<Webhook, 'enabled' | 'suspended' | 'pending_secret'>): string | undefined {
  if (webhook.pending_secret) {
    return 'Waiting for its secret';
  }
  return webhook.enabled && webhook.suspended ? 'Suspended' : undefined;
}

/** How deliveries show that they are the sender's, in words. */
export function authenticationOf(webhook: Pick<Webhook, 'auth_mode' | 'signature_scheme'>, sender?: string): string {
  switch (webhook.auth_mode) {
    case 'token':
      return 'Bearer token';
    case 'url_token':
      return 'Token in the URL';
    case 'signature':
      return `Signature: ${webhook.signature_scheme === 'custom_hmac' ? 'custom HMAC' : (sender ?? webhook.signature_scheme ?? '')}`;
    default:
      return webhook.auth_mode;
  }
}
