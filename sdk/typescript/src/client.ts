import { Core, type RequestOptions } from './core.js';
import { type ClientOptions, settingsOf } from './options.js';
import type { APIPromise } from './promise.js';
import type { Call } from './request.js';
import { Resources } from './resources.gen.js';

/**
 * A client for one Penstock server. It holds no connections and does not need to be closed.
 *
 *     const client = new Penstock(); // PENSTOCK_API_KEY, PENSTOCK_BASE_URL
 *     const { run_id } = await client.runs.create({ prompt: 'Fix the flaky login test' });
 *     const run = await client.runs.wait(run_id);
 */
export class Penstock extends Resources {
  readonly #core: Core;

  constructor(options: ClientOptions = {}) {
    const core = new Core(settingsOf(options));
    super(core);
    this.#core = core;
  }

  /** GET an endpoint that has no method here. `path` is relative to `/api/v1`. JSON is parsed; any other body is returned as a string. */
  get<T = unknown>(path: string, options?: RequestOptions): APIPromise<T> {
    return this.#send('GET', path, undefined, options);
  }

  /** POST, like {@link get}. It is sent with an idempotency key and can be retried. */
  post<T = unknown>(path: string, body?: unknown, options?: RequestOptions): APIPromise<T> {
    return this.#send('POST', path, body, options);
  }

  /** PUT, like {@link get}. Never retried. */
  put<T = unknown>(path: string, body?: unknown, options?: RequestOptions): APIPromise<T> {
    return this.#send('PUT', path, body, options);
  }

  /** PATCH, like {@link get}. Never retried. */
  patch<T = unknown>(path: string, body?: unknown, options?: RequestOptions): APIPromise<T> {
    return this.#send('PATCH', path, body, options);
  }

  /** DELETE, like {@link get}. Never retried. */
  delete<T = unknown>(path: string, options?: RequestOptions): APIPromise<T> {
    return this.#send('DELETE', path, undefined, options);
  }

  #send<T>(method: Call['method'], path: string, body: unknown, options: RequestOptions | undefined): APIPromise<T> {
    return this.#core.anything<T>({ method, path, ...(body === undefined ? {} : { body }) }, options);
  }
}
