import type { KeyScope, Known } from '@penstock/sdk';
import { may } from '../../layout/nav.ts';

/** The scopes of a key, in the order of the form. No key can be created with `own_run`. */
export const scopes: readonly { scope: Exclude<Known<KeyScope>, 'own_run'>; what: string }[] = [
  { scope: 'runs:read', what: 'Read runs, schedules, environments and agents' },
  { scope: 'runs:write', what: 'Start, steer and cancel runs; manage schedules; dispatch to factories' },
  { scope: 'factories:read', what: 'Read factories, their files and their automations' },
  { scope: 'factories:manage', what: 'Change factories, automations, webhooks, agents and environments' },
  { scope: 'secrets:use', what: 'Use secrets in runs and schedules; their agents can read the values' },
  { scope: 'secrets:manage', what: 'Create, change and delete secrets; nobody can read their values' },
  { scope: 'keys:manage', what: 'Create and revoke keys' },
  { scope: 'events:manage', what: 'Manage event endpoints, which receive messages about runs' },
  { scope: 'forges:manage', what: 'Manage connections to forges, whose repositories runs read' },
  { scope: 'access:manage', what: 'Manage users, service accounts and their roles' },
  { scope: 'metrics:read', what: 'Read the server’s metrics, for Prometheus' },
  { scope: 'worker', what: 'Connect a worker, which can execute every run of the team' },
  { scope: 'admin', what: 'Everything' },
];

/** The lifetimes of a key in seconds. 0 means that it never expires. */
export const lives = [
  { value: '0', label: 'Never' },
  { value: String(86_400), label: 'In 1 day' },
  { value: String(7 * 86_400), label: 'In 7 days' },
  { value: String(30 * 86_400), label: 'In 30 days' },
  { value: String(90 * 86_400), label: 'In 90 days' },
  { value: String(365 * 86_400), label: 'In 1 year' },
];

/** The scopes that a caller can give to a new key: never more than the caller has. */
export function givable(mine: readonly string[] | undefined): string[] {
  return scopes.filter(({ scope }) => may(mine, scope)).map(({ scope }) => scope);
}
