import { APITimeoutError } from './errors.js';

/** The longest timeout of a timer: about 25 days. */
const longest = 2 ** 31 - 1;

/** Ends a request when the caller's signal aborts or its timeout expires. The request throws the signal's reason. */
export class Guard {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #follow = () => this.#controller.abort(this.#caller?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(caller?: AbortSignal) {
    this.#caller = caller;
    if (caller?.aborted) {
      this.#follow();
    } else {
      caller?.addEventListener('abort', this.#follow, { once: true });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts a timeout in milliseconds that ends the request with this message. Replaces the previous timeout. */
  limit(ms: number, message: string, Reason: new (message: string) => Error = APITimeoutError): void {
    clearTimeout(this.#timer);
    this.#timer = ms > longest ? undefined : setTimeout(() => this.#controller.abort(new Reason(message)), Math.max(0, ms));
  }

  /** Ends the request now. */
  abort(): void {
    this.#controller.abort();
    this.release();
  }

  /** Releases the timer and the listener. */
  release(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#follow);
  }
}

/** Waits. Throws the signal's reason if it aborts. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** Default delay before a retry, by the number of failures: 0.5 s, doubled each time up to 8 s, half of it random. */
export function backoff(failures: number): number {
  return Math.min(8_000, 500 * 2 ** failures) * (1 - Math.random() / 2);
}
