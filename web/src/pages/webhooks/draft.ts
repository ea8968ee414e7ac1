import type {
  CreateWebhookRequest,
  Known,
  Signature,
  SignaturePreset,
  SignatureScheme,
  UpdateWebhookRequest,
  Webhook,
} from '@penstock/sdk';

/** The settings of a webhook that can change later. */
export interface Settings {
  deliveryIdHeader: string;
  replayGuard: boolean;
  /** Such as 20h; empty for the setting of the server. */
  dedupBodyWindow: string;
  retryUnmatched: boolean;
  setupPings: boolean;
  immediate: boolean;
  signature: Signature;
}

/** A new webhook during editing. */
export interface Draft extends Settings {
  name: string;
  mode: 'token' | 'url_token' | 'signature';
  scheme: string;
  secret: string;
  secretName: string;
  enabled: boolean;
}

export const emptyDraft: Draft = {
  name: '',
  mode: 'token',
  scheme: 'github',
  secret: '',
  secretName: '',
  deliveryIdHeader: '',
  signature: { header: '', prefix: '', hash: 'sha256', encoding: 'hex', key_form: 'text', template: '{body}', timestamp_header: '' },
  replayGuard: false,
  dedupBodyWindow: '',
  retryUnmatched: false,
  setupPings: false,
  immediate: false,
  enabled: true,
};

/** A sender to choose from: a known one by its scheme, or any sender by how it authenticates. */
export interface Sender {
  value: string;
  label: string;
}

/** The senders that do not need a scheme of their own. */
const anySender: readonly Sender[] = [
  { value: 'token', label: 'Any sender, with a bearer token' },
  { value: 'url_token', label: 'Any sender, with a token in the URL' },
  { value: 'custom_hmac', label: 'Any sender, with its own signature' },
];

/** The senders in two groups. */
export function sendersOf(schemes: readonly SignaturePreset[]): { group: string; items: Sender[] }[] {
  const known = schemes.filter(({ scheme }) => scheme !== 'custom_hmac').map(({ scheme, sender }) => ({ value: scheme, label: sender }));
  return [
    { group: 'Any sender', items: [...anySender] },
    { group: 'Known senders', items: known },
  ];
}

/** The sender of a draft, as a value of {@link sendersOf}. */
export const senderOf = ({ mode, scheme }: Draft): string => (mode === 'signature' ? scheme : mode);

/** The senders that take a secret of the user's choice, so that one can be generated here. */
const choosable = ['github', 'gitlab', 'bitbucket', 'jira', 'typeform', 'circleci', 'calendly', 'grafana'];

/** Whether the sender takes any secret. */
export const takesAnySecret = (scheme: string): boolean => choosable.includes(scheme);

/** A secret of 24 random bytes, as in a token. */
export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_');
}

/** Chooses a sender. A name that the user has not entered becomes the name of the sender, and its
 * secret is generated if the sender takes any. */
export function withSender(draft: Draft, value: string, schemes: readonly SignaturePreset[]): Draft {
  const nameOf = (sender: string): string => schemes.find(({ scheme }) => scheme === sender && scheme !== 'custom_hmac')?.sender ?? '';
  const signs = value !== 'token' && value !== 'url_token';
  return {
    ...draft,
    mode: signs ? 'signature' : value,
    ...(signs ? { scheme: value } : {}),
    secret: takesAnySecret(value) ? newSecret() : '',
    ...(draft.name.trim() === '' || draft.name === nameOf(senderOf(draft)) ? { name: nameOf(value) } : {}),
  };
}

/** The request of a draft. For empty fields, the server decides. */
export function requestOf(draft: Draft): CreateWebhookRequest {
  const signs = draft.mode === 'signature';
  const signature = signs ? signatureOf(draft) : undefined;
  return {
    name: draft.name.trim(),
    auth_mode: draft.mode,
    ...(signs ? { signature_scheme: draft.scheme as Known<SignatureScheme> } : {}),
    ...(signature ? { signature } : {}),
    ...(signs && draft.secret ? { secret: draft.secret } : {}),
    ...(draft.secretName.trim() ? { secret_name: draft.secretName.trim() } : {}),
    ...(draft.deliveryIdHeader.trim() ? { delivery_id_header: draft.deliveryIdHeader.trim() } : {}),
    ...(signs && draft.replayGuard ? { replay_guard: true } : {}),
    ...(draft.dedupBodyWindow.trim() ? { dedup_body_window: draft.dedupBodyWindow.trim() } : {}),
    ...(draft.retryUnmatched ? { retry_unmatched: true } : {}),
    ...(signs && draft.setupPings ? { setup_pings: true } : {}),
    ...(draft.immediate ? { secret_refresh: 'immediate' as const } : {}),
    ...(draft.enabled ? {} : { enabled: false }),
  };
}

