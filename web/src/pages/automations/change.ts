import type { Automation, CreateAutomationRequest, Trigger, UpdateAutomationRequest } from '@penstock/sdk';
import { draftOf, emptyTrigger, missingOf, type TriggerDraft, triggerOf } from './triggers.ts';

/** What happens to a run that did nothing. */
export type OnHollow = NonNullable<CreateAutomationRequest['on_hollow']>;

/** The edited fields of an automation. For empty texts, the agent or the factory decides. */
export interface AutomationDraft {
  name: string;
  agent: string;
  /** The title of its runs. Empty: its name. */
  title: string;
  prompt: string;
  model: string;
  environment: string;
  /** Empty: the default, alert. */
  onHollow: OnHollow | '';
  triggers: TriggerDraft[];
  continueOn: TriggerDraft[];
  closes: TriggerDraft[];
  closesRun: boolean;
  /** The fields about subjects and health, by their names in the API. */
  texts: Record<TextField, string>;
}

/** The fields that say what events are about, and how they reach the run on it. */
export const subjectFields = [
  'subject',
  'subject_scope',
  'when_busy',
  'quiet',
  'longest_wait',
  'keep',
  'max_followups',
  'followup_prompt',
] as const;

export type SubjectField = (typeof subjectFields)[number];

/** The fields that say when it is silent, and when failures pause it. */
export const healthFields = ['expect_every', 'pause_after_failures'] as const;

export type TextField = SubjectField | (typeof healthFields)[number];

const textFields: TextField[] = [...subjectFields, ...healthFields];
const numbers: TextField[] = ['max_followups', 'pause_after_failures'];

/** The value of a field for the API. An empty text is none. */
function textValue(field: TextField, text: string): string | number | undefined {
  const value = text.trim();
  return value === '' ? undefined : numbers.includes(field) && /^\d+$/.test(value) ? Number(value) : value;
}

export function automationDraftOf(automation: Automation | undefined): AutomationDraft {
  return {
    name: automation?.name ?? '',
    agent: automation?.agent ?? '',
    title: automation?.title ?? '',
    prompt: automation?.prompt ?? '',
    model: automation?.model ?? '',
    environment: automation?.environment_id ?? '',
    onHollow: (automation?.on_hollow ?? '') as OnHollow | '',
    triggers: automation?.triggers.map(draftOf) ?? [emptyTrigger('webhook', 'received')],
    continueOn: automation?.continue_on?.map(draftOf) ?? [],
    closes: automation?.closes?.map(draftOf) ?? [],
    closesRun: automation?.closes_run ?? false,
    texts: Object.fromEntries(textFields.map((field) => [field, String(automation?.[field] ?? '')])) as AutomationDraft['texts'],
  };
}

/** The triggers of drafts, or undefined while one is incomplete or its JSON is invalid. */
function triggersOf(drafts: TriggerDraft[]): Trigger[] | undefined {
  const triggers = drafts.map(triggerOf);
  return triggers.includes(undefined) || drafts.some(missingOf) ? undefined : (triggers as Trigger[]);
}

/** The request for a new automation, or undefined while the draft is incomplete. */
export function creationOf(draft: AutomationDraft): CreateAutomationRequest | undefined {
  const triggers = triggersOf(draft.triggers);
  const continueOn = triggersOf(draft.continueOn);
  const closes = triggersOf(draft.closes);
  if (!triggers || !continueOn || !closes || draft.name.trim() === '' || draft.prompt.trim() === '') {
    return undefined;
  }
  return {
    name: draft.name.trim(),
    prompt: draft.prompt,
    triggers,
    ...(draft.agent ? { agent: draft.agent } : {}),
    ...(draft.title.trim() ? { title: draft.title.trim() } : {}),
    ...(draft.model ? { model: draft.model } : {}),
    ...(draft.environment ? { environment_id: draft.environment } : {}),
    ...(draft.onHollow ? { on_hollow: draft.onHollow } : {}),
    ...(continueOn.length > 0 ? { continue_on: continueOn } : {}),
    ...(closes.length > 0 ? { closes } : {}),
    ...(draft.closesRun ? { closes_run: true } : {}),
    ...Object.fromEntries(
      textFields.map((field) => [field, textValue(field, draft.texts[field])]).filter(([, value]) => value !== undefined),
    ),
  };
}

/** The fields that a draft changes, or undefined while the draft is incomplete. */
export function changeOf(automation: Automation, draft: AutomationDraft): UpdateAutomationRequest | undefined {
  const next = creationOf(draft);
  if (!next) {
    return undefined;
  }
  return {
    ...(next.name === automation.name ? {} : { name: next.name }),
    ...(next.prompt === automation.prompt ? {} : { prompt: next.prompt }),
    ...(draft.agent === (automation.agent ?? '') ? {} : { agent: draft.agent || null }),
    ...(draft.title.trim() === (automation.title ?? '') ? {} : { title: draft.title.trim() || null }),
    ...(draft.model === (automation.model ?? '') ? {} : { model: draft.model || null }),
    ...(draft.environment === (automation.environment_id ?? '') ? {} : { environment_id: draft.environment || null }),
    ...(draft.onHollow === (automation.on_hollow ?? '') ? {} : { on_hollow: draft.onHollow || null }),
    ...Object.fromEntries(
      textFields
        .filter((field) => draft.texts[field].trim() !== String(automation[field] ?? '').trim())
        .map((field) => [field, textValue(field, draft.texts[field]) ?? null]),
    ),
    ...(same(next.triggers, automation.triggers) ? {} : { triggers: next.triggers }),
    ...(same(next.continue_on, automation.continue_on) ? {} : { continue_on: next.continue_on ?? null }),
    ...(same(next.closes, automation.closes) ? {} : { closes: next.closes ?? null }),
    ...(draft.closesRun === (automation.closes_run ?? false) ? {} : { closes_run: draft.closesRun || null }),
  };
}

/** Whether triggers are as they were stored. */
function same(next: Trigger[] | undefined, stored: readonly Trigger[] | undefined): boolean {
  const before = (stored ?? []).map((trigger) => triggerOf(draftOf(trigger)));
  return JSON.stringify(next ?? []) === JSON.stringify(before);
}

/** The fields of an automation that the form does not show. */
export function othersOf(automation: Automation): string[] {
  const names = ['harness', 'runner', 'secrets', 'mcp_servers', 'worker_host', 'harness_auth_secrets', 'credential_strategy'] as const;
  return names.filter((name) => automation[name] !== undefined);
}
