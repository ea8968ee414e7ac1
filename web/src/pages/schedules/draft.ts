import type { AmbientAgentConfig, ScheduledAgentItem, UpdateSchedule } from '@penstock/sdk';

export type CatchUp = NonNullable<UpdateSchedule['catch_up']>;
export type Overlap = NonNullable<UpdateSchedule['overlap']>;

/** A schedule during editing. */
export interface ScheduleDraft {
  name: string;
  cron: string;
  timeZone: string;
  catchUp: CatchUp;
  overlap: Overlap;
  expectEvery: string;
  pauseAfter: string;
  enabled: boolean;
  prompt: string;
  skill: string;
  agent: string | null;
  environment: string | null;
  model: string | null;
  team: boolean;
}

/** The draft of an existing or new schedule. */
export function draftOf(schedule?: ScheduledAgentItem): ScheduleDraft {
  return {
    name: schedule?.name ?? '',
    cron: schedule?.cron_schedule ?? '0 9 * * 1-5',
    timeZone: schedule?.time_zone ?? 'UTC',
    catchUp: (schedule?.catch_up ?? 'once') as CatchUp,
    overlap: (schedule?.overlap ?? 'allow') as Overlap,
    expectEvery: schedule?.expect_every ?? '',
    pauseAfter: String(schedule?.pause_after_failures ?? ''),
    enabled: schedule?.enabled ?? true,
    prompt: schedule?.prompt ?? '',
    skill: schedule?.agent_config?.skill_spec ?? '',
    agent: schedule?.agent_uid ?? null,
    environment: schedule?.agent_config?.environment_id ?? null,
    model: schedule?.agent_config?.model_id ?? null,
    team: schedule?.scope?.type !== 'User',
  };
}

/** The schedule of a draft. Fields that the form does not show keep their values. */
export function requestOf(draft: ScheduleDraft, before?: ScheduledAgentItem): UpdateSchedule {
  const { environment_id: _e, model_id: _m, skill_spec: _s, ...rest } = before?.agent_config ?? {};
  const config: AmbientAgentConfig = {
    ...rest,
    ...(draft.environment ? { environment_id: draft.environment } : {}),
    ...(draft.model ? { model_id: draft.model } : {}),
    ...(draft.skill.trim() ? { skill_spec: draft.skill.trim() } : {}),
  };
  return {
    name: draft.name.trim(),
    cron_schedule: draft.cron.trim(),
    time_zone: draft.timeZone.trim(),
    catch_up: draft.catchUp,
    overlap: draft.overlap,
    ...health(draft, before),
    enabled: draft.enabled,
    team: draft.team,
    ...(draft.prompt.trim() ? { prompt: draft.prompt } : {}),
    ...(draft.agent ? { agent_uid: draft.agent } : {}),
    ...(before ? { mode: before.mode as UpdateSchedule['mode'] } : {}),
    ...(before?.metadata ? { metadata: before.metadata } : {}),
    ...(Object.keys(config).length > 0 ? { agent_config: config } : {}),
  };
}

/** The fields about health that have changed; 0 stands for never. */
function health({ expectEvery, pauseAfter }: ScheduleDraft, before?: ScheduledAgentItem): Partial<UpdateSchedule> {
  const failures = pauseAfter.trim() || '0';
  return {
    ...(expectEvery.trim() === (before?.expect_every ?? '') ? {} : { expect_every: expectEvery.trim() || '0' }),
    ...(failures === String(before?.pause_after_failures ?? 0) ? {} : { pause_after_failures: countOf(failures) }),
  };
}

/** A text that is no count is sent as it is, and the server says what is allowed. */
const countOf = (text: string): number => (/^\d+$/.test(text) ? Number(text) : (text as unknown as number));
