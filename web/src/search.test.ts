import { expect, test } from 'vitest';
import { parseSearch, stringifySearch } from './search.ts';

test('a query is read and written as the API does', () => {
  const query = '?state=FAILED&state=ERROR&q=a+b%26c&metadata%5Bticket%5D=OPS-1';
  const search = { state: ['FAILED', 'ERROR'], q: 'a b&c', 'metadata[ticket]': 'OPS-1' };
  expect(parseSearch(query)).toEqual(search);
  expect(stringifySearch(search)).toBe(query);
});

test('what is empty is left out, and a number stays what it was written as', () => {
  expect(stringifySearch({ a: undefined, b: '', c: [], d: '007' })).toBe('?d=007');
  expect(parseSearch('?d=007')).toEqual({ d: '007' });
});
