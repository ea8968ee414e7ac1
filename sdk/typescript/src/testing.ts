/**
 * A fake server for tests. It records requests and returns configured responses.
 *
 *     const server = new TestTransport()
 *       .on('POST /agent/runs', { run_id: 'r1', state: 'QUEUED' })
 *       .on('GET /agent/runs/{runId}', problem(503, 'resource_unavailable'), { run_id: 'r1', state: 'SUCCEEDED' });
 *     const client = server.client();
 */
import { Penstock } from './client.js';
import type { ClientOptions, Fetch } from './options.js';
import type { Routes } from './routes.gen.js';
import type { ErrorCode, RunEvent } from './types.gen.js';

/** A recorded request. */
export interface TestRequest {
  method: string;
  /** Path below /api/v1, such as `/agent/runs/r1`. */
  path: string;
  /** Values of the path parameters. */
  args: Record<string, string>;
  query: URLSearchParams;
  headers: Headers;
  /** The body, parsed if it is JSON. Undefined without a body. */
  body: unknown;
}

/** The route of an operation, such as `GET /agent/runs/{runId}`, or any other. */
export type Route = keyof Routes | (`${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}` & {});

type Value<R extends Route> = R extends keyof Routes ? Partial<Routes[R]> : unknown;

/**
 * The response of a route: a value (sent as JSON; undefined is 204), a Response, or a function that returns one of them. A thrown
 * error is a lost connection.
 */
export type TestResponse<R extends Route> =
  | Value<R>
  | Response
  | ((request: TestRequest) => Value<R> | Response | Promise<Value<R> | Response>);

interface Registered {
  method: string;
  pattern: RegExp;
  responses: unknown[];
  used: number;
}

/** The transport. Pass its `fetch` to a client, or create a client with `client()`. */
export class TestTransport {
  /** Every request so far. */
  readonly requests: TestRequest[] = [];
  /** The `fetch` to pass to a client. It uses no network. */
  readonly fetch: Fetch = (url, init) => this.#respond(url, init);
  readonly #routes: Registered[] = [];

  /** Configures the responses of a route. They are returned in order, and the last one repeats. The newest matching route is used. */
  on<R extends Route>(route: R, ...responses: TestResponse<R>[]): this {
    const [method = '', path = ''] = route.split(' ');
    const source = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)');
    this.#routes.unshift({ method, pattern: new RegExp(`^${source}$`), responses, used: 0 });
    return this;
  }

  /** Returns a client of this server. */
  client(options: ClientOptions = {}): Penstock {
    return new Penstock({ apiKey: 'psk_test', baseURL: 'http://127.0.0.1', fetch: this.fetch, ...options });
  }

  async #respond(address: string, init: RequestInit): Promise<Response> {
    init.signal?.throwIfAborted();
    const url = new URL(address, 'http://127.0.0.1');
    const method = init.method ?? 'GET';
    const path = url.pathname.replace(/^.*?\/api\/v1/, '');
    const found = this.#routes.find((r) => r.method === method && r.pattern.test(path));
    const args = Object.entries({ ...found?.pattern.exec(path)?.groups }).map(([name, value]) => [name, decodeURIComponent(value)]);
    const request: TestRequest = {
      method,
      path,
      args: Object.fromEntries(args),
      query: url.searchParams,
      headers: new Headers(init.headers),
      body: typeof init.body === 'string' ? JSON.parse(init.body) : (init.body ?? undefined),
    };
    this.requests.push(request);
    if (!found) {
      return problem(501, 'internal_error', `no response is configured for ${method} ${path}`, { shouldRetry: false });
    }
    const response = found.responses[Math.min(found.used++, found.responses.length - 1)];
    const value: unknown = await orAborted(typeof response === 'function' ? response(request) : response, init.signal);
    if (value instanceof Response) {
      return value.clone();
    }
    const headers = { 'X-Request-Id': `test-${this.requests.length}` };
    return value === undefined ? new Response(null, { status: 204, headers }) : Response.json(value, { headers });
  }
}

/** Retry headers of a {@link problem}. */
export interface ProblemOptions {
  /** Default: whether the status is 408, 429 or 5xx. */
  shouldRetry?: boolean;
  /** Seconds. Default: 0, so that a test does not wait. */
  retryAfter?: number;
}

/** An error response of the API (RFC 9457). */
export function problem(status: number, code: ErrorCode, detail?: string, options: ProblemOptions = {}): Response {
  const { shouldRetry = status === 408 || status === 429 || status >= 500, retryAfter = 0 } = options;
  const title = code.replaceAll('_', ' ').replace(/^./, (letter) => letter.toUpperCase());
  const body = {
    type: `http://127.0.0.1/docs/errors/${code}`,
    title,
    status,
    error: detail ? `${title}: ${detail}` : title,
    ...(detail ? { detail } : {}),
  };
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      'Content-Type': 'application/problem+json',
      'X-Request-Id': 'test-problem',
      'X-Should-Retry': String(shouldRetry),
      ...(shouldRetry ? { 'Retry-After': String(retryAfter) } : {}),
    },
  });
}

/** A stream of events for `client.runs.events`. Without a final `done` event, the stream breaks at its end. */
export function events(list: readonly RunEvent[]): Response {
  const text = list.map((event) => {
    const { id, data } = event as { id?: number; data?: unknown };
    return `${id === undefined ? '' : `id: ${id}\n`}event: ${event.event}\ndata: ${JSON.stringify(data)}\n\n`;
  });
  return new Response(text.join(''), { headers: { 'Content-Type': 'text/event-stream' } });
}

/** The result of a response function, unless the signal aborts it. */
function orAborted(response: unknown, signal: AbortSignal | null | undefined): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    Promise.resolve(response)
      .then(resolve, reject)
      .finally(() => signal?.removeEventListener('abort', abort));
  });
}
