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
    texts: Object.fromEntries(textFields.map((field) => [field, String(automation?.[field] ?? '')])) as AutomationDraft['texts'],
  };
}

/** The triggers of a draft, or undefined while the JSON of one is invalid. */
function triggersOf(draft: AutomationDraft): Trigger[] | undefined {
  const triggers = draft.triggers.map(triggerOf);
  return triggers.includes(undefined) ? undefined : (triggers as Trigger[]);
}

/** The request for a new automation, or undefined while the draft is incomplete. */
export function creationOf(draft: AutomationDraft): CreateAutomationRequest | undefined {
  const triggers = triggersOf(draft);
  if (!triggers || draft.triggers.some(missingOf) || draft.name.trim() === '' || draft.prompt.trim() === '') {
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
  const before = automation.triggers.map((trigger) => triggerOf(draftOf(trigger)));
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
    ...(JSON.stringify(next.triggers) === JSON.stringify(before) ? {} : { triggers: next.triggers }),
  };
}

/** The fields of an automation that the form does not show. */
export function othersOf(automation: Automation): string[] {
  const names = [
    'continue_on',
    'closes',
    'harness',
    'runner',
    'secrets',
    'mcp_servers',
    'worker_host',
    'harness_auth_secrets',
    'credential_strategy',
    'closes_run',
  ] as const;
  return names.filter((name) => automation[name] !== undefined && automation[name] !== false);
}
