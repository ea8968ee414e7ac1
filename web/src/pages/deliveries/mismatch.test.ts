import type { Trigger } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { mismatchOf, mismatchOfCheck } from './mismatch.ts';

const on = (payload: object): { triggers: Trigger[] } => ({
  triggers: [{ provider: 'webhook', event: 'received', filter: { webhook_ids: ['w'], payload } } as Trigger],
});

test.each([
  ['/type', { type: 'order.created' }, { type: ['order.refunded'] }, ['order.created'], '', ['order.refunded']],
  ['/data/n', { data: { n: 3 } }, { data: { n: [1, 2] } }, ['3'], 'one of ', ['1', '2']],
  ['/data/n', { data: {} }, { data: { n: { exists: true } } }, [], 'a value', []],
  ['/branch', { branch: 'scratch' }, { branch: { not_in: ['scratch'] } }, ['scratch'], 'not ', ['scratch']],
  ['/labels/name', { labels: [{ name: 'a' }, { name: 'b' }] }, { labels: { name: ['bug'] } }, ['a', 'b'], '', ['bug']],
  ['/a~1b', { 'a/b': null }, { 'a/b': [true] }, ['null'], '', ['true']],
])('at %s, the value and the expectation are named', (pointer, payload, filter, actual, words, values) => {
  expect(mismatchOf(pointer, JSON.stringify(payload), on(filter))).toMatchObject({ actual, expected: { words, values } });
});

test('nothing is claimed of a filter that has changed, or of a number that a browser would round', () => {
  expect(mismatchOf('/type', '{"type": "x"}', on({ other: ['y'] }))).toBeUndefined();
  expect(mismatchOf('/n', '{"n": 9007199254740993}', on({ n: [1] }))).toBeUndefined();
  expect(mismatchOf('/__proto__', '{"a": 1}', on({ a: [1] }))).toBeUndefined();
});

test('a long value and a long list are cut', () => {
  const mismatch = mismatchOf('/a', JSON.stringify({ a: 'x'.repeat(500) }), on({ a: ['1', '2', '3', '4', '5'] }));
  expect(mismatch?.actual[0]).toHaveLength(81);
  expect(mismatch?.expected).toEqual({ words: 'one of ', values: ['1', '2', '3', '2 more'] });
});

test('a check of a tested filter is explained with the values of the server', () => {
  const filter = { data: { status: ['paid', 'sent'] } };
  expect(mismatchOfCheck({ path: '/data/status', actual: ['open'] }, filter)).toMatchObject({ name: 'data.status', actual: ['open'] });
  expect(mismatchOfCheck({ path: '/data/status', actual: ['a', 'b', 'c', 'd'] }, filter)?.actual).toEqual(['a', 'b', 'c', '…']);
  expect(mismatchOfCheck({ path: '/data/status' }, filter)).toMatchObject({ actual: [], expected: { words: 'one of ' } });
  expect(mismatchOfCheck({ path: '/other' }, filter)).toBeUndefined();
  expect(mismatchOfCheck({}, filter)).toBeUndefined();
});

test('an object that is found where one is expected explains nothing', () => {
  expect(mismatchOfCheck({ path: '/data', actual: ['{…}'] }, { data: { a: ['x'] } })).toBeUndefined();
  expect(mismatchOf('/data', '{"data": [{"a": "y"}]}', on({ data: { a: ['x'] } }))).toBeUndefined();
});
