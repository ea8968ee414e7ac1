import { expect, test } from 'vitest';
import { layOut } from './json.ts';

test('lays JSON out as JSON.stringify would', () => {
  for (const value of [
    {},
    [],
    { a: 1, b: [1, 2, { c: '}{,:"\\' }], d: {}, e: [] },
    'text',
    1,
    null,
    [[[]]],
    { '': { x: true } },
    '{',
    [',', '['],
  ]) {
    expect(layOut(JSON.stringify(value))).toBe(JSON.stringify(value, undefined, 2));
  }
});

test('keeps what reading would change: digits, spelling and keys that come twice', () => {
  expect(layOut('{"n":9007199254740993,"n":1.0e2,"s":"\\u0041"}')).toBe('{\n  "n": 9007199254740993,\n  "n": 1.0e2,\n  "s": "\\u0041"\n}');
});

test('leaves alone what is no JSON', () => {
  expect(layOut('<b>{</b>')).toBe('<b>{</b>');
});
