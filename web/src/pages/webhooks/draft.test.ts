import type { SignaturePreset } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { emptyDraft, factsOf, requestOf, secretNameOf, wantsGuard } from './draft.ts';
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
