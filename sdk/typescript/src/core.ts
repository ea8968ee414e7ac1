import { APIConnectionError, APIError, errorOf, InvalidResponseError, responseOf, retryAfterOf } from './errors.js';
import { EventStream, type StreamOptions } from './events.js';
import { backoff, Guard, sleep } from './guard.js';
import { checkCount, checkTime, type RequestOptions, type Settings } from './options.js';
import { PagePromise } from './page.js';
import { APIPromise, type Outcome } from './promise.js';
import { type Call, encode, type Request } from './request.js';

export type { RequestOptions } from './options.js';

/** A response with status 2xx and its body. */
interface ReadResponse {
  status: number;
  headers: Headers;
  text: string;
}

/** A response with status 2xx and an unread body. Its recipient ends the guard. */
export interface Opened {
  response: Response;
  guard: Guard;
}

/** Timeouts of a call. */
interface Limits {
  timeout: number;
  connectTimeout: number;
  maxRetries: number;
  signal: AbortSignal | undefined;
}

/** Sends requests, retries them where a retry can help, and decodes their responses. */
export class Core {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** An operation that returns JSON. */
  json<T>(call: Call, options?: RequestOptions): APIPromise<T> {
    return new APIPromise(this.#read(call, options, (response) => parse(response) as T));
  }

  /** An operation that returns nothing. */
  none(call: Call, options?: RequestOptions): APIPromise<void> {
    return new APIPromise(this.#read(call, options, () => undefined));
  }

  /** A request to an unknown endpoint: JSON is parsed, other text is returned unchanged, and an empty body is undefined. */
  anything<T>(call: Call, options?: RequestOptions): APIPromise<T> {
    const take = (response: ReadResponse) => (isJSON(response.headers) ? parse(response) : response.text || undefined);
    return new APIPromise(this.#read(call, options, (response) => take(response) as T));
  }

  /** An operation that returns a page of items. */
  page<B, T>(call: Call & { items: string }, options?: RequestOptions): PagePromise<B, T> {
    const body = this.#read(call, options, (response) => parse(response) as B);
    return new PagePromise<B, T>(body, call.items, (cursor) => this.page({ ...call, query: { ...call.query, cursor } }, options));
  }

  /** An operation that returns bytes: a Response with an unread body. A pause longer than the timeout is an error. */
  bytes(call: Call, options?: RequestOptions): APIPromise<Response> {
    return new APIPromise(this.#download(call, options));
  }

  /** An operation that redirects to a signed link. The link can lead to another host, so the key is not sent. */
  link(call: Call, options?: RequestOptions): APIPromise<Response> {
    return new APIPromise(this.#download({ ...call, isLink: true }, options));
  }

  /** An operation that returns server-sent events. */
  events<T>(call: Call, options?: StreamOptions): EventStream<T> {
    return new EventStream<T>(this, call, options ?? {});
  }

  /** Sends a request until the response has status 2xx, and returns it with an unread body. */
  open(call: Call, options: RequestOptions = {}, accept = '*/*'): Promise<Opened> {
    return this.#repeat(call, options, accept, async (opened) => opened);
  }

  async #read<T>(call: Call, options: RequestOptions = {}, take: (response: ReadResponse) => T): Promise<Outcome<T>> {
    const response = await this.#repeat(call, options, 'application/json', async ({ response, guard }) => {
      const text = await read(response, guard);
      guard.release();
      return { status: response.status, headers: response.headers, text };
    });
    return { data: take(response), response: () => responseOf(response) };
  }

  async #download(call: Call, options: RequestOptions = {}): Promise<Outcome<Response>> {
    const opened = await this.open(call, options);
    const { status, statusText, headers } = opened.response;
    const body = bodyOf(opened, checkTime('timeout', options.timeout ?? this.#settings.timeout));
    const data = new Response(body, { status, statusText, headers });
    return { data, response: () => data };
  }

  /** Repeats until an attempt succeeds, a retry cannot help, or no attempts remain. */
  async #repeat<T>(call: Call, options: RequestOptions, accept: string, use: (opened: Opened) => Promise<T>): Promise<T> {
    const settings = this.#settings;
    const limits = limitsOf(settings, options);
    const request = await encode(settings, call, options, accept);
    for (let failures = 0; ; failures++) {
      try {
        return await use(await this.#attempt(request, limits));
      } catch (error) {
        const wait = delayOf(error, failures);
        const ended = limits.signal?.aborted || failures >= limits.maxRetries || !request.repeatable;
        if (ended || wait === undefined) {
          throw error;
        }
        settings.logger?.info('penstock: trying again', { ...request.facts, after_ms: Math.round(wait), reason: reasonOf(error) });
        await sleep(wait, limits.signal);
      }
    }
  }

  /** One attempt. The guard stays active for the body. */
  async #attempt(request: Request, limits: Limits): Promise<Opened> {
    const { logger } = this.#settings;
    const start = performance.now();
    const guard = new Guard(limits.signal);
    const first = Math.min(limits.timeout, limits.connectTimeout);
    guard.limit(first, `${request.name}: no response within ${first} ms`);
    logger?.debug('penstock: request', request.facts);
    try {
      let response = await this.#fetch(request.url, request.init, guard);
      logger?.debug('penstock: response', {
        ...request.facts,
        status: response.status,
        request_id: response.headers.get('X-Request-Id') ?? undefined,
        duration_ms: Math.round(performance.now() - start),
      });
      if (request.isLink && isRedirect(response)) {
        response = await this.#follow(request, response, guard);
      }
      guard.limit(start + limits.timeout - performance.now(), `${request.name}: the response took longer than ${limits.timeout} ms`);
      if (!response.ok) {
        throw await refusal(response, guard);
      }
      return { response, guard };
    } catch (error) {
      guard.release();
      throw error;
    }
  }

  async #fetch(url: string, init: RequestInit, guard: Guard): Promise<Response> {
    try {
      const response = await this.#settings.fetch(url, { ...init, signal: guard.signal });
      if (!guard.signal.aborted) {
        return response;
      }
    } catch (cause) {
      throw failure(cause, guard);
    }
    throw guard.signal.reason;
  }

  /** Follows a link without the key and other headers that are only for the API. */
  async #follow(request: Request, response: Response, guard: Guard): Promise<Response> {
    const { fetchOptions } = this.#settings;
    if (response.type === 'opaqueredirect') {
      // A page is not told where a redirect leads. Its fetch follows by itself, and leaves the key out where the origin is another
      // one (Fetch Standard, HTTP-redirect fetch, step 13); of other headers it would leave out none.
      const given = request.init.headers as Headers;
      const headers = [...given].filter(([name]) => name === 'accept' || name === 'authorization');
      return await this.#fetch(request.url, { ...request.init, headers, redirect: 'follow' }, guard);
    }
    const from = new URL(request.url, globalThis.location?.href);
    const to = linkOf(response, from);
    if (!to || (from.protocol === 'https:' && to.protocol === 'http:')) {
      const { status, headers } = response;
      throw new InvalidResponseError(
        { status, headers, text: '' },
        `${request.name}: the server's link leads to ${to?.origin ?? 'no address'}`,
      );
    }
    void response.body?.cancel().catch(() => undefined);
    const { credentials: _, headers: __, ...init } = fetchOptions;
    return await this.#fetch(to.href, { ...init, redirect: 'follow' }, guard);
  }
}

