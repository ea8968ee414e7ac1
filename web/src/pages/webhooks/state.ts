import type { Webhook } from '@penstock/sdk';

/** Why an enabled webhook rejects deliveries with 404, or undefined. */
export function troubleOf(webhook: Pick<Webhook, 'enabled' | 'suspended' | 'pending_secret'>): string | undefined {
  if (webhook.pending_secret) {
    return 'Secret missing';
  }
  return webhook.enabled && webhook.suspended ? 'Suspended' : undefined;
}

/** The name of a webhook's authentication. */
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
