import { APIConnectionError, APIError, errorOf, InvalidResponseError, responseOf, retryAfterOf } from './errors.js';
import { EventStream, type StreamOptions } from './events.js';
import { backoff, Guard, sleep } from './guard.js';
import { checkCount, checkTime, type RequestOptions, type Settings } from './options.js';
import { PagePromise } from './page.js';
import { APIPromise, type Outcome } from './promise.js';
import { type Call, encode, type Request } from './request.js';

export type { RequestOptions } from './options.js';

/** An answer of status 2xx, read. */
interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** An answer of status 2xx whose body is still to come. Who gets one ends the guard. */
export interface Opened {
  response: Response;
  guard: Guard;
}

/** Limits of a call. */
interface Limits {
  timeout: number;
  connectTimeout: number;
  maxRetries: number;
  signal: AbortSignal | undefined;
}

/** Sends requests, again where that can help, and makes of their answers what the operations promise. */
export class Core {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** An operation that answers with JSON. */
  json<T>(call: Call, options?: RequestOptions): APIPromise<T> {
    return new APIPromise(this.#read(call, options, (answer) => parse(answer) as T));
  }

  /** An operation that answers with nothing. */
  none(call: Call, options?: RequestOptions): APIPromise<void> {
    return new APIPromise(this.#read(call, options, () => undefined));
  }

  /** A request of an endpoint that nothing is known about: JSON is parsed, another text is handed on, no body is undefined. */
  anything<T>(call: Call, options?: RequestOptions): APIPromise<T> {
    const take = (answer: Answer) => (isJSON(answer.headers) ? parse(answer) : answer.text || undefined);
    return new APIPromise(this.#read(call, options, (answer) => take(answer) as T));
  }

  /** An operation that answers with a page of items. */
  page<B, T>(call: Call & { items: string }, options?: RequestOptions): PagePromise<B, T> {
    const body = this.#read(call, options, (answer) => parse(answer) as B);
    return new PagePromise<B, T>(body, call.items, (cursor) => this.page({ ...call, query: { ...call.query, cursor } }, options));
  }

  /** An operation that answers with bytes: a Response whose body is still to be read, without pauses longer than the timeout. */
  bytes(call: Call, options?: RequestOptions): APIPromise<Response> {
    return new APIPromise(this.#download(call, options));
  }

  /** An operation that answers with a link to bytes. The link needs no key, and may lead to another host: none is sent. */
  link(call: Call, options?: RequestOptions): APIPromise<Response> {
    return new APIPromise(this.#download({ ...call, isLink: true }, options));
  }

  /** An operation that answers with server-sent events. */
  events<T>(call: Call, options?: StreamOptions): EventStream<T> {
    return new EventStream<T>(this, call, options ?? {});
  }

  /** Sends a request until there is an answer of status 2xx, and hands it on unread. */
  open(call: Call, options: RequestOptions = {}, accept = '*/*'): Promise<Opened> {
    return this.#repeat(call, options, accept, async (opened) => opened);
  }

  async #read<T>(call: Call, options: RequestOptions = {}, take: (answer: Answer) => T): Promise<Outcome<T>> {
    const answer = await this.#repeat(call, options, 'application/json', async ({ response, guard }) => {
      const text = await read(response, guard);
      guard.release();
      return { status: response.status, headers: response.headers, text };
    });
    return { data: take(answer), response: () => responseOf(answer) };
  }

  async #download(call: Call, options: RequestOptions = {}): Promise<Outcome<Response>> {
    const opened = await this.open(call, options);
    const { status, statusText, headers } = opened.response;
    const body = bodyOf(opened, checkTime('timeout', options.timeout ?? this.#settings.timeout));
    const data = new Response(body, { status, statusText, headers });
    return { data, response: () => data };
  }

  /** Tries until an attempt succeeds, cannot help, or is the last. */
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

  /** One try. The guard stays in force for the body. */
  async #attempt(request: Request, limits: Limits): Promise<Opened> {
    const { logger } = this.#settings;
    const start = performance.now();
    const guard = new Guard(limits.signal);
    const first = Math.min(limits.timeout, limits.connectTimeout);
    guard.limit(first, `${request.name}: no answer within ${first} ms`);
    logger?.debug('penstock: request', request.facts);
    try {
      let response = await this.#fetch(request.url, request.init, guard);
      logger?.debug('penstock: answer', {
        ...request.facts,
        status: response.status,
        request_id: response.headers.get('X-Request-Id') ?? undefined,
        duration_ms: Math.round(performance.now() - start),
      });
      if (request.isLink && isRedirect(response)) {
        response = await this.#follow(request, response, guard);
      }
      guard.limit(start + limits.timeout - performance.now(), `${request.name}: the answer took longer than ${limits.timeout} ms`);
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

  /** Goes where a link leads, without the key and whatever else is sent to the API alone. */
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

/** Where a redirect leads on the web. */
function linkOf(response: Response, from: URL): URL | undefined {
  try {
    const to = new URL(response.headers.get('Location') ?? '', from);
    return /^https?:$/.test(to.protocol) ? to : undefined;
  } catch {
    return undefined;
  }
}

/** The error for an answer that is not 2xx. */
async function refusal(response: Response, guard: Guard): Promise<APIError> {
  const { status, headers } = response;
  if (isRedirect(response)) {
    // Not followed: the key would go along, and a POST would become a GET.
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

/** What a failed fetch, or a body that broke off, is for the caller. */
export function failure(cause: unknown, guard: Guard): unknown {
  guard.release();
  if (guard.signal.aborted) {
    return guard.signal.reason;
  }
  const { message, cause: deeper } = (cause ?? {}) as { message?: string; cause?: { message?: string; code?: string } };
  const why = [message, deeper?.message || deeper?.code].filter(Boolean).join(': ');
  return new APIConnectionError(`no whole answer came: ${why || String(cause)}`, { cause });
}

/** The longest `Retry-After`, in seconds, that is waited for: beyond it the caller knows better what to do meanwhile. */
const patience = 60;

/** How long to wait before the next try after an error; undefined where another try cannot help. */
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

/** An error in a word for the log. */
export function reasonOf(error: unknown): string {
  return error instanceof APIError ? `${error.statusCode} ${error.code ?? ''}`.trim() : (error as Error).name;
}

function isJSON(headers: Headers): boolean {
  return /[/+]json\b/i.test(headers.get('Content-Type') ?? '');
}

function parse(answer: Answer): unknown {
  if (isJSON(answer.headers)) {
    try {
      return JSON.parse(answer.text);
    } catch {
      // It says that it is JSON, and is not.
    }
  }
  const type = answer.headers.get('Content-Type') ?? 'no content type';
  throw new InvalidResponseError(
    answer,
    `${answer.status}, but the answer is not JSON (${type}): is baseURL right, and is a proxy in between?`,
  );
}

/** The body of an answer. Pauses longer than idle, and whatever else breaks it off, are our errors; the guard ends with it. */
export function bodyOf({ response, guard }: Opened, idle: number): ReadableStream<Uint8Array> | null {
  const reader = response.body?.getReader();
  if (!reader) {
    guard.release();
    return null;
  }
  guard.limit(Number.POSITIVE_INFINITY, '');
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      // Only while something is asked for: who reads slowly is not the server's fault.
      guard.limit(idle, `nothing came for ${idle} ms`);
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
