import type { ListRunsQuery, RunItem } from '@penstock/sdk';
import { formatAbsolute, formatWord } from '../../format.ts';
import { firstOf, type Params, valuesOf } from '../../search.ts';
import { states, wordOfState } from '../../states.ts';
import type { Choice, Noun } from './choices.ts';

/** The number of runs on a page. */
export const pageSize = 50;

/** A filter of the API. Its name in the URL is its name in the API. */
export interface Filter {
  name: string;
  label: string;
  /** The values to choose from. */
  values?: readonly string[];
  /** The values are ids of this noun. Without values and of, the filter is a text or a time. */
  of?: Noun;
  many?: boolean;
  time?: boolean;
  hint?: string;
}

/** The labels of `task_status`, in the words of the states. */
const taskStatuses: Record<string, string> = {
  running: 'Queued, claimed, preparing or working',
  blocked: wordOfState('BLOCKED').word,
  complete: wordOfState('SUCCEEDED').word,
  failed: `${wordOfState('FAILED').word} or ${wordOfState('ERROR').word.toLowerCase()}`,
  cancelled: wordOfState('CANCELLED').word,
};

const sources = [
  'API',
  'CLI',
  'WEB_APP',
  'SCHEDULED_AGENT',
  'WEBHOOK',
  'ORCHESTRATION',
  'GITHUB_ACTION',
  'GITHUB_WEBHOOK',
  'GITLAB_WEBHOOK',
  'LOCAL',
  'CLOUD_MODE',
  'SLACK',
  'LINEAR',
  'JIRA',
  'SELF_IMPROVEMENT',
  'AUTOFIX',
  'RUN_SCORER',
];

/** Every filter of GET /agent/runs except q and metadata. */
export const filters: readonly Filter[] = [
  { name: 'state', label: 'Status', values: Object.keys(states), many: true },
  { name: 'task_status', label: 'Status group', values: Object.keys(taskStatuses) },
  { name: 'source', label: 'Trigger', values: sources, many: true },
  { name: 'name', label: 'Agent or configuration' },
  { name: 'model_id', label: 'Model', of: 'model' },
  { name: 'creator', label: 'Creator', of: 'actor' },
  { name: 'executor', label: 'Acts as', of: 'actor' },
  { name: 'factory_uid', label: 'Factory', many: true, of: 'factory' },
  { name: 'automation_id', label: 'Automation', of: 'automation' },
  { name: 'subject', label: 'Subject', hint: 'acme/shop#7' },
  { name: 'webhook_uid', label: 'Webhook', of: 'webhook' },
  { name: 'schedule_id', label: 'Schedule', of: 'schedule' },
  { name: 'environment_id', label: 'Environment', of: 'environment' },
  { name: 'skill', label: 'Skill' },
  { name: 'skill_spec', label: 'Skill reference' },
  { name: 'ancestor_run_id', label: 'Started by run', hint: 'ID of a run' },
  { name: 'execution_location', label: 'Execution', values: ['LOCAL', 'REMOTE'] },
  { name: 'artifact_type', label: 'Has an artifact', values: ['PLAN', 'PULL_REQUEST', 'SCREENSHOT', 'FILE', 'EXTERNAL_REFERENCE'] },
  { name: 'created_after', label: 'Created after', time: true },
  { name: 'created_before', label: 'Created before', time: true },
  { name: 'updated_after', label: 'Updated after', time: true },
];

const byName = new Map(filters.map((filter) => [filter.name, filter]));
/** The name of the filter by metadata in the menu. */
export const metadataFilter = 'metadata';
const metadataName = /^metadata\[(.+)\]$/;

/** Converts the URL's search to the query of the API. Unknown names are ignored. */
export function queryOf(search: Params): ListRunsQuery {
  const query: Record<string, unknown> = {
    limit: pageSize,
    sort_by: firstOf(search.sort_by) ?? 'created_at',
    sort_order: firstOf(search.sort_order) ?? 'desc',
  };
  const metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(search)) {
    const key = metadataName.exec(name)?.[1];
    if (key) {
      metadata[key] = firstOf(value) ?? '';
    } else if (byName.get(name)?.many) {
      query[name] = valuesOf(value);
    } else if (byName.has(name) || name === 'q' || name === 'cursor') {
      query[name] = firstOf(value);
    }
  }
  if (Object.keys(metadata).length > 0) {
    query.metadata = metadata;
  }
  return query;
}

/** An active filter, and the search without it. */
export interface Active {
  name: string;
  label: string;
  value: string;
}

