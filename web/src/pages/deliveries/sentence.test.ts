import type { DeliveryMatch } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { partsOf, placesOf } from './sentence.ts';

test('names and values between backticks are code', () => {
  expect(partsOf('`type` is `<b>`; expects a value')).toEqual([
    { text: 'type', code: true },
    { text: ' is ', code: false },
    { text: '<b>', code: true },
    { text: '; expects a value', code: false },
  ]);
  expect(partsOf('')).toEqual([]);
});

test('only failed payload filters have a place in the payload', () => {
  const match = (change: Partial<DeliveryMatch>): DeliveryMatch => ({
    automation: 'ship',
    automation_uid: 'a',
    would_trigger: false,
    reason: '`labels` is absent; expects `bug`',
    ...change,
  });
  const matches = [
    match({ check: 'payload', failed_at: '/labels' }),
    match({ check: 'event', failed_at: '/labels' }),
    match({ check: 'payload', failed_at: '' }),
    match({ failed_at: '/labels' }),
    match({ would_trigger: true, reason: '' }),
  ];
  expect(placesOf({ matches })).toEqual([{ pointer: '/labels', note: 'ship: labels is absent; expects bug' }]);
});
