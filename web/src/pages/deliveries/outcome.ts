import type { Delivery, DeliveryMatch, ListDeliveriesQuery } from '@penstock/sdk';
import { firstOf, type Params } from '../../search.ts';
import { type Tone, wordOfFate } from '../../states.ts';

export type OutcomeFilter = NonNullable<ListDeliveriesQuery['outcome']>;

/** The filters of the log, as they are in the URL. Names and values match the API. */
export const filters: readonly { label: string; search: { outcome?: OutcomeFilter; no_run?: 'true' } }[] = [
  { label: 'All', search: {} },
  { label: 'Accepted', search: { outcome: 'accepted' } },
  { label: 'No run', search: { no_run: 'true' } },
  { label: 'Duplicate', search: { outcome: 'duplicate' } },
  { label: 'Rejected', search: { outcome: 'rejected' } },
  { label: 'Rejected (auth)', search: { outcome: 'rejected_auth' } },
  { label: 'Rejected (invalid JSON)', search: { outcome: 'rejected_json' } },
  { label: 'Rejected (too large)', search: { outcome: 'rejected_size' } },
];

/** The filter in the URL. An unknown one is ignored. */
export function filterOf(search: Params) {
  const [outcome, noRun] = [firstOf(search.outcome), firstOf(search.no_run)];
  return filters.find((one) => one.search.outcome === outcome && one.search.no_run === noRun) ?? { label: 'All', search: {} };
}

/** The outcomes that a webhook counts. */
export const outcomeNames = {
  accepted: 'Accepted',
  duplicate: 'Duplicate',
  rejected: 'Rejected',
  rate_limited: 'Rate limited',
  turned_away: 'Turned away',
} as const;

/** The filters beside the outcome, as they are in the URL: a text of the payload, and times. */
const narrowing = ['search', 'received_after', 'received_before'] as const;

export type Narrowing = Partial<Record<(typeof narrowing)[number], string>>;

/** The filters of a search beside the outcome. */
export function narrowingOf(search: Params): Narrowing {
  return Object.fromEntries(narrowing.flatMap((name) => (firstOf(search[name]) ? [[name, firstOf(search[name])]] : [])));
}

/** The filters of the log in the URL, without the page. */
export function logSearchOf(search: Params) {
  return { ...filterOf(search).search, ...narrowingOf(search) };
}

/** The query of the log. */
export function queryOf(search: Params): ListDeliveriesQuery {
  const { no_run, ...query } = logSearchOf(search) as ReturnType<typeof logSearchOf> & (typeof filters)[number]['search'];
  const cursor = firstOf(search.cursor);
  return { limit: 50, ...query, ...(no_run ? { no_run: true } : {}), ...(cursor ? { cursor } : {}) };
}

/** Whether a delivery has a payload that automations can evaluate again. */
export function isReplayable(delivery: Pick<Delivery, 'outcome' | 'reason'>): boolean {
  return delivery.outcome === 'accepted' && delivery.reason !== 'handshake';
}

export function toneOf(delivery: Pick<Delivery, 'outcome'>): Tone {
  if (delivery.outcome === 'accepted') {
    return 'good';
  }
  return delivery.outcome === 'duplicate' ? 'calm' : 'bad';
}

/** Why nothing became of a delivery, if that is one sentence: of the whole delivery, or the same for each automation. */
export function whyOf({ detail, advice, matches, runs }: Pick<Delivery, 'detail' | 'advice' | 'matches' | 'runs'>): string | undefined {
  const [first, ...others] = matches;
  if (!first) {
    return detail ?? advice;
  }
  const same = runs.length === 0 && !first.fate && others.every(({ reason }) => reason === first.reason);
  return same ? first.reason : undefined;
}

/** What became of a delivery for one automation: its fate, if it is about a subject. */
export function outcomeOf({ would_trigger, failed_at, fate }: DeliveryMatch): { word: string; tone: Tone } {
  if (fate) {
    return wordOfFate(fate);
  }
  return would_trigger ? { word: 'Fired', tone: 'good' } : { word: 'Did not fire', tone: failed_at === 'automation' ? 'bad' : 'calm' };
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
  no_secret: 'There is no secret.',
  invalid_json: 'The body is not valid JSON in UTF-8.',
  content_encoding: 'The body is compressed. Webhooks accept only uncompressed bodies.',
  form: 'The body is a form, not JSON.',
  setup_ping: 'The sender only checked the URL, without a signature.',
  replayed_signature: 'The same signed bytes were already accepted with another delivery ID.',
  handshake: 'The sender only checked the URL, so no run started.',
};

/** Explains the outcome of a delivery, if there is more to say. */
export function reasonOf(delivery: Pick<Delivery, 'reason'>): string | undefined {
  return delivery.reason && (reasons[delivery.reason] ?? delivery.reason);
}
