import type { ScheduledAgentItem } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { draftOf, requestOf } from './draft.ts';

const schedule: ScheduledAgentItem = {
  id: 'x',
  name: 'nightly',
  cron_schedule: '0 3 * * *',
  time_zone: 'Europe/Berlin',
  catch_up: 'all',
  overlap: 'skip',
  enabled: false,
  prompt: 'Check the links',
  mode: 'plan',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  agent_config: { environment_id: 'e1', model_id: 'demo/offline', budget: { max_cost_usd: 2 } },
  agent_uid: 'a1',
  metadata: { team: 'web' },
  scope: { type: 'User', uid: 'u1' },
};

test('a schedule that is not changed stays as it is, with what cannot be edited here', () => {
  const { name, cron_schedule, time_zone, catch_up, overlap, enabled, prompt, mode, agent_config, agent_uid, metadata } = schedule;
  expect(requestOf(draftOf(schedule), schedule)).toEqual({
    name,
    cron_schedule,
    time_zone,
    catch_up,
    overlap,
    enabled,
    prompt,
    mode,
    agent_config,
    agent_uid,
    metadata,
    team: false,
  });
});

test('what was emptied is left out', () => {
  const draft = { ...draftOf(schedule), environment: null, model: null, agent: null, prompt: ' ', skill: ' acme/shop:tidy ' };
  expect(requestOf(draft, { ...schedule, metadata: {} })).toEqual({
    name: 'nightly',
    cron_schedule: '0 3 * * *',
    time_zone: 'Europe/Berlin',
    catch_up: 'all',
    overlap: 'skip',
    enabled: false,
    mode: 'plan',
    team: false,
    metadata: {},
    agent_config: { budget: { max_cost_usd: 2 }, skill_spec: 'acme/shop:tidy' },
  });
});

test('the fields about health are sent if they changed, and a text that is no count reaches the server', () => {
  const watched = { ...schedule, expect_every: '26h', pause_after_failures: 3 };
  expect(requestOf(draftOf(watched), watched)).not.toHaveProperty('expect_every');
  expect(requestOf({ ...draftOf(watched), expectEvery: ' ', pauseAfter: '' }, watched)).toMatchObject({
    expect_every: '0',
    pause_after_failures: 0,
  });
  expect(requestOf({ ...draftOf(watched), pauseAfter: '5' }, watched)).toMatchObject({ pause_after_failures: 5 });
  expect(requestOf({ ...draftOf(watched), pauseAfter: 'many' }, watched)).toMatchObject({ pause_after_failures: 'many' });
});
