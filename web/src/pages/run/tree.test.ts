import type { RunItem } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { type Branch, treeOf } from './tree.ts';

const run = (run_id: string, parent_run_id: string, minute: number): RunItem =>
  ({ run_id, parent_run_id, created_at: `2026-01-01T00:0${minute}:00.000Z` }) as RunItem;
const shape = (branches: Branch[]): unknown[] => branches.map(({ run: { run_id }, branches: below }) => [run_id, ...shape(below)]);

test('each run is below its parent, oldest first', () => {
  const runs = [run('d', 'a', 4), run('c', 'b', 3), run('b', 'root', 2), run('a', 'root', 1), run('lost', 'elsewhere', 5)];
  expect(shape(treeOf(runs, 'root'))).toEqual([['a', ['d']], ['b', ['c']], ['lost']]);
});
