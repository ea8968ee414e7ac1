import { APIConnectionError, APIError, type Fetch, Penstock, type Session } from '@penstock/sdk';
import { QueryClient, queryOptions } from '@tanstack/react-query';

let signedOut: () => void = () => {};

/** Calls back when the server no longer knows the session: it has ended, or its key was revoked. */
export function onSignedOut(callback: () => void): void {
  signedOut = callback;
}

const isRead = (init: RequestInit): boolean => init.method === undefined || init.method === 'GET';

/** Sends a request with what the session needs: its CSRF token with every write. */
export const sessionFetch: Fetch = async (url, init) => {
  const response = await send(url, init);
  if (response.status === 401 && !url.endsWith('/api/v1/session')) {
    signedOut();
  }
  if (response.status !== 403 || isRead(init)) {
    return response;
  }
  // Another tab may have signed in anew, which replaces the session and its token.
  const before = currentSession()?.csrf_token;
  const session = await queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 });
  return session && session.csrf_token !== before ? send(url, init) : response;
};

function send(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  const token = currentSession()?.csrf_token;
  if (token && !isRead(init)) {
    headers.set('X-Penstock-CSRF', token);
  }
  return fetch(url, { ...init, headers });
}

/** The one client of the API. A session's cookie stands for the key. */
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

/** The session as it is known now. */
export function currentSession(): Session | null | undefined {
  return queryClient.getQueryData(sessionQuery.queryKey);
}

/** Begins a session, and tells other tabs. */
export async function signIn(apiKey: string): Promise<void> {
  const session = await client.session.create({ api_key: apiKey });
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
  queryClient.clear();
  queryClient.setQueryData(sessionQuery.queryKey, null);
}
