import type { CronTrigger, Trigger, Webhook } from '@penstock/sdk';
import { keepsNumbers } from './pointer.ts';

/** What a provider of triggers tells of, and by which keys it can be filtered. */
export interface Provider {
  name: string;
  events: string[];
  keys: string[];
}

type Schema = { [key: string]: Schema } & { enum?: string[]; const?: string; allOf?: Schema[] };

/** Reads the providers of triggers from the schema of an automation's file, which the server makes of its own table. */
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

/** Why triggers of a provider stay silent in a factory, undefined where something tells of its events. */
export function silenceOf(provider: string, webhooks: readonly Webhook[] | undefined): string | undefined {
  switch (provider) {
    case 'webhook':
    case 'schedule':
      return undefined;
    case 'github':
    case 'linear':
      return webhooks === undefined || webhooks.some((one) => one.signature_scheme === provider && one.enabled && !one.pending_secret)
        ? undefined
        : `Not connected: it fires by deliveries to a webhook of this factory with the sender ${provider === 'github' ? 'GitHub' : 'Linear'}, and there is none.`;
    default:
      return 'Not connected: it is kept, but nothing tells this server of its events.';
  }
}

/** A trigger as it is edited: JSON is a text, which may be wrong for a while. */
export interface TriggerDraft {
  key: number;
  provider: string;
  event: string;
  webhookIds: string[];
  /** The webhooks that are excluded. They are kept, not edited here. */
  exceptIds?: string[];
  /** The payload filter, or the filter of another provider. */
  filter: string;
  /** Whether a schedule trigger has a clock of its own, or names schedules. */
  own: boolean;
  clock: CronTrigger;
  scheduleIds: string[];
}

let keys = 0;

/** A trigger that waits for nothing in particular yet. */
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

/** What a key selects: a list, or an object with in and not_in. */
function selectionOf(value: unknown): { names: string[]; except: string[] } {
  if (Array.isArray(value)) {
    return { names: value as string[], except: [] };
  }
  const { in: names, not_in: except } = (value ?? {}) as { in?: string[]; not_in?: string[] };
  return { names: names ?? [], except: except ?? [] };
}

function clockOf({ cron, timezone, name }: CronTrigger): CronTrigger {
  return { cron, ...(timezone ? { timezone } : {}), ...(name ? { name } : {}) };
}

/** What has to be chosen before a trigger can be saved; undefined where nothing is missing. */
export function missingOf({ provider, webhookIds, exceptIds, own, scheduleIds }: TriggerDraft): string | undefined {
  if (provider === 'webhook' && webhookIds.length === 0 && !exceptIds) {
    return 'Choose at least one webhook.';
  }
  return provider === 'schedule' && !own && scheduleIds.length === 0 ? 'Choose at least one schedule.' : undefined;
}

/** The trigger that a draft stands for; undefined while its JSON is none. */
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

/** The object of a filter's text, of which nothing is {}; undefined where it is none, or has a number that a browser would round. */
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

/** Whether a webhook may be meant by its UID; a name can look like one, which costs a request. */
export const looksLikeUID = (id: string): boolean => /^[0-9A-Za-z]{22}$/.test(id);

/** The webhooks that a trigger selects, each by its UID or its name. */
export function webhooksOf({ provider, filter }: Trigger): string[] {
  return provider === 'webhook' ? selectionOf(filter?.webhook_ids).names : [];
}

/** A trigger in a few words. Webhooks that it selects by UID are shown by their names, as far as they are known. */
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
