import { APIConnectionError, APIError, type Fetch, Penstock, type Session } from '@penstock/sdk';
import { QueryClient, queryOptions } from '@tanstack/react-query';

let signedOut: () => void = () => {};

/** Calls back when the server no longer knows the session: it has ended, or its key was revoked. */
export function onSignedOut(callback: () => void): void {
  signedOut = callback;
}

/**
 * Where this origin keeps the session's secret, for all of its tabs. The session's cookie also goes to other ports of this host; localStorage
 * does not, and the server wants both with every request.
 */
const secretKey = 'penstock.session';

const storedSecret = (): string | null => localStorage.getItem(secretKey);

/** Sends a request with the session's secret. */
export const sessionFetch: Fetch = async (url, init) => {
  const secret = storedSecret();
  let response = await send(url, init, secret);
  if (response.status === 401) {
    const now = storedSecret();
    if (now !== null && now !== secret) {
      response = await send(url, init, now); // meanwhile another tab has signed in, which replaced the session
    }
  }
  if (response.status === 401 && !url.endsWith('/api/v1/session')) {
    signedOut();
  }
  return response;
};

function send(url: string, init: RequestInit, secret: string | null): Promise<Response> {
  const headers = new Headers(init.headers);
  if (secret !== null && new URL(url, location.href).origin === location.origin) {
    headers.set('X-Penstock-Session-Secret', secret);
  }
  return fetch(url, { ...init, headers });
}

/** Has this tab notice at once when another one signs in or out. */
export function watchOtherTabs(): void {
  window.addEventListener('storage', ({ key }) => {
    if (key !== secretKey && key !== null) {
      return;
    }
    if (storedSecret() === null) {
      signedOut();
    } else {
      void queryClient.invalidateQueries(); // somebody else may have signed in
    }
  });
}

/** The one client of the API. A session's cookie and secret stand for the key. */
export const client = new Penstock({
  apiKey: null,
  baseURL: '',
  maxRetries: 1,
  timeout: 30_000,
  defaultHeaders: { 'X-Penstock-Source': 'WEB_APP' },
  fetch: sessionFetch,
});

/** What was read of the server, shared by all pages. A query that fails keeps what it had, and is asked again by its page's interval. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 2_000, retry: retryOnce, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
});

/** Again where that can help: the connection broke, or the server says so. */
function retryOnce(failures: number, error: unknown): boolean {
  return failures < 1 && (error instanceof APIConnectionError || (error instanceof APIError && error.retryable));
}

/** Who has signed in; null when nobody has. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: 60_000,
  retry: retryOnce,
  queryFn: async ({ signal }): Promise<Session | null> => {
    if (storedSecret() === null) {
      return null;
    }
    try {
      return await client.session.get({ signal });
    } catch (error) {
      if (error instanceof APIError && error.statusCode === 401) {
        return null;
      }
      throw error;
    }
  },
});

/** Begins a session. */
export async function signIn(apiKey: string): Promise<void> {
  const { secret = '', ...session } = await client.session.create({ api_key: apiKey });
  localStorage.setItem(secretKey, secret);
  queryClient.clear();
  queryClient.setQueryData(sessionQuery.queryKey, session);
}

/** Ends the session; one that has ended already is as good. */
export async function signOut(): Promise<void> {
  try {
    await client.session.delete();
  } catch (error) {
    if (!(error instanceof APIError && error.statusCode === 401)) {
      throw error;
    }
  }
  localStorage.removeItem(secretKey);
  queryClient.clear();
  queryClient.setQueryData(sessionQuery.queryKey, null);
}
