// @vitest-environment jsdom
import type { Session } from '@penstock/sdk';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { onSignedOut, queryClient, sessionFetch, sessionQuery, signIn, signOut, watchOtherTabs } from './api.ts';

const key = 'penstock.session';

const session: Session = {
  team: 't',
  actor: { type: 'user', uid: 'u' },
  scopes: ['runs:write'],
  key_uid: 'k',
  expires_at: '2026-02-09T09:30:00.000Z',
  idle_seconds: 60,
};

/** A server that knows the session of one secret; what it was asked is returned. */
function serve(secret: string, meanwhile?: () => void): string[] {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (url: string, init: RequestInit = {}) => {
    const sent = new Headers(init.headers).get('X-Penstock-Session-Secret');
    const { pathname } = new URL(url, location.href);
    asked.push(`${init.method ?? 'GET'} ${pathname} ${sent ?? '-'}`);
    meanwhile?.();
    if (pathname.endsWith('/session') && init.method === 'POST') {
      return Response.json({ ...session, secret }, { status: 201 });
    }
    if (sent !== secret) {
      return Response.json({ type: 'x/authentication_required', title: 'x', status: 401, error: 'x' }, { status: 401 });
    }
    return init.method === 'DELETE' ? new Response(null, { status: 204 }) : Response.json(session);
  });
  return asked;
}

beforeEach(() => localStorage.setItem(key, 'old'));

afterEach(() => {
  queryClient.clear();
  localStorage.clear();
  onSignedOut(() => {});
  vi.unstubAllGlobals();
});

test('reads and writes have the secret, and what goes to another origin has not', async () => {
  const asked = serve('old');
  await sessionFetch('/a', { method: 'POST' });
  await sessionFetch('/a', { method: 'GET' });
  await sessionFetch('https://elsewhere.example/a', { method: 'GET' });
  expect(asked).toEqual(['POST /a old', 'GET /a old', 'GET /a -']);
});

test('after another tab has signed in anew, a refused request is sent once more with the new secret', async () => {
  const told = vi.fn();
  onSignedOut(told);
  const asked = serve('new', () => localStorage.setItem(key, 'new'));
  const response = await sessionFetch('/a', { method: 'POST', body: '{}' });
  expect(response.status).toBe(200);
  expect(asked).toEqual(['POST /a old', 'POST /a new']);
  expect(told).not.toHaveBeenCalled();
});

test('a session that has ended is reported, and the request is not sent again', async () => {
  const asked = serve('new');
  const told = vi.fn();
  onSignedOut(told);
  expect((await sessionFetch('/a', { method: 'POST' })).status).toBe(401);
  expect(asked).toEqual(['POST /a old']);
  expect(told).toHaveBeenCalledTimes(1);
  await sessionFetch('/api/v1/session', { method: 'GET' }); // it asks whether there is one
  expect(told).toHaveBeenCalledTimes(1);
});

test('without a secret there is no session, and the server is not asked', async () => {
  localStorage.clear();
  const asked = serve('old');
  expect(await queryClient.fetchQuery(sessionQuery)).toBeNull();
  expect(asked).toEqual([]);
});

test('a sign-in keeps the secret for all tabs and nowhere else, a sign-out removes it', async () => {
  serve('new');
  await signIn({ api_key: 'psk_x' });
  expect(localStorage.getItem(key)).toBe('new');
  expect(queryClient.getQueryData(sessionQuery.queryKey)).toEqual(session);
  await signOut();
  expect(localStorage.length).toBe(0);
  expect(queryClient.getQueryData(sessionQuery.queryKey)).toBeNull();
});

test('a sign-in and a sign-out in another tab are noticed', async () => {
  serve('new');
  const told = vi.fn();
  onSignedOut(told);
  watchOtherTabs();
  queryClient.setQueryData(sessionQuery.queryKey, session);
  localStorage.setItem(key, 'new');
  window.dispatchEvent(new StorageEvent('storage', { key }));
  expect(queryClient.getQueryState(sessionQuery.queryKey)?.isInvalidated).toBe(true);
  expect(told).not.toHaveBeenCalled();
  localStorage.removeItem(key);
  window.dispatchEvent(new StorageEvent('storage', { key: 'something-else' }));
  expect(told).not.toHaveBeenCalled();
  window.dispatchEvent(new StorageEvent('storage', { key }));
  expect(told).toHaveBeenCalledTimes(1);
});
