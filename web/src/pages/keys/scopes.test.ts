import { expect, test } from 'vitest';
import { givable, scopes } from './scopes.ts';

test('an admin gives every scope, others only their own', () => {
  expect(givable(['admin'])).toEqual(scopes.map(({ scope }) => scope));
  expect(givable(['keys:manage', 'factories:manage'])).toEqual(['factories:read', 'factories:manage', 'keys:manage']);
  expect(givable(undefined)).toEqual([]);
});
