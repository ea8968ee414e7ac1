import { jsonLanguage } from '@codemirror/lang-json';
import { expect, test } from 'vitest';
import { keepsNumber, keepsNumbers, rangeOf, repeatedKeys } from './pointer.ts';

const at = (text: string, pointer: string): string => {
  const { from, to } = rangeOf(jsonLanguage.parser.parse(text), text, pointer);
  return text.slice(from, to);
};

test('finds the place of a pointer', () => {
  const text = '{"a": {"b/c": [1, {"x": "y"}], "~": null}, "in": ["one"]}';
  expect(at(text, '/a')).toBe('"a"');
  expect(at(text, '/a/b~1c')).toBe('"b/c"');
  expect(at(text, '/a/b~1c/0')).toBe('1');
  expect(at(text, '/a/b~1c/1/x')).toBe('"x"');
  expect(at(text, '/a/~0')).toBe('"~"');
  expect(at(text, '/in/0')).toBe('"one"');
});

test('stays at the nearest place above one that there is not', () => {
  expect(at('{"a": [1]}', '')).toBe('{"a": [1]}');
  expect(at('{"a": [1]}', '/a/7/b')).toBe('"a"');
  expect(at('{"a": ', '/b')).toBe('{"a": ');
  expect(at('', '/a')).toBe('');
});

test('tells which numbers a browser keeps', () => {
  for (const number of ['0', '-0', '1', '1.0', '10e-1', '9007199254740991', '0.1', '1e21', '1.5E+300', '123456789.125', '1000']) {
    expect(keepsNumber(number), number).toBe(true);
  }
  for (const number of ['9007199254740993', '0.10000000000000000001', '1e400', '-123456789012345678901']) {
    expect(keepsNumber(number), number).toBe(false);
  }
});

test('tells whether a browser keeps every number of a text', () => {
  expect(keepsNumbers('{"a": [1, -2.5e3], "9007199254740993": "9007199254740993 \\" 1e999"}')).toBe(true);
  expect(keepsNumbers('{"a": ["x", 9007199254740993]}')).toBe(false);
});

test('finds the keys that come again', () => {
  const text = '{"a": 1, "b": {"a": 2}, "\\u0061": 3}';
  const object = jsonLanguage.parser.parse(text).topNode.firstChild;
  expect(object && repeatedKeys(object, text).map(({ from, to }) => text.slice(from, to))).toEqual(['"\\u0061"']);
});
