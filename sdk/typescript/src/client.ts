import { Core, type RequestOptions } from './core.js';
import { type ClientOptions, settingsOf } from './options.js';
import type { APIPromise } from './promise.js';
import type { Call } from './request.js';
import { Resources } from './resources.gen.js';

/**
 * A client of one Penstock server. It holds no connection and needs no end.
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

  /** GET of an endpoint that has no method here; path is what follows `/api/v1`. JSON is parsed, another body is a string. */
  get<T = unknown>(path: string, options?: RequestOptions): APIPromise<T> {
    return this.#send('GET', path, undefined, options);
  }

  /** POST, as {@link get}. It has an idempotency key, and is tried again under it. */
  post<T = unknown>(path: string, body?: unknown, options?: RequestOptions): APIPromise<T> {
    return this.#send('POST', path, body, options);
  }

  /** PUT, as {@link get}; it is never tried again. */
  put<T = unknown>(path: string, body?: unknown, options?: RequestOptions): APIPromise<T> {
    return this.#send('PUT', path, body, options);
  }

  /** PATCH, as {@link get}; it is never tried again. */
  patch<T = unknown>(path: string, body?: unknown, options?: RequestOptions): APIPromise<T> {
    return this.#send('PATCH', path, body, options);
  }

  /** DELETE, as {@link get}; it is never tried again. */
  delete<T = unknown>(path: string, options?: RequestOptions): APIPromise<T> {
    return this.#send('DELETE', path, undefined, options);
  }

  #send<T>(method: Call['method'], path: string, body: unknown, options: RequestOptions | undefined): APIPromise<T> {
    return this.#core.anything<T>({ method, path, ...(body === undefined ? {} : { body }) }, options);
  }
}
