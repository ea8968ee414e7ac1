import type { CreateWebhookRequest, Known, Signature, SignaturePreset, SignatureScheme } from '@penstock/sdk';

/** A new webhook during editing. */
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
    facts.push(`The timestamp can differ from the server’s clock by up to ${form.tolerance_seconds} s.`);
  }
  const id = form.id_header ? `the header ${form.id_header}` : form.id_body ? `${form.id_body} in the body` : undefined;
  facts.push(id ? `The delivery ID comes from ${id}.` : 'Deliveries have no ID. Two deliveries with the same body are duplicates.');
  return facts;
}

/** Whether somebody could send the same signed bytes with another ID, so that a replay guard is useful. */
export function wantsGuard(preset: SignaturePreset | undefined, deliveryIdHeader = ''): boolean {
  return deliveryIdHeader.trim() !== '' || (preset?.forms.some((form) => !form.id_signed) ?? true);
}
