import { expect, test } from 'vitest';
import { givable, mayGive, scopes } from './scopes.ts';

test('an admin gives every scope, others only their own', () => {
  expect(givable(['admin'])).toEqual(scopes.map(({ scope }) => scope));
  expect(givable(['keys:manage', 'factories:manage'])).toEqual(['factories:read', 'factories:manage', 'keys:manage']);
  expect(givable(undefined)).toEqual([]);
});

test('a role is given by those who have all its scopes', () => {
  expect(['viewer', 'user', 'editor', 'admin'].filter((role) => mayGive(['admin'], role))).toEqual(['viewer', 'user', 'editor', 'admin']);
  expect(['viewer', 'user', 'editor', 'admin'].filter((role) => mayGive(['runs:read', 'runs:write', 'factories:read'], role))).toEqual([
    'viewer',
    'user',
  ]);
});
