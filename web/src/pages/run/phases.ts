import type { TimelineEvent } from '@penstock/sdk';

export type PhaseName = 'queue' | 'setup' | 'work';

/** What a run was busy with for a time. */
export interface Phase {
  name: PhaseName;
  /** Of the execution that it belongs to, from 1. */
  execution: number;
  /** In milliseconds since the epoch. */
  from: number;
  /** undefined while it lasts. */
  to: number | undefined;
}

const begins: Record<string, PhaseName> = { run_created: 'queue', run_requeued: 'queue', run_claimed: 'setup', agent_started: 'work' };
const ends = new Set(['run_done', 'run_failed', 'run_errored', 'run_cancelled', 'run_blocked']);

/** When a run waited, was prepared and worked. A follow-up to a run that is over or blocked has it wait again. */
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

/** How long all phases of a name took together, one that lasts until now. */
export function totalOf(phases: readonly Phase[], name: PhaseName, now: number): number {
  return phases.filter((phase) => phase.name === name).reduce((sum, { from, to }) => sum + Math.max(0, (to ?? now) - from), 0);
}
