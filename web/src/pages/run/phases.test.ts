import type { TimelineEvent } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { phasesOf, totalOf } from './phases.ts';

const moment = (event_type: string, second: number, execution_id = 1): TimelineEvent => ({
  event_uuid: `${event_type}${second}`,
  run_id: 'r',
  execution_id,
  event_type,
  occurred_at: new Date(second * 1000).toISOString(),
});

test('a run waits, is prepared, works and ends', () => {
  const phases = phasesOf([
    moment('run_created', 0),
    moment('run_claimed', 3),
    moment('worker_container_ready', 4),
    moment('setup_step', 5),
    moment('agent_started', 7),
    moment('followup_received', 8),
    moment('run_done', 20),
    moment('vm_shutdown', 21),
  ]);
  expect(phases.map(({ name, from, to }) => [name, from, to])).toEqual([
    ['queue', 0, 3000],
    ['setup', 3000, 7000],
    ['work', 7000, 20_000],
  ]);
});

test('a run that is handed back waits again, and a follow-up to one that is over, too', () => {
  const phases = phasesOf([
    moment('run_created', 0),
    moment('run_claimed', 1),
    moment('run_requeued', 2),
    moment('run_claimed', 5),
    moment('agent_started', 6),
    moment('run_blocked', 8),
    moment('followup_received', 10),
    moment('run_claimed', 11, 1),
  ]);
  expect(phases.map(({ name }) => name)).toEqual(['queue', 'setup', 'queue', 'setup', 'work', 'queue', 'setup']);
  expect(totalOf(phases, 'queue', 100_000)).toBe(1000 + 3000 + 1000);
  expect(totalOf(phases, 'setup', 15_000)).toBe(1000 + 1000 + 4000);
});
