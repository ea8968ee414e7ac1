import type { Delivery, ListDeliveriesQuery } from '@penstock/sdk';
import { firstOf, type Params } from '../../search.ts';
import type { Tone } from '../../states.ts';

export type OutcomeFilter = NonNullable<ListDeliveriesQuery['outcome']>;

/** What the log can be narrowed to; a name of the address is one of the API. */
export const outcomes: readonly { value: OutcomeFilter | undefined; label: string }[] = [
  { value: undefined, label: 'All' },
  { value: 'accepted', label: 'Accepted' },
  { value: 'duplicate', label: 'Duplicate' },
  { value: 'rejected', label: 'Rejected' },
  { value: 'rejected_auth', label: 'Rejected (auth)' },
  { value: 'rejected_json', label: 'Rejected (invalid JSON)' },
  { value: 'rejected_size', label: 'Rejected (too large)' },
];

/** What the address asks of the log; an outcome that there is not is passed over. */
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
  delivery_id_header: 'from its header',
  provider: 'from the sender',
  x_penstock_delivery_id: 'from X-Penstock-Delivery-Id',
  body_hash: 'hash of the body',
  replay: 'replay',
  none: 'none',
};

/** Where the id comes from that tells a delivery from others. */
export function identityOf(delivery: Pick<Delivery, 'identity_source'>): string {
  return sources[delivery.identity_source] ?? delivery.identity_source;
}

const reasons: Record<string, string> = {
  missing_header: 'The header with the credential or signature is missing.',
  bad_format: 'The signature header does not have the format of the sender’s scheme.',
  stale: 'The timestamp of the signature is too old: an old delivery was sent again, or a clock is slow.',
  future: 'The timestamp of the signature is in the future: a clock is wrong.',
  mismatch: 'The secret or signature does not match.',
  no_secret: 'The webhook has no secret.',
  invalid_json: 'The body is not one JSON value in UTF-8.',
  content_encoding: 'The body is compressed, which is not allowed.',
  replayed_signature: 'The same signed bytes were accepted before with another delivery ID.',
  handshake: 'Its sender only checked the URL, so no run starts.',
};

/** Why a delivery became what it is, where there is more to say. */
export function reasonOf(delivery: Pick<Delivery, 'reason'>): string | undefined {
  return delivery.reason && (reasons[delivery.reason] ?? delivery.reason);
}
