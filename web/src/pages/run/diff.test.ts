import { expect, test } from 'vitest';
import { diffLines } from './diff.ts';

const text = (lines: (string | number)[]): string => lines.map((line) => `${line}\n`).join('');

test('a change is shown with the lines around it', () => {
  const before = Array.from({ length: 20 }, (_, i) => i + 1);
  const after = before.map((n) => (n === 10 ? 'ten' : n));
  expect(diffLines(text(before), text(after))).toEqual([
    { kind: 'gap', text: '@@ line 7' },
    ...[7, 8, 9].map((n) => ({ kind: 'same', text: String(n) })),
    { kind: 'removed', text: '10' },
    { kind: 'added', text: 'ten' },
    ...[11, 12, 13].map((n) => ({ kind: 'same', text: String(n) })),
  ]);
});

test('a new file is all added, and the same file shows nothing', () => {
  expect(diffLines('', 'a\nb\n')).toEqual([
    { kind: 'added', text: 'a' },
    { kind: 'added', text: 'b' },
  ]);
  expect(diffLines('a\n', 'a\n')).toEqual([]);
});

test('what would take too long is not compared', () => {
  expect(diffLines('x\n'.repeat(15_000), 'y\n'.repeat(15_000))).toBeUndefined();
});
