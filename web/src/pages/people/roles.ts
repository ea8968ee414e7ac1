import type { KeyScope, Known, MemberRole } from '@penstock/sdk';
import { may } from '../../layout/nav.ts';

/** The roles, from the least to the most. Their scopes mirror Role.Scopes of the server; the server decides. */
export const roles: readonly { role: Known<MemberRole>; label: string; what: string; scopes: KeyScope[] }[] = [
  { role: 'viewer', label: 'Viewer', what: 'reads runs and factories', scopes: ['runs:read', 'factories:read'] },
  {
    role: 'user',
    label: 'User',
    what: 'also starts, steers and cancels runs',
    scopes: ['runs:read', 'factories:read', 'runs:write'],
  },
  {
    role: 'editor',
    label: 'Editor',
    what: 'also changes factories, and names secrets in runs',
    scopes: ['runs:read', 'factories:read', 'runs:write', 'factories:manage', 'secrets:use'],
  },
  { role: 'admin', label: 'Admin', what: 'may do everything', scopes: ['admin'] },
];

/** The roles to choose from in a field: those that a caller has in full, and can so give. */
export function roleChoices(mine: readonly string[] | undefined): { value: string; label: string }[] {
  return roles
    .filter(({ scopes }) => scopes.every((scope) => may(mine, scope)))
    .map(({ role, label, what }) => ({ value: role, label: `${label}: ${what}` }));
}
