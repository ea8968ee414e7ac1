import { expect, test } from 'vitest';
import { identityOf, queryOf, reasonOf, toneOf } from './outcome.ts';

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
