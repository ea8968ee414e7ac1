import type { RunItem } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { newsOf } from './notify.ts';

const run = (state: string, message = '', execution_id = 1): RunItem =>
  ({ run_id: 'a', state, execution_id, status_message: { message } }) as RunItem;

test('a run is news once for each question and each failure', () => {
  const known = new Set<string>();
  expect(newsOf([run('BLOCKED', 'Which?')], known).length).toBe(1);
  expect(newsOf([run('BLOCKED', 'Which?')], known).length).toBe(0);
  expect(newsOf([run('BLOCKED', 'Why?')], known).length).toBe(1);
  expect(newsOf([run('FAILED', 'it broke')], known).length).toBe(1);
  expect(newsOf([run('FAILED', 'it broke', 2)], known).length).toBe(1);
});
