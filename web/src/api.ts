import {
  APIConnectionError,
  APIError,
  type ClientOptions,
  type CreateSessionRequest,
  type Fetch,
  Penstock,
  type Session,
} from '@penstock/sdk';
import { QueryClient, queryOptions } from '@tanstack/react-query';
import { withMember } from './json.ts';

let signedOut: () => void = () => {};

/** Sets the callback for a session that has ended, or whose key was revoked. */
export function onSignedOut(callback: () => void): void {
  signedOut = callback;
}

/**
 * The key in localStorage of the session's secret, shared by all tabs of this origin. Browsers also send the session's cookie to other ports of
 * this host, but they keep localStorage apart. The server needs both with every request.
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
      response = await send(url, init, now); // another tab has signed in and replaced the session
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

/** Reacts at once when another tab signs in or out. */
export function watchOtherTabs(): void {
  window.addEventListener('storage', ({ key }) => {
    if (key !== secretKey && key !== null) {
      return;
    }
    if (storedSecret() === null) {
      signedOut();
    } else {
      void queryClient.invalidateQueries(); // another user may have signed in
    }
  });
}

const options: ClientOptions = {
  apiKey: null,
  baseURL: '',
  maxRetries: 1,
  timeout: 30_000,
  defaultHeaders: { 'X-Penstock-Source': 'WEB_APP' },
  fetch: sessionFetch,
};

/** The API client. The session's cookie and secret replace the key. */
export const client = new Penstock(options);

/** The client for requests with this text of JSON as their `payload`. It reaches the server as it is, with all digits of its numbers. */
export function clientWithPayload(text: string): Penstock {
  const fetch: Fetch = (url, init) => sessionFetch(url, { ...init, body: withMember(String(init.body), 'payload', text) });
  return new Penstock({ ...options, fetch });
}

/** The query cache of all pages. A failed query keeps its last data, and its page's interval tries it again. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 2_000, retry: retryOnce, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
});

/** Retries if the connection broke or the server says that a retry can help. */
function retryOnce(failures: number, error: unknown): boolean {
  return failures < 1 && (error instanceof APIConnectionError || (error instanceof APIError && error.retryable));
}

/** The signed-in user, or null. */
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

/** Where people can sign in, beside their keys. */
export const providersQuery = queryOptions({
  queryKey: ['sign-in-providers'],
  retry: retryOnce,
  queryFn: async ({ signal }) => (await client.session.providers({ signal })).providers,
});

/** Goes to an identity provider, which sends the browser back to `/sign-in/callback`. */
export async function goToProvider({ provider, next }: { provider: string; next: string }): Promise<void> {
  const { authorization_url } = await client.session.begin({ provider, return_to: next }, { maxRetries: 0 });
  sessionStorage.setItem(startedKey, new URL(authorization_url).searchParams.get('state') ?? '');
  location.assign(authorization_url);
}

/** The key in sessionStorage of the state of the sign-in that this tab has begun. */
const startedKey = 'penstock.sign-in';

/** Whether this tab has begun the sign-in: anybody can make a link with an answer of a provider. */
export const hasStarted = (state: string | undefined): boolean => state !== undefined && state === sessionStorage.getItem(startedKey);

/** Starts a session with a key, or with what an identity provider sent back, and returns where that sign-in began. What a provider sent counts once, so it is sent once. */
export async function signIn(proof: CreateSessionRequest): Promise<string | undefined> {
  const { secret = '', return_to, ...session } = await client.session.create(proof, { maxRetries: 0 });
  localStorage.setItem(secretKey, secret);
  queryClient.clear();
  queryClient.setQueryData(sessionQuery.queryKey, session);
  return return_to;
}

/** Ends the session. A session that has already ended is not an error. */
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
