import type { Webhook } from '@penstock/sdk';
import type { Tone } from '../../states.ts';

/** Whether a webhook takes deliveries, and if not, why. */
export function stateOf(webhook: Pick<Webhook, 'enabled' | 'suspended' | 'pending_secret'>): { tone: Tone; word: string; detail: string } {
  if (webhook.pending_secret) {
    return { tone: 'warn', word: 'Waits for its secret', detail: 'Its sender gets 404 until the secret is entered.' };
  }
  if (!webhook.enabled) {
    return { tone: 'calm', word: 'Off', detail: 'Its sender gets 404.' };
  }
  if (webhook.suspended) {
    return { tone: 'warn', word: 'Suspended', detail: 'Its sender gets 404 until it is resumed.' };
  }
  return { tone: 'good', word: 'On', detail: 'It takes deliveries.' };
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
