import { Text } from '@mantine/core';
import type { TimelineEvent } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { formatAbsolute, formatDuration, formatWord } from '../../format.ts';
import { live, useNow } from '../../live.ts';
import { timelineQuery } from '../../queries.ts';
import { phaseNames } from './Durations.tsx';
import { type Phase, phasesOf } from './phases.ts';
import classes from './TimelineTab.module.css';
import type { Transcript } from './transcript.ts';

/** The timeline of a run: phases as bars, and all events. The last events come after the log ends, when the sandbox is removed. */
export default function TimelineTab({ runId, log }: { runId: string; log: Transcript }) {
  const read = useQuery({ ...timelineQuery(runId), ...live(5), enabled: log.done });
  const timeline = read.data && read.data.events.length > log.timeline.length ? read.data.events : log.timeline;
  const phases = phasesOf(timeline);
  const [first] = timeline;
  if (!first) {
    return (
      <Text size="sm" c="dimmed">
        No events yet.
      </Text>
    );
  }
  const start = new Date(first.occurred_at).getTime();
  return (
    <>
      <Bars phases={phases} />
      <ol className={classes.moments} aria-label="Timeline events">
        {timeline.map((moment) => (
          <Moment key={moment.event_uuid} moment={moment} start={start} />
        ))}
      </ol>
    </>
  );
}

/** Bars in proportion to the phases, with a minimum width. Time between executions is not shown. */
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

/** Labels of events whose API name is not clear. */
const events: Record<string, string> = {
  run_claimed: 'Claimed by a worker',
  worker_container_ready: 'Sandbox ready',
  shared_session_started: 'Session opened',
  vm_shutdown: 'Sandbox removed',
  run_done: 'Run succeeded',
  run_errored: 'Run ended with an error',
  changes_saved: 'Changes saved',
  image_not_used: 'Image not used',
  skill_note: 'About a skill',
  unborn_branch: 'Branch without commits',
  image_ready: 'Image ready',
  workspace_ready: 'Workspace ready',
  push_accepted: 'Pushed',
  push_refused: 'Push refused',
  output_declared: 'Output declared',
  output_held: 'Output held',
  output_approved: 'Output released',
  output_waiting: 'Output waits for the forge',
  output_done: 'Output done',
  output_failed: 'Output failed',
  output_discarded: 'Output discarded',
  workspace_restored: 'Files of a saved turn restored',
  workspace_not_restored: 'Files of a saved turn not restored',
  checkpoint_skipped: 'Files of the turn not saved',
  checks_failed: 'Checks of the pull request failed',
  status_not_shown: 'The thread does not say how the run is',
  rewound: 'Went back to an earlier turn',
  any_worker: 'Any worker may execute it',
  mcp_server_not_used: 'MCP server not used',
  mcp_server_failed: 'MCP server does not work',
  sandbox_verified: 'Sandbox checked: it has no network of its own',
  network_denied: 'Host refused by the network policy',
  budget_threshold: 'Budget reached a threshold',
  pod_created: 'Pod requested',
  pod_waiting: 'Pod waits',
  pod_started: 'Worker in the Pod started',
  pod_lost: 'Pod lost',
};

/** A fact of an event. Names of milliseconds end with their unit. */
function factOf(name: string, value: unknown): string {
  if (typeof value === 'number' && name.endsWith('_ms')) {
    return `${formatWord(name.slice(0, -3))}: ${formatDuration(value)}`;
  }
  const list = Array.isArray(value) && value.every((one) => typeof one === 'string');
  return `${formatWord(name)}: ${list ? value.join(', ') : typeof value === 'string' ? value : JSON.stringify(value)}`;
}

function Moment({ moment, start }: { moment: TimelineEvent; start: number }) {
  const since = new Date(moment.occurred_at).getTime() - start;
  const facts = Object.entries(moment.payload ?? {}).map(([name, value]) => factOf(name, value));
  return (
    <li className={classes.moment}>
      <time dateTime={moment.occurred_at} title={formatAbsolute(moment.occurred_at)}>
        +{formatDuration(since)}
      </time>
      <span>
        {events[moment.event_type] ?? formatWord(moment.event_type)}
        {facts.length > 0 && (
          <Text component="span" size="sm" c="dimmed" className="plain" display="block">
            {facts.join('\n')}
          </Text>
        )}
      </span>
    </li>
  );
}
