// @vitest-environment jsdom
import type { Session } from '@penstock/sdk';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { onSignedOut, queryClient, sessionFetch, sessionQuery } from './api.ts';

const session = (csrf_token: string): Session => ({
  team: 't',
  actor: { type: 'user', uid: 'u' },
  scopes: ['runs:write'],
  key_uid: 'k',
  csrf_token,
  expires_at: '2026-02-09T09:30:00.000Z',
  idle_seconds: 60,
});

/** A server that takes the writes of one token; what it was asked is kept. */
function serve(token: string, status = 403): string[] {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (url: string, init: RequestInit = {}) => {
    const sent = new Headers(init.headers).get('X-Penstock-CSRF');
    asked.push(`${init.method ?? 'GET'} ${url} ${sent ?? '-'}`);
    if (url.endsWith('/session')) {
      return Response.json(session(token));
    }
    return new Response('{}', { status: sent === token || init.method === 'GET' ? 200 : status });
  });
  return asked;
}

beforeEach(() => queryClient.setQueryData(sessionQuery.queryKey, session('old')));

afterEach(() => {
  queryClient.clear();
  vi.unstubAllGlobals();
});

test('a write has the token, a read has none', async () => {
  const asked = serve('old');
  await sessionFetch('/a', { method: 'POST' });
  await sessionFetch('/a', { method: 'GET' });
  expect(asked).toEqual(['POST /a old', 'GET /a -']);
});

test('after another tab has signed in anew, a refused write is sent once more with the new token', async () => {
  const asked = serve('new');
  const answer = await sessionFetch('/a', { method: 'POST', body: '{}' });
  expect(answer.status).toBe(200);
  expect(asked).toEqual(['POST /a old', expect.stringContaining('/session'), 'POST /a new']);
});

test('a write that is refused for another reason is not sent again', async () => {
  const asked = serve('old');
  vi.stubGlobal('fetch', async (url: string, init: RequestInit = {}) => {
    asked.push(`${init.method ?? 'GET'} ${url}`);
    return url.endsWith('/session') ? Response.json(session('old')) : new Response('{}', { status: 403 });
  });
  expect((await sessionFetch('/a', { method: 'DELETE' })).status).toBe(403);
  expect(asked.filter((line) => line.startsWith('DELETE'))).toHaveLength(1);
});

test('an answer that the session has ended is told, but not when it was asked whether there is one', async () => {
  serve('new', 401);
  const told = vi.fn();
  onSignedOut(told);
  await sessionFetch('/a', { method: 'POST' });
  expect(told).toHaveBeenCalledTimes(1);
  vi.stubGlobal('fetch', async () => new Response('{}', { status: 401 }));
  await sessionFetch('/api/v1/session', { method: 'GET' });
  expect(told).toHaveBeenCalledTimes(1);
});
