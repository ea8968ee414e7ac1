import { PenstockError } from './errors.js';

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Where to log; `console` is one. Messages are constants, facts come beside them; keys, headers and bodies are in neither. */
export interface Logger {
  debug(message: string, facts: Record<string, unknown>): void;
  info(message: string, facts: Record<string, unknown>): void;
}

/** Headers by name; null removes one that would be sent otherwise. */
export type HeaderValues = Record<string, string | null | undefined>;

/** What holds for all calls of a client. */
export interface ClientOptions {
  /** The API key. Default: `PENSTOCK_API_KEY`. null sends none, for a session's cookie. */
  apiKey?: string | null | undefined;
  /**
   * The server's address, such as `https://penstock.example.com`, without `/api/v1`. Default: `PENSTOCK_BASE_URL`, or else
   * `http://127.0.0.1:8080`, and on a page the page's own origin, which is also `''`.
   */
  baseURL?: string | undefined;
  /** Milliseconds that each try of a call may take, until the last byte of the answer. Default: 60 000. */
  timeout?: number | undefined;
  /**
   * Milliseconds until the server begins to answer, for each try. Default: as `timeout`. (`fetch` does not tell when it has connected,
   * so this is the time for both.)
   */
  connectTimeout?: number | undefined;
  /** How often a call is tried again. Default: 2. */
  maxRetries?: number | undefined;
  /** Sent with every request of the API, and never to another host. */
  defaultHeaders?: HeaderValues | undefined;
  /** What sends requests. Default: the runtime's `fetch`. */
  fetch?: Fetch | undefined;
  /** More options of each `fetch`, such as `credentials`, or Node's `dispatcher` for a proxy. */
  fetchOptions?: (RequestInit & Record<string, unknown>) | undefined;
  /** Where requests (debug) and retries (info) are logged. Default: nowhere. */
  logger?: Logger | undefined;
}

/** What holds for one call. */
export interface RequestOptions {
  /** Ends the call; what is thrown is its reason. */
  signal?: AbortSignal | undefined;
  /** See {@link ClientOptions.timeout}. */
  timeout?: number | undefined;
  /** See {@link ClientOptions.connectTimeout}. */
  connectTimeout?: number | undefined;
  /** See {@link ClientOptions.maxRetries}. */
  maxRetries?: number | undefined;
  /** More headers. */
  headers?: HeaderValues | undefined;
  /** More parameters of the query, such as those that this SDK does not know yet. */
  query?: Record<string, unknown> | undefined;
  /**
   * Under this key the server does the request once, however often it is sent in 24 hours. Default: every POST makes a key of its own,
   * and keeps it when it is tried again.
   */
  idempotencyKey?: string | undefined;
}

/** Options with every default in place. */
export interface Settings {
  apiKey: string | null;
  baseURL: string;
  timeout: number;
  connectTimeout: number;
  maxRetries: number;
  defaultHeaders: HeaderValues;
  fetch: Fetch;
  fetchOptions: RequestInit;
  logger: Logger | undefined;
}

/** Checks options and fills them in. */
export function settingsOf(options: ClientOptions): Settings {
  const timeout = options.timeout ?? 60_000;
  const apiKey = keyOf(options.apiKey);
  const baseURL = baseOf(options.baseURL);
  if (apiKey !== null && !options.fetch && isInTheClear(baseURL)) {
    throw new PenstockError(
      `the key would cross the network in the clear to ${baseURL}: use https, or pass a fetch of your own where something else protects it`,
    );
  }
  return {
    apiKey,
    baseURL,
    timeout: checkTime('timeout', timeout),
    connectTimeout: checkTime('connectTimeout', options.connectTimeout ?? timeout),
    maxRetries: checkCount('maxRetries', options.maxRetries ?? 2),
    defaultHeaders: options.defaultHeaders ?? {},
    // Looked up at each call, so that what replaces fetch later is used too.
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    fetchOptions: options.fetchOptions ?? {},
    logger: options.logger,
  };
}

/** An error that names the option unless its value is a time in milliseconds. */
export function checkTime(name: string, value: number): number {
  if (typeof value !== 'number' || !(value > 0)) {
    throw new PenstockError(`${name} must be a number of milliseconds above 0`);
  }
  return value;
}

/** An error that names the option unless its value is a count. */
export function checkCount(name: string, value: number): number {
  if (!(Number.isInteger(value) && value >= 0)) {
    throw new PenstockError(`${name} must be a whole number from 0`);
  }
  return value;
}

function keyOf(given: string | null | undefined): string | null {
  const key = given === undefined ? environment('PENSTOCK_API_KEY') : given;
  if (key === null) {
    return null;
  }
  if (key === undefined || key === '') {
    throw new PenstockError('there is no API key: pass apiKey or set PENSTOCK_API_KEY (null sends none)');
  }
  if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key)) {
    throw new PenstockError('apiKey has characters that no key has, such as a space or the end of a line');
  }
  return key;
}

function baseOf(given: string | undefined): string {
  const base = given ?? environment('PENSTOCK_BASE_URL') ?? (onPage() ? '' : 'http://127.0.0.1:8080');
  if (typeof base !== 'string') {
    throw new PenstockError('baseURL must be a string');
  }
  const origin = base.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
  if (origin === '' || /^\/(?!\/)/.test(origin)) {
    if (!onPage()) {
      throw new PenstockError('a relative baseURL needs a page that it is relative to');
    }
    return origin;
  }
  let url: URL;
  try {
    url = new URL(origin);
  } catch {
    throw new PenstockError('baseURL must be a URL such as https://penstock.example.com');
  }
  if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new PenstockError('baseURL must be an http or https URL without user, query and fragment');
  }
  return origin;
}

/** Whether everybody between here and the server can read along. */
function isInTheClear(baseURL: string): boolean {
  const url = new URL(baseURL, globalThis.location?.href);
  return url.protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
}

/** Whether there is a page, or a worker of one, to which a URL can be relative. */
function onPage(): boolean {
  return 'location' in globalThis && /^https?:/.test(globalThis.location?.href ?? '');
}

/** A variable of the environment, where the runtime has one and lets it be read; an empty one is not set. */
function environment(name: string): string | undefined {
  try {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
    return process?.env?.[name] || undefined;
  } catch {
    return undefined; // Deno, without the permission
  }
}