/** The active filters, one for each value. */
export function activeFilters(search: Params): Active[] {
  return Object.entries(search).flatMap(([name, value]) => {
    const key = metadataName.exec(name)?.[1];
    const label = key ? `Metadata ${key}` : byName.get(name)?.label;
    return label ? valuesOf(value).map((one) => ({ name, label, value: one })) : [];
  });
}

/** The nouns whose names the active filters need. */
export function nounsOf(active: readonly Active[]): ReadonlySet<Noun> {
  return new Set(active.flatMap(({ name }) => byName.get(name)?.of ?? []));
}

/** The label of a filter value. */
export function wordOfValue({ name }: Pick<Filter, 'name'>, value: string): string {
  if (name === 'state') {
    return wordOfState(value).word;
  }
  return (name === 'task_status' && taskStatuses[value]) || formatWord(value);
}

/** The label of a filter value: the name for an id, if it is known. */
export function wordOf({ name, value }: Active, choices: Record<Noun, Choice[]>): string {
  const filter = byName.get(name);
  if (filter?.values) {
    return wordOfValue(filter, value);
  }
  if (filter?.time) {
    return Number.isNaN(Date.parse(value)) ? value : formatAbsolute(value);
  }
  return (filter?.of && choices[filter.of].find((choice) => choice.value === value)?.label) ?? value;
}

/** The search without one value of a filter, on the first page. */
export function without(search: Params, { name, value }: Active): Params {
  const { [name]: values, cursor: _, ...rest } = search;
  const left = valuesOf(values).filter((one) => one !== value);
  return left.length > 0 ? { ...rest, [name]: left } : rest;
}

/** The search with a new value of a filter, on the first page. An empty value removes the filter. */
export function withFilter(search: Params, name: string, value: string | string[]): Params {
  const { [name]: _, cursor: __, ...rest } = search;
  return value.length > 0 ? { ...rest, [name]: value } : rest;
}

/** The quick filters. */
export function quickFilters(me: string): { label: string; search: Params }[] {
  return [
    { label: 'All', search: {} },
    { label: 'Mine', search: { creator: me } },
    { label: 'Active', search: { state: ['QUEUED', 'CLAIMED', 'PENDING', 'INPROGRESS', 'BLOCKED'] } },
    { label: 'Blocked', search: { state: 'BLOCKED' } },
    { label: 'Failed', search: { task_status: 'failed' } },
    { label: 'Scheduled', search: { source: 'SCHEDULED_AGENT' } },
  ];
}

/** What started a run: the name of who or what did, and how. */
export function triggerOf({ source, schedule, creator }: Pick<RunItem, 'source' | 'schedule' | 'creator'>): string {
  const name = schedule?.schedule_name ?? creator?.display_name ?? creator?.uid;
  return [name, source && formatWord(source)].filter(Boolean).join(' · ');
}

/** The orders of the API. The first one is the default. */
export const orders: readonly { label: string; sort_by: string; sort_order: 'asc' | 'desc' }[] = [
  { label: 'Newest first', sort_by: 'created_at', sort_order: 'desc' },
  { label: 'Oldest first', sort_by: 'created_at', sort_order: 'asc' },
  { label: 'Last updated first', sort_by: 'updated_at', sort_order: 'desc' },
  { label: 'First updated first', sort_by: 'updated_at', sort_order: 'asc' },
  { label: 'Title, A to Z', sort_by: 'title', sort_order: 'asc' },
  { label: 'Title, Z to A', sort_by: 'title', sort_order: 'desc' },
  { label: 'Agent, A to Z', sort_by: 'agent', sort_order: 'asc' },
  { label: 'Agent, Z to A', sort_by: 'agent', sort_order: 'desc' },
];

/** The order of a search, as an index of orders. */
export function orderOf(search: Params): number {
  const by = firstOf(search.sort_by) ?? 'created_at';
  const direction = firstOf(search.sort_order) ?? 'desc';
  return Math.max(
    orders.findIndex(({ sort_by, sort_order }) => sort_by === by && sort_order === direction),
    0,
  );
}

/** The search in an order, on the first page. */
export function withOrder(search: Params, sort_by: string, sort_order: string): Params {
  const { cursor: _, sort_by: __, sort_order: ___, ...rest } = search;
  return sort_by === 'created_at' && sort_order === 'desc' ? rest : { ...rest, sort_by, sort_order };
}

/** Whether two searches have the same filters. Order and page do not matter. */
export function sameFilters(a: Params, b: Params): boolean {
  const text = (search: Params): string =>
    [...activeFilters(search).map(({ name, value }) => `${name}=${value}`), `q=${firstOf(search.q) ?? ''}`].sort().join('&');
  return text(a) === text(b);
}
