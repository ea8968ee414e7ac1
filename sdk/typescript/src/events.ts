import { bodyOf, type Core, delayOf } from './core.js';
import { APIConnectionError, InvalidResponseError } from './errors.js';
import { sleep } from './guard.js';
import { checkCount, checkTime, type RequestOptions } from './options.js';
import type { Call } from './request.js';
import { type RawEvent, SSEParser } from './sse.js';

/** Options of an event stream. */
export interface StreamOptions extends Omit<RequestOptions, 'timeout' | 'idempotencyKey'> {
  /** Milliseconds without data after which a connection counts as lost. The server sends data every 15 s. Default: 60 000. */
  idleTimeout?: number | undefined;
  /** Maximum consecutive reconnects without a new event. Default: 10, which takes about a minute. */
  maxRetries?: number | undefined;
}

/** A connection that lasts this many milliseconds counts as good, even without events. */
const good = 10_000;

/**
 * The events of a run, past events first, then live events, until the run ends: `for await (const event of stream)`. If the
 * connection is lost, the stream reconnects and resumes after the last event, so it misses and repeats none. Leaving the loop ends
 * the connection.
 */
export class EventStream<T> implements AsyncIterable<T> {
  /** The id of the last event, to resume after it later. 0 before the first. */
  lastEventId: number;
  readonly #core: Core;
  readonly #call: Call;
  readonly #options: StreamOptions;

  constructor(core: Core, call: Call, options: StreamOptions) {
    this.#core = core;
    this.#call = call;
    this.#options = options;
    this.lastEventId = (call.query as { after?: number } | undefined)?.after ?? 0;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const { signal } = this.#options;
    const maxRetries = checkCount('maxRetries', this.#options.maxRetries ?? 10);
    const parser = new SSEParser();
    for (let failures = 0; ; failures++) {
      const [before, start] = [this.lastEventId, performance.now()];
      let lost: unknown;
      try {
        if (yield* this.#connection(parser)) {
          return;
        }
        lost = new APIConnectionError('the stream ended before the run did');
      } catch (error) {
        lost = error;
      }
      if (this.lastEventId !== before || performance.now() - start > good) {
        failures = 0;
      }
      const delay = delayOf(lost, failures);
      if (signal?.aborted || delay === undefined || failures >= maxRetries) {
        throw lost;
      }
      await sleep(parser.retry ?? delay, signal);
    }
  }

  /** The events of one connection. Returns whether the run has ended. */
  async *#connection(parser: SSEParser): AsyncGenerator<T, boolean, undefined> {
    const { idleTimeout, ...options } = this.#options;
    const idle = checkTime('idleTimeout', idleTimeout ?? 60_000);
    const headers = this.lastEventId > 0 ? { ...options.headers, 'Last-Event-ID': String(this.lastEventId) } : options.headers;
    const opened = await this.#core.open(this.#call, { ...options, headers, maxRetries: 0 }, 'text/event-stream');
    const { response, guard } = opened;
    try {
      if (response.status === 204) {
        return true;
      }
      if (!response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
        throw unexpected(response, `${response.status}, but the response is not an event stream (${response.headers.get('Content-Type')})`);
      }
      const reader = bodyOf(opened, idle)?.getReader();
      parser.restart();
      for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader?.read()) {
        for (const raw of parser.push(chunk.value)) {
          const event = parseEvent(raw, response);
          this.lastEventId = event.id ?? this.lastEventId;
          yield event as T;
          if (event.event === 'done') {
            return true;
          }
        }
      }
      return false;
    } finally {
      guard.abort();
    }
  }
}

function parseEvent(raw: RawEvent, response: Response): { id?: number; event: string; data: unknown } {
  try {
    const event = { event: raw.event, data: JSON.parse(raw.data) as unknown };
    return raw.id === undefined ? event : { id: Number(raw.id), ...event };
  } catch {
    throw unexpected(response, `the data of event ${raw.id ?? ''} (${raw.event}) is not JSON`);
  }
}

function unexpected({ status, headers }: Response, message: string): InvalidResponseError {
  return new InvalidResponseError({ status, headers, text: '' }, message);
}
