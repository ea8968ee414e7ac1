import { Text } from '@mantine/core';
import type { TimelineEvent } from '@penstock/sdk';
import { formatAbsolute, formatDuration, formatWord } from '../../format.ts';
import { useNow } from '../../live.ts';
import { phaseNames } from './Durations.tsx';
import { type Phase, phasesOf } from './phases.ts';
import classes from './TimelineTab.module.css';
import type { Transcript } from './transcript.ts';

/** When what happened: the phases as bars, and every moment. */
export default function TimelineTab({ log }: { log: Transcript }) {
  const phases = phasesOf(log.timeline);
  const [first] = log.timeline;
  if (!first) {
    return <Text c="dimmed">Nothing has happened yet.</Text>;
  }
  const start = new Date(first.occurred_at).getTime();
  return (
    <>
      <Bars phases={phases} />
      <ol className={classes.moments} aria-label="Moments">
        {log.timeline.map((moment) => (
          <Moment key={moment.event_uuid} moment={moment} start={start} />
        ))}
      </ol>
    </>
  );
}

/** Bars as wide as their phases are long, but wide enough to be seen; what lies between executions is left out. */
function Bars({ phases }: { phases: Phase[] }) {
  const lasting = phases.some(({ to }) => to === undefined);
  const now = useNow(lasting ? 1 : 3600);
  const tookOf = ({ from, to }: Phase): number => Math.max(1, (to ?? Math.max(now, from)) - from);
  return (
    <ul className={classes.bars} aria-label="Phases">
      {phases.map((phase) => (
        <li key={phase.from} data-name={phase.name} style={{ flexGrow: tookOf(phase) }}>
          {phaseNames[phase.name]} {formatDuration(tookOf(phase))}
        </li>
      ))}
    </ul>
  );
}

function Moment({ moment, start }: { moment: TimelineEvent; start: number }) {
  const since = new Date(moment.occurred_at).getTime() - start;
  const facts = Object.entries(moment.payload ?? {}).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return (
    <li className={classes.moment}>
      <time dateTime={moment.occurred_at} title={formatAbsolute(moment.occurred_at)}>
        +{formatDuration(since)}
      </time>
      <span>
        {formatWord(moment.event_type)}
        {facts.length > 0 && (
          <Text component="span" size="sm" c="dimmed" className="plain" display="block">
            {facts.join('\n')}
          </Text>
        )}
      </span>
    </li>
  );
}
