import type { SignaturePreset, Webhook } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { changeOf, emptyDraft, factsOf, requestOf, secretNameOf, sendersOf, settingsOf, wantsGuard, withSender } from './draft.ts';
import { authenticationOf, troubleOf } from './state.ts';

test('only what goes with the authentication is sent', () => {
  const draft = { ...emptyDraft, name: ' Deploy events ', secret: 'left from before' };
  expect(requestOf(draft)).toEqual({ name: 'Deploy events', auth_mode: 'token' });
  expect(requestOf({ ...draft, mode: 'signature' })).toEqual({
    name: 'Deploy events',
    auth_mode: 'signature',
    signature_scheme: 'github',
    secret: 'left from before',
  });
});

test('what a scheme needs is sent with it alone', () => {
  const signature = { ...emptyDraft.signature, header: 'X-Signature', timestamp_header: ' X-Time ' };
  const draft = { ...emptyDraft, name: 'x', mode: 'signature' as const, signature };
  expect(requestOf({ ...draft, scheme: 'stripe' }).signature).toBeUndefined();
  expect(requestOf({ ...draft, scheme: 'grafana' }).signature).toEqual({ timestamp_header: 'X-Time' });
  expect(requestOf({ ...draft, scheme: 'custom_hmac' }).signature).toEqual({
    header: 'X-Signature',
    hash: 'sha256',
    encoding: 'hex',
    key_form: 'text',
    template: '{body}',
    timestamp_header: 'X-Time',
  });
});

test('what is set seldom is sent where it is set', () => {
  const rare = { secretName: ' OWN ', deliveryIdHeader: ' X-Id ', immediate: true, enabled: false, replayGuard: true };
  expect(requestOf({ ...emptyDraft, name: 'x', ...rare })).toEqual({
    name: 'x',
    auth_mode: 'token',
    secret_name: 'OWN',
    delivery_id_header: 'X-Id',
    secret_refresh: 'immediate',
    enabled: false,
  });
});

test('a scheme is told in sentences', () => {
  const form = { header: 'X-Sig', algorithm: 'hmac', headers: ['X-Sig'], time_signed: false, id_signed: false };
  const preset = { forms: [{ ...form, tolerance_seconds: 300, id_header: 'X-Id' }, form] } as unknown as SignaturePreset;
  expect(factsOf(preset)).toEqual([
    'The signature is in the header X-Sig.',
    'The timestamp can differ from the server’s clock by up to 300 s.',
    'The delivery ID comes from the header X-Id.',
  ]);
  expect(factsOf({ ...preset, forms: [] })).toEqual([]);
});

test('a guard makes sense where the id is not signed', () => {
  const guarded = (time_signed: boolean, id_signed: boolean, header?: string) =>
    wantsGuard({ forms: [{ time_signed, id_signed }] } as unknown as SignaturePreset, header);
  expect([guarded(false, false), guarded(true, false), guarded(true, true), guarded(true, true, 'X-Id')]).toEqual([
    true,
    true,
    false,
    true,
  ]);
  expect(wantsGuard(undefined)).toBe(true);
});

test('names, states and ways of authentication are put into words', () => {
  expect([secretNameOf('Deploy events'), secretNameOf('a.b'), secretNameOf('')]).toEqual([
    'DEPLOY_EVENTS_WEBHOOK_SECRET',
    'A_B_WEBHOOK_SECRET',
    'NAME_WEBHOOK_SECRET',
  ]);
  const on = { enabled: true, suspended: false, pending_secret: false };
  const words = [on, { ...on, enabled: false }, { ...on, suspended: true }, { ...on, pending_secret: true, enabled: false }].map((one) =>
    troubleOf(one),
  );
  expect(words).toEqual([undefined, undefined, 'Suspended', 'Secret missing']);
  expect(authenticationOf({ auth_mode: 'signature', signature_scheme: 'github' }, 'GitHub')).toBe('Signature: GitHub');
  expect(authenticationOf({ auth_mode: 'newer' })).toBe('newer');
});

const schemes = [
  { scheme: 'github', sender: 'GitHub' },
  { scheme: 'stripe', sender: 'Stripe' },
  { scheme: 'custom_hmac', sender: 'Another sender' },
] as unknown as SignaturePreset[];

test('the sender names the webhook until the user does, and has a generated secret if it takes any', () => {
  expect(sendersOf(schemes).map(({ items }) => items.map(({ value }) => value))).toEqual([
    ['token', 'url_token', 'custom_hmac'],
    ['github', 'stripe'],
  ]);
  const github = withSender(emptyDraft, 'github', schemes);
  expect(github).toMatchObject({ mode: 'signature', scheme: 'github', name: 'GitHub' });
  expect(github.secret).toMatch(/^[\w-]{32}$/);
  expect(withSender(emptyDraft, 'github', schemes).secret).not.toBe(github.secret);
  const stripe = withSender(github, 'stripe', schemes);
  expect(stripe).toMatchObject({ scheme: 'stripe', name: 'Stripe', secret: '' });
  expect(withSender(stripe, 'url_token', schemes)).toMatchObject({ mode: 'url_token', name: '' });
  expect(withSender({ ...stripe, name: 'Payments' }, 'custom_hmac', schemes)).toMatchObject({ scheme: 'custom_hmac', name: 'Payments' });
});

test('only settings that changed are sent', () => {
  const webhook = { replay_guard: true, secret_refresh: 'apply', delivery_id_header: 'X-Id' } as Webhook;
  const before = settingsOf(webhook);
  expect(changeOf('github', before, before)).toEqual({});
  const signature = { timestamp_header: 'X-Time' };
  expect(
    changeOf('grafana', before, {
      ...before,
      deliveryIdHeader: ' ',
      dedupBodyWindow: '20h',
      replayGuard: false,
      immediate: true,
      signature,
    }),
  ).toEqual({
    delivery_id_header: '',
    dedup_body_window: '20h',
    replay_guard: false,
    secret_refresh: 'immediate',
    signature,
  });
});
