import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import type { SignatureForm, SignaturePreset, Webhook } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { firstDelivery } from './command.ts';

const url = 'https://penstock.example.com/webhooks/w/7Qm2ZrX0bN4kLw9TcYvE1a';

function webhook(fields: Partial<Webhook>): Webhook {
  return { auth_mode: 'signature', ingress_url: url, secret: "it's $HOME", ...fields } as Webhook;
}

function preset(...forms: Partial<SignatureForm>[]): SignaturePreset {
  return {
    forms: forms.map((form) => ({ algorithm: 'hmac', hash: 'sha256', encoding: 'hex', key_form: 'text', ...form })),
  } as SignaturePreset;
}

/** Runs a command with a curl that prints its arguments, one a line. */
function argumentsOf(command: string | undefined): string[] {
  const shell = `curl() { printf '%s\\n' "$@"; }\n${command}`;
  return execFileSync('sh', ['-c', shell], { encoding: 'utf8' }).trimEnd().split('\n');
}

test('a token goes into its header, and one of the URL into the URL', () => {
  expect(argumentsOf(firstDelivery(webhook({ auth_mode: 'token' }), undefined))).toContain("Authorization: Bearer it's $HOME");
  const inURL = webhook({ auth_mode: 'url_token', ingress_url: `${url}/abc`, secret: 'abc' });
  expect(argumentsOf(firstDelivery(inURL, undefined))[0]).toBe(`${url}/abc`);
});

test('a body is signed by the template, with the key as the sender forms it', () => {
  const body = '{"hello": "world"}';
  const plain = firstDelivery(webhook({}), preset({ header: 'X-Sig', prefix: 'sha256=', template: '{body}' }));
  expect(argumentsOf(plain)).toContain(`X-Sig: sha256=${createHmac('sha256', "it's $HOME").update(body).digest('hex')}`);

  for (const [key_form, secret] of [
    ['hex', 'c0ffee00'],
    ['base64', 'wP/uAA=='],
    ['whsec', 'whsec_wP/uAA=='],
  ] as const) {
    const key = Buffer.from('c0ffee00', 'hex');
    const form = { header: 'X-Sig', encoding: 'base64' as const, key_form, template: '{method} {path}\n{body}' };
    const want = createHmac('sha256', key).update(`POST /webhooks/w/7Qm2ZrX0bN4kLw9TcYvE1a\n${body}`).digest('base64');
    expect(argumentsOf(firstDelivery(webhook({ secret }), preset(form))), key_form).toContain(`X-Sig: ${want}`);
  }
});

test('a time stands in the header or the signature, and is signed', () => {
  const stripe = preset({
    header: 'S',
    prefix: 'v1=',
    separator: ',',
    timestamp_field: 't',
    timestamp_unit: 's',
    template: '{timestamp}.{body}',
  });
  const sent = argumentsOf(firstDelivery(webhook({}), stripe)).find((one) => one.startsWith('S: ')) ?? '';
  const [, time, signature] = /^S: t=(\d{10}),v1=([0-9a-f]{64})$/.exec(sent) ?? [];
  expect(signature).toBe(createHmac('sha256', "it's $HOME").update(`${time}.{"hello": "world"}`).digest('hex'));
});

test('whatever a scheme is made of, it is no command of the shell', () => {
  const evil = '$(echo pwned)`echo pwned`"\'\\!';
  const signature = {
    header: 'X-Sig',
    prefix: evil,
    hash: 'sha512',
    encoding: 'hex',
    key_form: 'text',
    template: `${evil}{body}`,
  } as const;
  const command = firstDelivery(webhook({ signature_scheme: 'custom_hmac', signature, secret: evil }), undefined);
  const want = createHmac('sha512', evil).update(`${evil}{"hello": "world"}`).digest('hex');
  expect(argumentsOf(command)).toContain(`X-Sig: ${evil}${want}`);
});

test('nothing is shown that a shell cannot sign', () => {
  expect(firstDelivery(webhook({}), preset({ header: 'X', algorithm: 'ed25519' }))).toBeUndefined();
  expect(firstDelivery(webhook({}), preset({ header: 'X', template: '{signed_headers}{body}' }))).toBeUndefined();
  expect(firstDelivery(webhook({}), undefined)).toBeUndefined();
});

test('a secret that is not known has its place', () => {
  const { secret: _, ...unknown } = webhook({});
  expect(firstDelivery(unknown, preset({ header: 'X-Sig' }))).toContain('secret=YOUR-SECRET');
});
