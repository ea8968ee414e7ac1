import { expect, test } from 'vitest';
import { layOut } from '../../json.ts';
import { linesOf } from './lines.ts';

const payload = layOut(
  JSON.stringify({ type: 'order.created', data: { status: 'open', items: [{ sku: 'a' }, { sku: 'b' }] }, 'a/b~c': 1, empty: {} }),
);

function marked(...pointers: string[]): string[] {
  const lines = payload.split('\n');
  return [
    ...linesOf(
      payload,
      pointers.map((pointer) => ({ pointer, note: pointer })),
    ).keys(),
  ].map((line) => lines[line]?.trim() ?? '');
}

test('the line of a key is found, also inside objects and arrays, and with escaped keys', () => {
  expect(marked('/type')).toEqual(['"type": "order.created",']);
  expect(marked('/data/status')).toEqual(['"status": "open",']);
  expect(marked('/data/items/sku')).toEqual(['"sku": "a"', '"sku": "b"']);
  expect(marked('/a~1b~0c')).toEqual(['"a/b~c": 1,']);
});

test('a missing key is on the line of the object that lacks it', () => {
  expect(marked('/data/customer/name')).toEqual(['"data": {']);
  expect(marked('/empty/x')).toEqual(['"empty": {}']);
  expect(marked('/nothing')).toEqual(['{']);
});

test('places on one line share it, and a text that is not JSON has the first line', () => {
  const places = [
    { pointer: '/type', note: 'one' },
    { pointer: '/type', note: 'two' },
  ];
  expect([...linesOf(payload, places)]).toEqual([[1, ['one', 'two']]]);
  expect([...linesOf('no JSON', [{ pointer: '/type', note: 'x' }])]).toEqual([[0, ['x']]]);
});
