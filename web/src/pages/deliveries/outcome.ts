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
  { value: 'rejected_auth', label: 'Auth' },
  { value: 'rejected_json', label: 'Invalid JSON' },
  { value: 'rejected_size', label: 'Too large' },
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
  delivery_id_header: 'its own header',
  provider: 'the sender’s own id',
  x_penstock_delivery_id: 'X-Penstock-Delivery-Id',
  body_hash: 'the hash of its body',
  replay: 'replay',
  none: 'nothing',
};

/** By what a delivery is told from others, in words. */
export function identityOf(delivery: Pick<Delivery, 'identity_source'>): string {
  return sources[delivery.identity_source] ?? delivery.identity_source;
}

const reasons: Record<string, string> = {
  missing_header: 'The header with the credential or signature is missing.',
  bad_format: 'The signature header is not laid out as the sender’s scheme says.',
  stale: 'The time of the signature is too long ago: an old delivery sent again, or a clock that is behind.',
  future: 'The time of the signature is ahead: a clock that is wrong.',
  mismatch: 'The secret or signature is another one.',
  no_secret: 'The webhook has no secret.',
  invalid_json: 'The body is not one JSON value in UTF-8.',
  content_encoding: 'The body is compressed, which deliveries must not be.',
  replayed_signature: 'The same signed bytes were accepted before under another id.',
  handshake: 'Its sender only checked the URL; nothing is started.',
};

/** Why a delivery became what it is, where there is more to say. */
export function reasonOf(delivery: Pick<Delivery, 'reason'>): string | undefined {
  return delivery.reason && (reasons[delivery.reason] ?? delivery.reason);
}
