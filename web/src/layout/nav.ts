import type { KeyScope } from '@penstock/sdk';
import type { IconName } from '../ui/Icon.tsx';

export interface Place {
  label: string;
  to: string;
  icon: IconName;
  /** Users without this scope do not see the entry. */
  scope: KeyScope;
}

/** The entries of the navigation, in order. */
export const places: Place[] = [
  { label: 'Home', to: '/', icon: 'home', scope: 'runs:read' },
  { label: 'Runs', to: '/runs', icon: 'runs', scope: 'runs:read' },
  { label: 'Factories', to: '/factories', icon: 'factory', scope: 'factories:read' },
  { label: 'Webhooks', to: '/webhooks', icon: 'link', scope: 'factories:manage' },
  { label: 'Automations', to: '/automations', icon: 'bolt', scope: 'factories:read' },
  { label: 'Schedules', to: '/schedules', icon: 'clock', scope: 'runs:read' },
  { label: 'Environments', to: '/environments', icon: 'terminal', scope: 'runs:read' },
  { label: 'Spend', to: '/spend', icon: 'coin', scope: 'runs:read' },
  { label: 'Workers', to: '/workers', icon: 'server', scope: 'runs:read' },
  { label: 'Event endpoints', to: '/event-endpoints', icon: 'external', scope: 'events:manage' },
  { label: 'Forges', to: '/forges', icon: 'branch', scope: 'forges:manage' },
  { label: 'Secrets', to: '/secrets', icon: 'lock', scope: 'secrets:manage' },
  { label: 'People', to: '/people', icon: 'user', scope: 'access:manage' },
  { label: 'Keys', to: '/keys', icon: 'key', scope: 'keys:manage' },
  { label: 'Settings', to: '/settings', icon: 'gear', scope: 'runs:read' },
];

/** The lists that other pages link to. Only the search has them beside the navigation. */
export const moreLists: Place[] = [{ label: 'Subjects', to: '/subjects', icon: 'bolt', scope: 'runs:read' }];

/** Whether a session has a scope. It mirrors Principal.May of the server; the server decides. */
export function may(scopes: readonly string[] | undefined, scope: KeyScope): boolean {
  return (
    scopes !== undefined &&
    (scopes.includes('admin') || scopes.includes(scope) || (scope === 'factories:read' && scopes.includes('factories:manage')))
  );
}
