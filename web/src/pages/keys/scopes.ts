import type { KeyScope, Known } from '@penstock/sdk';
import { may } from '../../layout/nav.ts';

/** What a key can be given, in the order in which it is asked. `own_run` is no such scope: no key can be created with it. */
export const scopes: readonly { scope: Exclude<Known<KeyScope>, 'own_run'>; what: string }[] = [
  { scope: 'runs:read', what: 'Read runs, schedules, environments and agents' },
  { scope: 'runs:write', what: 'Start, steer and cancel runs; manage schedules; dispatch to factories' },
  { scope: 'factories:read', what: 'Read factories, their files and their automations' },
  { scope: 'factories:manage', what: 'Change factories, automations, webhooks, agents and environments' },
  { scope: 'secrets:use', what: 'Name secrets in runs and schedules, whose agents can read them' },
  { scope: 'secrets:manage', what: 'Store and delete secrets; nothing can read their values' },
  { scope: 'keys:manage', what: 'Create and revoke keys' },
  { scope: 'metrics:read', what: 'Read the metrics of the server, as Prometheus does' },
  { scope: 'worker', what: 'Serve as a worker: execute every run of the team' },
  { scope: 'admin', what: 'Everything' },
];

/** How long a key can hold, in seconds; 0 is for ever. */
export const lives = [
  { value: '0', label: 'Never' },
  { value: String(86_400), label: 'In 1 day' },
  { value: String(7 * 86_400), label: 'In 7 days' },
  { value: String(30 * 86_400), label: 'In 30 days' },
  { value: String(90 * 86_400), label: 'In 90 days' },
  { value: String(365 * 86_400), label: 'In 1 year' },
];

/** The scopes that whoever has some can hand out: nobody gives a right that they do not have. */
export function givable(mine: readonly string[] | undefined): string[] {
  return scopes.filter(({ scope }) => may(mine, scope)).map(({ scope }) => scope);
}
