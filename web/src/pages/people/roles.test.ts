import { expect, test } from 'vitest';
import { roleChoices } from './roles.ts';

test('a role is given by those who have all its scopes', () => {
  const given = (...mine: string[]) => roleChoices(mine).map(({ value }) => value);
  expect(given('admin')).toEqual(['viewer', 'user', 'editor', 'admin']);
  expect(given('runs:read', 'runs:write', 'factories:read')).toEqual(['viewer', 'user']);
  expect(roleChoices(undefined)).toEqual([]);
});