function limitsOf(settings: Settings, options: RequestOptions): Limits {
  const timeout = checkTime('timeout', options.timeout ?? settings.timeout);
  return {
    timeout,
    connectTimeout: checkTime('connectTimeout', options.connectTimeout ?? settings.connectTimeout),
    maxRetries: checkCount('maxRetries', options.maxRetries ?? settings.maxRetries),
    signal: options.signal,
  };
}

function isRedirect(response: Response): boolean {
  return response.type === 'opaqueredirect' || (response.status >= 301 && response.status <= 308 && response.headers.has('Location'));
}

/** The target of a redirect to the web. */
function linkOf(response: Response, from: URL): URL | undefined {
  try {
    const to = new URL(response.headers.get('Location') ?? '', from);
    return /^https?:$/.test(to.protocol) ? to : undefined;
  } catch {
    return undefined;
  }
}

/** The error for a response that is not 2xx. */
async function refusal(response: Response, guard: Guard): Promise<APIError> {
  const { status, headers } = response;
  if (isRedirect(response)) {
    // Not followed: the key would be sent along, and a POST would become a GET.
    void response.body?.cancel().catch(() => undefined);
    const to = (headers.get('Location') ?? 'elsewhere').replace(/[?#].*/s, '');
    return new InvalidResponseError(
      { status, headers, text: '' },
      `${status || 'redirect'}: the server redirects to ${to}, and the API does not: is baseURL right?`,
    );
  }
  return errorOf({ status, headers, text: await read(response, guard) });
}

async function read(response: Response, guard: Guard): Promise<string> {
  try {
    return await response.text();
  } catch (cause) {
    throw failure(cause, guard);
  }
}

/** The error for a failed fetch or an interrupted body. */
export function failure(cause: unknown, guard: Guard): unknown {
  guard.release();
  if (guard.signal.aborted) {
    return guard.signal.reason;
  }
  const { message, cause: deeper } = (cause ?? {}) as { message?: string; cause?: { message?: string; code?: string } };
  const why = [message, deeper?.message || deeper?.code].filter(Boolean).join(': ');
  return new APIConnectionError(`no complete response: ${why || String(cause)}`, { cause });
}

/** The longest `Retry-After` to wait for, in seconds. If it is longer, the caller decides what to do. */
const patience = 60;

/** Milliseconds to wait before a retry, or undefined if a retry cannot help. */
export function delayOf(error: unknown, failures: number): number | undefined {
  if (error instanceof APIConnectionError) {
    return backoff(failures);
  }
  if (error instanceof APIError && error.retryable) {
    const told = retryAfterOf(error.headers);
    if (told === undefined) {
      return backoff(failures);
    }
    return told <= patience ? told * 1000 : undefined;
  }
  return undefined;
}

/** A short name of an error, for the log. */
export function reasonOf(error: unknown): string {
  return error instanceof APIError ? `${error.statusCode} ${error.code ?? ''}`.trim() : (error as Error).name;
}

function isJSON(headers: Headers): boolean {
  return /[/+]json\b/i.test(headers.get('Content-Type') ?? '');
}

function parse(response: ReadResponse): unknown {
  if (isJSON(response.headers)) {
    try {
      return JSON.parse(response.text);
    } catch {
      // The content type is JSON, but the body is not.
    }
  }
  const type = response.headers.get('Content-Type') ?? 'no content type';
  throw new InvalidResponseError(
    response,
    `${response.status}, but the response is not JSON (${type}): is baseURL right, and is a proxy in between?`,
  );
}

/** The body of a response. A pause longer than `idle`, or any other interruption, is an error of this SDK. The guard ends with the body. */
export function bodyOf({ response, guard }: Opened, idle: number): ReadableStream<Uint8Array> | null {
  const reader = response.body?.getReader();
  if (!reader) {
    guard.release();
    return null;
  }
  guard.limit(Number.POSITIVE_INFINITY, '');
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      // Only during a read: a slow reader is not the server's fault.
      guard.limit(idle, `no data for ${idle} ms`);
      try {
        const { done, value } = await reader.read();
        guard.limit(Number.POSITIVE_INFINITY, '');
        if (!done) {
          controller.enqueue(value);
          return;
        }
        guard.release();
        controller.close();
      } catch (cause) {
        controller.error(failure(cause, guard));
      }
    },
    cancel() {
      guard.abort();
    },
  });
}
