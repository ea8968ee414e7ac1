import type { SignatureForm, SignaturePreset, Webhook } from '@penstock/sdk';
import { quote } from '../../ui/curl.ts';

/** A placeholder for the secret, which only the reader knows. */
const unknownSecret = 'YOUR-SECRET';

/**
 * The command that sends a first delivery to a webhook as its sender would. Undefined if a shell cannot sign: with a private key, or over headers
 * that only the sender knows.
 */
export function firstDelivery(webhook: Webhook, preset: SignaturePreset | undefined): string | undefined {
  const secret = webhook.secret ?? unknownSecret;
  const send = (...headers: string[]): string =>
    [
      `curl ${quote(webhook.ingress_url.replace('{token}', secret))}`,
      ...headers.map((header) => `-H ${header}`),
      `-H 'Content-Type: application/json'`,
    ].join(' \\\n  ');
  const hello = `-d '{"hello": "world"}'`;
  if (webhook.auth_mode === 'token') {
    return `${send(quote(`Authorization: Bearer ${secret}`))} \\\n  ${hello}`;
  }
  if (webhook.auth_mode === 'url_token') {
    return `${send()} \\\n  ${hello}`;
  }
  const form = formOf(webhook, preset, secret);
  if (form?.algorithm === 'token') {
    return `${send(quote(`${form.header}: ${secret}`))} \\\n  ${hello}`;
  }
  return form && canSign(form) ? signed(webhook, form, secret, send) : undefined;
}

/** The first signature layout that works with the secret. */
function formOf(webhook: Webhook, preset: SignaturePreset | undefined, secret: string): SignatureForm | undefined {
  if (webhook.signature_scheme === 'custom_hmac') {
    const { header, timestamp_header } = webhook.signature ?? {};
    const unit = timestamp_header ? { timestamp_unit: 's' as const } : {};
    const derived = { headers: [], time_signed: false, id_signed: false };
    return header ? ({ ...webhook.signature, ...unit, ...derived, header, algorithm: 'hmac' } as SignatureForm) : undefined;
  }
  const forms = preset?.forms ?? [];
  const grafana = webhook.signature?.timestamp_header;
  if (grafana && forms[0]) {
    return { ...forms[0], timestamp_header: grafana, timestamp_unit: 's', template: '{timestamp}:{body}' };
  }
  const isWhsec = secret.startsWith('whsec_');
  return (
    forms.find((form) => (form.algorithm === 'token' ? !isWhsec : form.key_form !== 'whsec' || isWhsec || forms.length === 1)) ?? forms[0]
  );
}

function canSign(form: SignatureForm): boolean {
  return form.algorithm === 'hmac' && !form.signed_headers && !/\{signed_headers\}/.test(form.template ?? '');
}

/** The shell command for each unit of a timestamp. */
const clocks: Record<string, string> = {
  s: 'date +%s',
  ms: 'echo "$(date +%s)000"',
  rfc3339: 'date -u +%Y-%m-%dT%H:%M:%SZ',
  any: 'date +%s',
};

function signed(webhook: Webhook, form: SignatureForm, secret: string, send: (...headers: string[]) => string): string {
  const idHeader = /\{header:([^}]+)\}/.exec(form.template ?? '')?.[1];
  const lines = [`secret=${quote(secret)}`];
  if (form.timestamp_unit) {
    lines.push(`timestamp=$(${clocks[form.timestamp_unit] ?? clocks.s})`);
  }
  if (idHeader) {
    lines.push('id=first-$(date +%s)');
  }
  lines.push(
    form.timestamp_body ? `body=${word([`{"${form.timestamp_body}": `, { name: 'timestamp' }, '}'])}` : `body='{"hello": "world"}'`,
    `key=${keyOf(form)}`,
    `signature=$(printf %s ${word(signedText(webhook, form.template ?? '{body}'))} |`,
    `  openssl dgst -${form.hash ?? 'sha256'} -mac HMAC -macopt hexkey:"$key" -binary | ${form.encoding === 'base64' ? 'openssl base64 -A' : hex})`,
  );
  const time: Piece[] = form.timestamp_field ? [`${form.timestamp_field}=`, { name: 'timestamp' }, form.separator ?? ','] : [];
  const name = form.header + (form.numbered ? '1' : '');
  const headers = [word([`${name}: `, ...time, form.prefix ?? '', { name: 'signature' }])];
  if (form.timestamp_header) {
    headers.push(word([`${form.timestamp_header}: `, { name: 'timestamp' }]));
  }
  if (idHeader) {
    headers.push(word([`${idHeader}: `, { name: 'id' }]));
  }
  return [...lines, `${send(...headers)} \\\n  -d "$body"`].join('\n');
}

/** A part of a shell word: literal text, or a variable. */
type Piece = string | { name: string };

/** Expands the template of the signed text. */
function signedText(webhook: Webhook, template: string): Piece[] {
  const url = new URL(webhook.ingress_url);
  const values: Record<string, Piece> = {
    '{body}': { name: 'body' },
    '{timestamp}': { name: 'timestamp' },
    '{method}': 'POST',
    '{url}': webhook.ingress_url,
    '{path}': url.pathname + url.search,
  };
  return template.split(/(\{[^}]*\})/).map((part) => (part.startsWith('{header:') ? { name: 'id' } : (values[part] ?? part)));
}

/** Quotes parts as one word of a POSIX shell. Text in it is never executed. */
function word(pieces: Piece[]): string {
  const plain = pieces.every((piece) => typeof piece !== 'string' || /^[^"$`\\!]*$/.test(piece));
  if (plain) {
    return `"${pieces.map((piece) => (typeof piece === 'string' ? piece : `\${${piece.name}}`)).join('')}"`;
  }
  return pieces
    .filter((piece) => piece !== '')
    .map((piece) => (typeof piece === 'string' ? `'${piece.replaceAll("'", `'\\''`)}'` : `"$${piece.name}"`))
    .join('');
}

/** The command that encodes bytes as hex. */
const hex = "od -An -v -tx1 | tr -d ' \\n'";

/** The key in hex digits. */
function keyOf(form: SignatureForm): string {
  switch (form.key_form) {
    case 'whsec':
      return `$(printf %s "\${secret#whsec_}" | openssl base64 -d -A | ${hex})`;
    case 'base64':
      return `$(printf %s "$secret" | openssl base64 -d -A | ${hex})`;
    case 'hex':
      return '$secret';
    default:
      return `$(printf %s "$secret" | ${hex})`;
  }
}
