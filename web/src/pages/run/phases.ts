import type { TimelineEvent } from '@penstock/sdk';

export type PhaseName = 'queue' | 'setup' | 'work';

/** A phase of a run. */
export interface Phase {
  name: PhaseName;
  /** The execution of the phase, from 1. */
  execution: number;
  /** In milliseconds since the epoch. */
  from: number;
  /** undefined while the phase lasts. */
  to: number | undefined;
}

const begins: Record<string, PhaseName> = { run_created: 'queue', run_requeued: 'queue', run_claimed: 'setup', agent_started: 'work' };
const ends = new Set(['run_done', 'run_failed', 'run_errored', 'run_cancelled', 'run_blocked']);

/** The phases of a run. A follow-up to a finished or blocked run starts a new queue phase. */
export function phasesOf(timeline: readonly TimelineEvent[]): Phase[] {
  const phases: Phase[] = [];
  let open: Phase | undefined;
  for (const moment of timeline) {
    const at = new Date(moment.occurred_at).getTime();
    const name = begins[moment.event_type] ?? (moment.event_type === 'followup_received' && !open ? 'queue' : undefined);
    if (open && (ends.has(moment.event_type) || (name && name !== open.name))) {
      open.to = at;
      open = undefined;
    }
    if (name && !open) {
      open = { name, execution: moment.execution_id ?? 1, from: at, to: undefined };
      phases.push(open);
    }
  }
  return phases;
}

/** The total duration of the phases with a name. A phase that lasts counts until now. */
export function totalOf(phases: readonly Phase[], name: PhaseName, now: number): number {
  return phases.filter((phase) => phase.name === name).reduce((sum, { from, to }) => sum + Math.max(0, (to ?? now) - from), 0);
}
