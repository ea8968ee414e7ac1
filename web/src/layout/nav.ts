import type { KeyScope } from '@penstock/sdk';
import type { IconName } from '../ui/Icon.tsx';

export interface Place {
  label: string;
  to: string;
  icon: IconName;
  /** Whoever lacks it does not see the place. */
  scope: KeyScope;
}

/** Where the navigation leads, in its order. */
export const places: Place[] = [{ label: 'Runs', to: '/runs', icon: 'runs', scope: 'runs:read' }];

/** Whether a session may do what needs scope; mirrors Principal.May of the server, which has the last word. */
export function may(scopes: readonly string[] | undefined, scope: KeyScope): boolean {
  return (
    scopes !== undefined &&
    (scopes.includes('admin') || scopes.includes(scope) || (scope === 'factories:read' && scopes.includes('factories:manage')))
  );
}
