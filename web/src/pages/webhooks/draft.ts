import type { CreateWebhookRequest, Known, Signature, SignaturePreset, SignatureScheme } from '@penstock/sdk';

/** What is typed of a webhook that is being made. */
export interface Draft {
  name: string;
  mode: 'token' | 'url_token' | 'signature';
  scheme: string;
  secret: string;
  secretName: string;
  deliveryIdHeader: string;
  signature: Signature;
  replayGuard: boolean;
  immediate: boolean;
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
  immediate: false,
  enabled: true,
};

/** The request that a draft stands for; what was left empty is the server's to decide. */
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
    ...(draft.immediate ? { secret_refresh: 'immediate' as const } : {}),
    ...(draft.enabled ? {} : { enabled: false }),
  };
}

function signatureOf({ scheme, signature }: Draft): Signature | undefined {
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

/** What one should know of a scheme beside where its secret is, in sentences. */
export function factsOf(preset: SignaturePreset): string[] {
  const [form] = preset.forms;
  if (!form) {
    return [];
  }
  const facts = [
    `Signs with the header ${preset.forms
      .map(({ header }) => header)
      .filter((one, i, all) => all.indexOf(one) === i)
      .join(' or ')}.`,
  ];
  if (form.tolerance_seconds) {
    facts.push(`Its time may be ${form.tolerance_seconds} s from the server’s, both ways.`);
  }
  const id = form.id_header ? `the header ${form.id_header}` : form.id_body ? `${form.id_body} in the body` : undefined;
  facts.push(id ? `Deliveries are told apart by ${id}.` : 'It gives deliveries no id: equal bodies are duplicates.');
  return facts;
}

/** Whether the same signed bytes could be sent again under another id, so that a guard makes sense. */
export function wantsGuard(preset: SignaturePreset | undefined, deliveryIdHeader = ''): boolean {
  return deliveryIdHeader.trim() !== '' || (preset?.forms.some((form) => !form.id_signed) ?? true);
}
