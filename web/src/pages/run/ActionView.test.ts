import { expect, test } from 'vitest';
import { verbOf } from './ActionView.tsx';

test('an action is told as it lasts, and as it is done', () => {
  expect(verbOf({ name: 'run_command', state: 'running' })).toBe('Running');
  expect(verbOf({ name: 'run_command', state: 'completed' })).toBe('Ran');
  expect(verbOf({ name: 'run_command', state: 'failed' })).toBe('Ran');
  expect(verbOf({ name: 'newer_action', state: 'running' })).toBe('Newer action');
});
