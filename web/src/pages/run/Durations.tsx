import type { TimelineEvent } from '@penstock/sdk';
import { formatDuration } from '../../format.ts';
import { useNow } from '../../live.ts';
import { wordOfState } from '../../states.ts';
import { Fact } from './Facts.tsx';
import { type PhaseName, phasesOf, totalOf } from './phases.ts';

export const phaseNames: Record<PhaseName, string> = {
  queue: wordOfState('QUEUED').word,
  setup: wordOfState('PENDING').word,
  work: wordOfState('INPROGRESS').word,
};

/** The time in which a run waited, prepared and worked, over all executions. */
export function Durations({ timeline }: { timeline: readonly TimelineEvent[] }) {
  const phases = phasesOf(timeline);
  const lasting = phases.some(({ to }) => to === undefined);
  const now = useNow(lasting ? 1 : 3600);
  return (Object.keys(phaseNames) as PhaseName[])
    .filter((name) => phases.some((phase) => phase.name === name))
    .map((name) => (
      <Fact key={name} name={phaseNames[name]}>
        {formatDuration(totalOf(phases, name, lasting ? Math.max(now, Date.now()) : now))}
      </Fact>
    ));
}
