import { expect, test } from 'vitest';
import { isJSON, layOut, textOf, withMember } from './json.ts';

test('a text is added to an object as it is', () => {
  const text = '{"id": 9007199254740993, "id": 1.0}';
  expect(withMember('{"event":"push"}', 'payload', text)).toBe(`{"payload":${text},"event":"push"}`);
  expect(withMember('{}', 'payload', '1e400')).toBe('{"payload":1e400}');
});

test('only JSON is JSON', () => {
  expect(['{"a": 1}', '1', ' null '].every(isJSON)).toBe(true);
  expect(['', '{"a"}', '{} {}', '// x\n{}'].some(isJSON)).toBe(false);
});

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

test('a payload as large and as deep as one may be is laid out while the reader waits', () => {
  const many = `[${Array(32_000).fill('{"a":1}').join(',')}]`;
  expect(layOut(many).split('\n')).toHaveLength(3 * 32_000 + 2);
  const deep = '['.repeat(9_000) + ']'.repeat(9_000);
  const shown = layOut(deep);
  expect(shown.length).toBeLessThan(3_000_000);
  expect(shown.replace(/\s/g, '')).toBe(deep);
});

test('a value of an agent is written whatever it is like', () => {
  expect(textOf({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}');
  expect(textOf(JSON.parse('['.repeat(9_900) + ']'.repeat(9_900)))).toContain('too deeply');
  const wide = JSON.parse(
    `[${Array(20)
      .fill('['.repeat(2_000) + ']'.repeat(2_000))
      .join(',')}]`,
  );
  expect(textOf(wide).length).toBeLessThan(20_000_000);
});
