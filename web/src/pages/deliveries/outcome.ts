import type { Delivery, ListDeliveriesQuery } from '@penstock/sdk';
import { firstOf, type Params } from '../../search.ts';
import type { Tone } from '../../states.ts';

export type OutcomeFilter = NonNullable<ListDeliveriesQuery['outcome']>;

/** The filters of the log. The URL uses the values of the API. */
export const outcomes: readonly { value: OutcomeFilter | undefined; label: string }[] = [
  { value: undefined, label: 'All' },
  { value: 'accepted', label: 'Accepted' },
  { value: 'duplicate', label: 'Duplicate' },
  { value: 'rejected', label: 'Rejected' },
  { value: 'rejected_auth', label: 'Rejected (auth)' },
  { value: 'rejected_json', label: 'Rejected (invalid JSON)' },
  { value: 'rejected_size', label: 'Rejected (too large)' },
];

/** The filter in the URL. An unknown outcome is ignored. */
export function queryOf(search: Params): ListDeliveriesQuery {
  const outcome = outcomes.find(({ value }) => value !== undefined && value === firstOf(search.outcome))?.value;
  const cursor = firstOf(search.cursor);
  return { limit: 50, ...(outcome ? { outcome } : {}), ...(cursor ? { cursor } : {}) };
}

export function toneOf(delivery: Pick<Delivery, 'outcome'>): Tone {
  if (delivery.outcome === 'accepted') {
    return 'good';
  }
  return delivery.outcome === 'duplicate' ? 'calm' : 'bad';
}

const sources: Record<string, string> = {
  delivery_id_header: 'from the configured header',
  provider: 'from the sender',
  x_penstock_delivery_id: 'from X-Penstock-Delivery-Id',
  body_hash: 'hash of the body',
  replay: 'replay',
  none: 'none',
};

/** The source of a delivery's ID. */
export function identityOf(delivery: Pick<Delivery, 'identity_source'>): string {
  return sources[delivery.identity_source] ?? delivery.identity_source;
}

const reasons: Record<string, string> = {
  missing_header: 'The header with the credential or signature is missing.',
  bad_format: 'The signature header does not have the format that this sender uses.',
  stale: 'The timestamp of the signature is too old. Somebody sent an old delivery again, or a clock is wrong.',
  future: 'The timestamp of the signature is in the future. A clock is wrong.',
  mismatch: 'The secret or signature does not match.',
  no_secret: 'The webhook has no secret.',
  invalid_json: 'The body is not one JSON value in UTF-8.',
  content_encoding: 'The body is compressed. Webhooks accept only uncompressed bodies.',
  replayed_signature: 'The webhook has already accepted the same signed bytes with another delivery ID.',
  handshake: 'The sender only checked the URL, so no run started.',
};

/** Explains the outcome of a delivery, if there is more to say. */
export function reasonOf(delivery: Pick<Delivery, 'reason'>): string | undefined {
  return delivery.reason && (reasons[delivery.reason] ?? delivery.reason);
}
