import type { EndpointAttempt, EventEndpoint } from '@penstock/sdk';
import type { Tone } from '../../states.ts';

/** What people call an endpoint. */
export function nameOf(endpoint: EventEndpoint): string {
  return endpoint.description || endpoint.url;
}

/** What an endpoint does. */
export function stateOf(endpoint: EventEndpoint): { tone: Tone; word: string } {
  if (!endpoint.enabled) {
    return endpoint.disabled_reason ? { tone: 'bad', word: 'Disabled' } : { tone: 'calm', word: 'Disabled' };
  }
  return endpoint.stats.failing_since ? { tone: 'warn', word: 'Failing' } : { tone: 'good', word: 'Enabled' };
}

/** What came of an attempt: its status, and why it failed. */
export function resultOf({ http_status, error, answer, succeeded }: EndpointAttempt): string {
  const text = error || (succeeded ? '' : answer);
  return [http_status, text].filter(Boolean).join(': ');
}
