import type { RequestOptions } from './core.js';
import { PenstockError, WaitTimeoutError } from './errors.js';
import type { EventStream, StreamOptions } from './events.js';
import { Guard, sleep } from './guard.js';
import { checkTime } from './options.js';
import type { APIPromise } from './promise.js';
import { Resource } from './resource.js';
import type { RunEvent, RunItem, RunState, StreamRunEventsQuery } from './types.gen.js';

/** What holds for one wait. */
export interface WaitOptions {
  /** Ends the wait, and not the run; what is thrown is its reason. */
  signal?: AbortSignal | undefined;
  /** Milliseconds after which an {@link WaitTimeoutError} is thrown. Default: none, it waits for as long as it takes. */
  timeout?: number | undefined;
  /** Whether to return a run that is BLOCKED as well: it waits for a person's answer. Default: false. */
  untilBlocked?: boolean | undefined;
  /** Milliseconds between two looks where no stream can be had. Default: 2 000. */
  pollInterval?: number | undefined;
}

const over: readonly RunState[] = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];

/** What is more than one operation of a run. */
export abstract class Waiting extends Resource {
  abstract get(runId: string, options?: RequestOptions): APIPromise<RunItem>;
  abstract events(runId: string, query?: StreamRunEventsQuery, options?: StreamOptions): EventStream<RunEvent>;

  /**
   * Waits until a run is over and returns it, whatever came of it: look at its `state`. It follows the run's events, and where no
   * stream can be had it asks from time to time.
   */
  async wait(run: string | { run_id: string }, options: WaitOptions = {}): Promise<RunItem> {
    const id = typeof run === 'string' ? run : run?.run_id;
    const timeout = checkTime('timeout', options.timeout ?? Number.POSITIVE_INFINITY);
    const interval = checkTime('pollInterval', options.pollInterval ?? 2_000);
    const guard = new Guard(options.signal);
    guard.limit(timeout, `run ${id} is not over after ${timeout} ms`, WaitTimeoutError);
    try {
      for (let after = 0, streams = true, patience = {}; ; patience = { maxRetries: 10 }) {
        // The first look finds a server that is not there; later ones wait about a minute for it to come back.
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

  /** Follows the events after one until the run may be over. Returns the id of the last, or undefined when nothing can be had this way. */
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
