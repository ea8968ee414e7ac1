import { expect, test } from 'vitest';
import { safeNext } from './next.ts';

test.each([
  ['/runs?q=a', '/runs?q=a'],
  ['//evil.example', '/'],
  ['/\\evil.example', '/'],
  ['https://evil.example', '/'],
  ['javascript:alert(1)', '/'],
  ['', '/'],
  [undefined, '/'],
])('after the sign-in %s leads to %s', (next, want) => {
  expect(safeNext(next)).toBe(want);
});
