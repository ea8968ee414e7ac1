import type { RunEvent, RunItem } from '@penstock/sdk';
import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { client } from '../../api.ts';
import { useVisible } from '../../live.ts';
import { isActive } from './state.ts';
import { emptyTranscript, Folder, type Transcript } from './transcript.ts';

/** The number of reconnections in a row: no limit while the page is open. */
const always = 1_000_000;

/** The log of one run, as far as it was read. Events within one frame render together. */
class RunLog {
  readonly #runId: string;
  transcript: Transcript = emptyTranscript;
  readonly #folder = new Folder();
  readonly #listeners = new Set<() => void>();
  #waiting: RunEvent[] = [];
  #frame: number | undefined;

  constructor(runId: string) {
    this.#runId = runId;
  }

  readonly subscribe = (changed: () => void): (() => void) => {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  };

  readonly current = (): Transcript => this.transcript;

  /** Reads events after the last one, until signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    this.#flush();
    const stream = client.runs.events(this.#runId, { after: this.transcript.lastId }, { signal, maxRetries: always });
    try {
      for await (const event of stream) {
        if (signal.aborted) {
          return;
        }
        this.#add(event);
      }
    } catch {
      // Rejected or aborted: the other queries of the page show the reason.
    }
  }

  #add(event: RunEvent): void {
    this.#waiting.push(event);
    this.#frame ??= requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    if (this.#frame !== undefined) {
      cancelAnimationFrame(this.#frame);
      this.#frame = undefined;
    }
    const events = this.#waiting;
    this.#waiting = [];
    if (events.length > 0) {
      this.transcript = this.#folder.fold(this.transcript, events);
      for (const listener of this.#listeners) {
        listener();
      }
    }
  }
}

/**
 * The state of a run from its log, live while the page is visible. After a disconnect, the stream resumes after its last event. run is the run
 * from the API. A finished run that was resumed is followed again, even if it has already finished again.
 */
export function useRunLog(runId: string, run: RunItem | undefined): Transcript {
  const log = useMemo(() => new RunLog(runId), [runId]); // the log must survive a render
  const transcript = useSyncExternalStore(log.subscribe, log.current);
  const visible = useVisible();
  const again = run !== undefined && (isActive(run.state) || run.execution_id > transcript.execution);
  const wanted = visible && (!transcript.done || again);
  useEffect(() => {
    if (!wanted) {
      return;
    }
    const leaving = new AbortController();
    void log.follow(leaving.signal);
    return () => leaving.abort();
  }, [log, wanted]);
  return transcript;
}
