import type { RequestOptions } from './core.js';
import { PenstockError, WaitTimeoutError } from './errors.js';
import type { EventStream, StreamOptions } from './events.js';
import { Guard, sleep } from './guard.js';
import { checkTime } from './options.js';
import type { APIPromise } from './promise.js';
import { Resource } from './resource.js';
import type { RunEvent, RunItem, RunState, StreamRunEventsQuery } from './types.gen.js';

/** Options of a wait. */
export interface WaitOptions {
  /** Aborts the wait, not the run. The wait throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Milliseconds after which a {@link WaitTimeoutError} is thrown. Default: no timeout. */
  timeout?: number | undefined;
  /** Whether to also return a BLOCKED run, which waits for a person's reply. Default: false. */
  untilBlocked?: boolean | undefined;
  /** Polling interval in milliseconds if the stream is unavailable. Default: 2 000. */
  pollInterval?: number | undefined;
}

const over: readonly RunState[] = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];

/** Methods of runs that combine several operations. */
export abstract class Waiting extends Resource {
  abstract get(runId: string, options?: RequestOptions): APIPromise<RunItem>;
  abstract events(runId: string, query?: StreamRunEventsQuery, options?: StreamOptions): EventStream<RunEvent>;

  /**
   * Waits until a run ends, in any final state, and returns it. It follows the run's events, or polls if the stream is
   * unavailable.
   */
  async wait(run: string | { run_id: string }, options: WaitOptions = {}): Promise<RunItem> {
    const id = typeof run === 'string' ? run : run?.run_id;
    const timeout = checkTime('timeout', options.timeout ?? Number.POSITIVE_INFINITY);
    const interval = checkTime('pollInterval', options.pollInterval ?? 2_000);
    const guard = new Guard(options.signal);
    guard.limit(timeout, `run ${id} has not ended after ${timeout} ms`, WaitTimeoutError);
    try {
      for (let after = 0, streams = true, patience = {}; ; patience = { maxRetries: 10 }) {
        // If the first request finds no server, it fails. Later ones wait about a minute for the server to come back.
        const item = await this.get(id, { signal: guard.signal, ...patience });
        if (over.includes(item.state) || (options.untilBlocked && item.state === 'BLOCKED')) {
          return item;
        }
        const last: number | undefined = streams ? await this.#follow(id, after, guard.signal, options.untilBlocked ?? false) : undefined;
        streams = last !== undefined;
        after = last ?? after;
        if (!streams) {
          await sleep(interval, guard.signal);
        }
      }
    } finally {
      guard.release();
    }
  }

  /** Follows the events until the run may have ended. Returns the id of the last event, or undefined if the stream is unavailable. */
  async #follow(id: string, after: number, signal: AbortSignal, untilBlocked: boolean): Promise<number | undefined> {
    const stream = this.events(id, { after }, { signal, maxRetries: 2 });
    try {
      for await (const event of stream) {
        if (event.event === 'done' || (untilBlocked && event.event === 'state' && event.data.state === 'BLOCKED')) {
          return stream.lastEventId;
        }
      }
    } catch (error) {
      if (signal.aborted || !(error instanceof PenstockError)) {
        throw error;
      }
    }
    return undefined;
  }
}
