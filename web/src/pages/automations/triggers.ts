import type { CronTrigger, Trigger, Webhook } from '@penstock/sdk';
import { keepsNumbers } from './pointer.ts';

/** A provider of triggers with its events and filter keys. */
export interface Provider {
  name: string;
  events: string[];
  keys: string[];
}

type Schema = { [key: string]: Schema } & { enum?: string[]; const?: string; allOf?: Schema[] };

/** Reads the providers from the schema of an automation's file. The server generates it from its own table. */
export function providersOf(automation: unknown): Provider[] {
  const items = (automation as Schema | undefined)?.properties?.triggers?.items;
  const known = (items?.allOf ?? []).map(
    ({ if: condition, then: rule }): Provider => ({
      name: condition?.properties?.provider?.const ?? '',
      events: rule?.properties?.event?.enum ?? [],
      keys: Object.keys(rule?.properties?.filter?.properties ?? {}),
    }),
  );
  const order = ['webhook', 'schedule', 'github', 'linear'];
  const rank = ({ name }: Provider): number => (order.indexOf(name) < 0 ? order.length : order.indexOf(name));
  return known.filter(({ name }) => name !== '').sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

/** Why triggers of a provider cannot fire in a factory, or undefined if they can. */
export function inactiveReasonOf(provider: string, webhooks: readonly Webhook[] | undefined): string | undefined {
  switch (provider) {
    case 'webhook':
    case 'schedule':
      return undefined;
    case 'github':
    case 'linear':
      return webhooks === undefined || webhooks.some((one) => one.signature_scheme === provider && one.enabled && !one.pending_secret)
        ? undefined
        : `Not connected. To connect it, create a webhook in this factory and choose ${provider === 'github' ? 'GitHub' : 'Linear'} as its sender.`;
    default:
      return 'Not connected. This server does not receive these events, so the trigger never fires.';
  }
}

/** A trigger during editing. Its JSON is a text and can be invalid. */
export interface TriggerDraft {
  key: number;
  provider: string;
  event: string;
  webhookIds: string[];
  /** The excluded webhooks. The form keeps them but does not edit them. */
  exceptIds?: string[];
  /** The payload filter, or the filter of another provider. */
  filter: string;
  /** Whether a schedule trigger has its own schedule, or uses schedules of the team. */
  own: boolean;
  clock: CronTrigger;
  scheduleIds: string[];
}

let keys = 0;

/** A new trigger. */
export function emptyTrigger(provider: string, event: string): TriggerDraft {
  keys++;
  const clock = { cron: '0 7 * * 1-5', timezone: Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC' };
  return { key: keys, provider, event, webhookIds: [], filter: '', own: true, clock, scheduleIds: [] };
}

export function draftOf(trigger: Trigger): TriggerDraft {
  const draft = emptyTrigger(trigger.provider, trigger.event);
  const { webhook_ids, payload, schedule_ids } = (trigger.filter ?? {}) as Record<string, unknown>;
  const except = trigger.provider === 'webhook' ? selectionOf(webhook_ids).except : [];
  const rest = trigger.provider === 'webhook' ? payload : trigger.provider === 'schedule' ? undefined : trigger.filter;
  return {
    ...draft,
    webhookIds: trigger.provider === 'webhook' ? selectionOf(webhook_ids).names : [],
    ...(except.length > 0 ? { exceptIds: except } : {}),
    filter: rest === undefined || rest === null ? '' : JSON.stringify(rest, undefined, 2),
    own: Boolean(trigger.schedule),
    clock: trigger.schedule ? clockOf(trigger.schedule) : draft.clock,
    scheduleIds: trigger.provider === 'schedule' ? selectionOf(schedule_ids).names : [],
  };
}

/** The selection of a key: a list, or an object with in and not_in. */
function selectionOf(value: unknown): { names: string[]; except: string[] } {
  if (Array.isArray(value)) {
    return { names: value as string[], except: [] };
  }
  const { in: names, not_in: except } = (value ?? {}) as { in?: string[]; not_in?: string[] };
  return { names: names ?? [], except: except ?? [] };
}

function clockOf({ cron, timezone, name, catch_up, overlap }: CronTrigger): CronTrigger {
  return {
    cron,
    ...(timezone ? { timezone } : {}),
    ...(name ? { name } : {}),
    ...(catch_up ? { catch_up } : {}),
    ...(overlap ? { overlap } : {}),
  };
}

/** The choice that is missing before a trigger can be saved, or undefined. */
export function missingOf({ provider, webhookIds, exceptIds, own, scheduleIds }: TriggerDraft): string | undefined {
  if (provider === 'webhook' && webhookIds.length === 0 && !exceptIds) {
    return 'Choose at least one webhook.';
  }
  return provider === 'schedule' && !own && scheduleIds.length === 0 ? 'Choose at least one schedule.' : undefined;
}

/** The trigger of a draft, or undefined while its JSON is invalid. */
export function triggerOf(draft: TriggerDraft): Trigger | undefined {
  const { provider, event } = draft;
  if (provider === 'schedule') {
    return draft.own
      ? { provider, event, schedule: clockOf(draft.clock) }
      : { provider, event, filter: { schedule_ids: draft.scheduleIds } };
  }
  const filter = readFilter(draft.filter);
  if (filter === undefined) {
    return undefined;
  }
  if (provider === 'webhook') {
    const ids = draft.exceptIds ? { in: draft.webhookIds, not_in: draft.exceptIds } : draft.webhookIds;
    return { provider, event, filter: { webhook_ids: ids, ...(draft.filter.trim() ? { payload: filter } : {}) } };
  }
  return { provider, event, ...(draft.filter.trim() ? { filter } : {}) };
}

/** Parses the text of a filter; an empty text is {}. Returns undefined if it is not an object, or if a browser would round one of its numbers. */
export function readFilter(text: string): Record<string, unknown> | undefined {
  if (text.trim() === '') {
    return {};
  }
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) && keepsNumbers(text)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Whether an id looks like a UID. A name can look like one, too; that costs one request. */
export const looksLikeUID = (id: string): boolean => /^[0-9A-Za-z]{22}$/.test(id);

/** The webhooks that a trigger selects, by UID or name. */
export function webhooksOf({ provider, filter }: Trigger): string[] {
  return provider === 'webhook' ? selectionOf(filter?.webhook_ids).names : [];
}

/** Summarizes a trigger. It shows webhooks by name, if the name is known. */
export function summaryOf(trigger: Trigger, names: ReadonlyMap<string, string> = new Map()): string {
  const { provider, event, filter, schedule } = trigger;
  if (schedule) {
    return `${schedule.cron}${schedule.timezone && schedule.timezone !== 'UTC' ? ` ${schedule.timezone}` : ''}`;
  }
  if (provider === 'webhook') {
    const webhooks = webhooksOf(trigger).map((id) => names.get(id) ?? id);
    return `webhook ${webhooks.join(', ')}${filter?.payload ? ', filtered' : ''}`;
  }
  return provider === 'schedule' ? 'team schedules' : `${provider} ${event.replaceAll('_', ' ')}`;
}
