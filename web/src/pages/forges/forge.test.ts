import { APIError } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { providerOf, repositoriesIn, repositoryError, stateOf } from './forge.ts';

/** A response that names fields. */
function invalid(...errors: { pointer: string; detail: string }[]): APIError {
  return new APIError({
    status: 400,
    headers: new Headers(),
    text: JSON.stringify({ error: 'invalid', type: 'about:invalid_request', errors }),
  } as never);
}

test('repositories are one per line or with commas', () => {
  expect(repositoriesIn(' acme/shop\r\nacme/till, tools/*,\n\n')).toEqual(['acme/shop', 'acme/till', 'tools/*']);
  expect(repositoriesIn(' \n')).toEqual([]);
});

test('an error about one repository names it', () => {
  const list = ['acme/shop', 'acme'];
  expect(repositoryError(invalid({ pointer: '/repositories/1', detail: 'must be owner/name' }), list)).toBe('acme: must be owner/name');
  expect(repositoryError(invalid({ pointer: '/repositories', detail: 'has too many' }), list)).toBe('has too many');
  expect(repositoryError(invalid({ pointer: '/token', detail: 'is required' }), list)).toBeUndefined();
});

test('states and providers of later releases are shown by their names', () => {
  expect(stateOf({ status: 'degraded' })).toEqual({ tone: 'warn', word: 'Degraded' });
  expect(stateOf({ status: 'not_there' as never })).toEqual({ tone: 'calm', word: 'Not there' });
  expect(providerOf({ provider: 'gitea' })).toBe('Gitea or Forgejo');
  expect(providerOf({ provider: 'sourcehut' as never })).toBe('Sourcehut');
});
