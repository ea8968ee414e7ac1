import { PenstockError } from './errors.js';

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A logger, such as `console`. Messages are constants with separate attributes. They never contain keys, headers or bodies. */
export interface Logger {
  debug(message: string, facts: Record<string, unknown>): void;
  info(message: string, facts: Record<string, unknown>): void;
}

/** Headers by name. Null removes a default header. */
export type HeaderValues = Record<string, string | null | undefined>;

/** Options of a client. */
export interface ClientOptions {
  /** The API key. Default: `PENSTOCK_API_KEY`. Null sends no key, for use with a session cookie. */
  apiKey?: string | null | undefined;
  /**
   * The server's address, such as `https://penstock.example.com`, without `/api/v1`. Default: `PENSTOCK_BASE_URL`, or else
   * `http://127.0.0.1:8080`. On a web page the default is the page's own origin, which is also `''`.
   */
  baseURL?: string | undefined;
  /** Timeout of each attempt in milliseconds, until the last byte of the response. Default: 60 000. */
  timeout?: number | undefined;
  /**
   * Timeout of each attempt in milliseconds, until the first byte of the response. Default: `timeout`. It includes the connection,
   * because `fetch` does not report when it is connected.
   */
  connectTimeout?: number | undefined;
  /** Maximum number of retries of a call. Default: 2. */
  maxRetries?: number | undefined;
  /** Headers of every request to the API. Never sent to another host. */
  defaultHeaders?: HeaderValues | undefined;
  /** The function that sends requests. Default: the runtime's `fetch`. */
  fetch?: Fetch | undefined;
  /** Additional options of each `fetch`, such as `credentials`, or Node's `dispatcher` for a proxy. */
  fetchOptions?: (RequestInit & Record<string, unknown>) | undefined;
  /** Logger for requests (debug) and retries (info). Default: none. */
  logger?: Logger | undefined;
}

/** Options of one call. */
export interface RequestOptions {
  /** Aborts the call, which then throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** See {@link ClientOptions.timeout}. */
  timeout?: number | undefined;
  /** See {@link ClientOptions.connectTimeout}. */
  connectTimeout?: number | undefined;
  /** See {@link ClientOptions.maxRetries}. */
  maxRetries?: number | undefined;
  /** Additional headers. */
  headers?: HeaderValues | undefined;
  /** Additional query parameters, such as those that this SDK does not know yet. */
  query?: Record<string, unknown> | undefined;
  /**
   * The server processes requests with the same key only once in 24 hours. Default: each POST generates its own key and keeps it for
   * its retries.
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
      `the key would be sent unencrypted to ${baseURL}: use https, or pass your own fetch if the connection is protected otherwise`,
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
  const value = given === undefined ? environment('PENSTOCK_API_KEY') : given;
  if (value === null) {
    return null;
  }
  const key = typeof value === 'string' ? value.trim() : value; // a key that was read from a file ends with a line end
  if (key === undefined || key === '') {
    throw new PenstockError('no API key: pass apiKey or set PENSTOCK_API_KEY (null sends no key)');
  }
  if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key)) {
    throw new PenstockError('apiKey contains invalid characters, such as a space or a line break');
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
      throw new PenstockError('a relative baseURL works only on a web page');
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

/** Whether the connection to the server is unencrypted. */
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
