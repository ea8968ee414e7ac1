import { APITimeoutError } from './errors.js';

/** The longest time that a timer can be set to: about 25 days. */
const longest = 2 ** 31 - 1;

/** Ends a request: when the caller's signal says so, or when its time is over. The signal's reason is what is to be thrown. */
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

  /** From now on there are so many milliseconds; then it ends with this message. Replaces the limit before. */
  limit(ms: number, message: string, Reason: new (message: string) => Error = APITimeoutError): void {
    clearTimeout(this.#timer);
    this.#timer = ms > longest ? undefined : setTimeout(() => this.#controller.abort(new Reason(message)), Math.max(0, ms));
  }

  /** Ends the request now. */
  abort(): void {
    this.#controller.abort();
    this.release();
  }

  /** Nothing is waited for any more. */
  release(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#follow);
  }
}

/** Waits, unless the signal is aborted: then it throws the signal's reason. */
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

/** How long to wait before the try after so many failures, when nobody said: 0.5 s, then twice as long each time up to 8 s, of it a random half. */
export function backoff(failures: number): number {
  return Math.min(8_000, 500 * 2 ** failures) * (1 - Math.random() / 2);
}