/** The settings of an existing webhook. */
export function settingsOf(webhook: Webhook): Settings {
  return {
    deliveryIdHeader: webhook.delivery_id_header ?? '',
    replayGuard: webhook.replay_guard,
    dedupBodyWindow: webhook.dedup_body_window ?? '',
    retryUnmatched: webhook.retry_unmatched,
    setupPings: webhook.setup_pings,
    immediate: webhook.secret_refresh === 'immediate',
    signature: webhook.signature ?? {},
  };
}

/** The request for the settings that changed. */
export function changeOf(scheme: string | undefined, before: Settings, after: Settings): UpdateWebhookRequest {
  const signature = signatureOf({ scheme: scheme ?? '', signature: after.signature }) ?? {};
  const same = JSON.stringify(after.signature) === JSON.stringify(before.signature);
  return {
    ...(after.deliveryIdHeader.trim() === before.deliveryIdHeader ? {} : { delivery_id_header: after.deliveryIdHeader.trim() }),
    ...(after.replayGuard === before.replayGuard ? {} : { replay_guard: after.replayGuard }),
    ...(after.dedupBodyWindow.trim() === before.dedupBodyWindow ? {} : { dedup_body_window: after.dedupBodyWindow.trim() }),
    ...(after.retryUnmatched === before.retryUnmatched ? {} : { retry_unmatched: after.retryUnmatched }),
    ...(after.setupPings === before.setupPings ? {} : { setup_pings: after.setupPings }),
    ...(after.immediate === before.immediate ? {} : { secret_refresh: after.immediate ? ('immediate' as const) : ('apply' as const) }),
    ...(same ? {} : { signature }),
  };
}

function signatureOf({ scheme, signature }: Pick<Draft, 'scheme' | 'signature'>): Signature | undefined {
  const timestamp = signature.timestamp_header?.trim();
  if (scheme === 'grafana') {
    return timestamp ? { timestamp_header: timestamp } : undefined;
  }
  if (scheme !== 'custom_hmac') {
    return undefined;
  }
  const { prefix, timestamp_header: _, ...rest } = signature;
  return { ...rest, ...(prefix ? { prefix } : {}), ...(timestamp ? { timestamp_header: timestamp } : {}) };
}

/** The name of the managed secret that the server would choose. */
export function secretNameOf(name: string): string {
  const folded = name
    .trim()
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_');
  return folded ? `${folded}_WEBHOOK_SECRET` : 'NAME_WEBHOOK_SECRET';
}

/** Sentences about a signature scheme. */
export function factsOf(preset: SignaturePreset): string[] {
  const [form] = preset.forms;
  if (!form) {
    return [];
  }
  const facts = [
    `The signature is in the header ${preset.forms
      .map(({ header }) => header)
      .filter((one, i, all) => all.indexOf(one) === i)
      .join(' or ')}.`,
  ];
  if (form.tolerance_seconds) {
    const old = form.max_age_seconds ? ` A retry can be up to ${form.max_age_seconds / 3600} h old. The same bytes count once.` : '';
    facts.push(`The timestamp can differ from the server’s clock by up to ${form.tolerance_seconds} s.${old}`);
  }
  const id = form.id_header ? `the header ${form.id_header}` : form.id_body ? `${form.id_body} in the body` : undefined;
  facts.push(id ? `The delivery ID comes from ${id}.` : 'Deliveries have no ID. Two deliveries with the same body are duplicates.');
  return facts;
}

/** Whether somebody could send the same signed bytes with another ID, so that a replay guard is useful. */
export function wantsGuard(preset: SignaturePreset | undefined, deliveryIdHeader = ''): boolean {
  return deliveryIdHeader.trim() !== '' || (preset?.forms.some((form) => !form.id_signed) ?? true);
}
