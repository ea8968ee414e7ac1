import { expect, test } from 'vitest';
import { identityOf, queryOf, reasonOf, toneOf, whyOf } from './outcome.ts';

test('the address narrows the log by what the API knows', () => {
  expect(queryOf({})).toEqual({ limit: 50 });
  expect(queryOf({ outcome: 'rejected_auth', cursor: 'c', other: 'x' })).toEqual({ limit: 50, outcome: 'rejected_auth', cursor: 'c' });
  expect(queryOf({ outcome: 'lost' })).toEqual({ limit: 50 });
});

test('what is newer than this page is shown as it is', () => {
  expect([identityOf({ identity_source: 'provider' }), identityOf({ identity_source: 'newer' })]).toEqual(['from the sender', 'newer']);
  expect([reasonOf({ reason: 'newer' }), reasonOf({})]).toEqual(['newer', undefined]);
  expect([toneOf({ outcome: 'accepted' }), toneOf({ outcome: 'duplicate' }), toneOf({ outcome: 'newer' })]).toEqual([
    'good',
    'calm',
    'bad',
  ]);
});

test('the log says why nothing became of a delivery, if that is one sentence', () => {
  const match = (reason: string, more = {}) => ({ automation: 'a', automation_uid: reason, would_trigger: false, reason, ...more });
  expect(whyOf({ detail: 'No factory works on it.', matches: [], runs: [] })).toBe('No factory works on it.');
  expect(whyOf({ advice: 'Check the secret.', matches: [], runs: [] })).toBe('Check the secret.');
  expect(whyOf({ matches: [match('ada is a bot.'), match('ada is a bot.')], runs: [] })).toBe('ada is a bot.');
  expect(whyOf({ matches: [match('x'), match('y')], runs: [] })).toBeUndefined();
  expect(whyOf({ matches: [match('x')], runs: ['r'] })).toBeUndefined();
  expect(whyOf({ matches: [match('x', { fate: 'waiting' })], runs: [] })).toBeUndefined();
});
