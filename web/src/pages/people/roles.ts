import type { Known, MemberRole } from '@penstock/sdk';

/** The roles, from the least to the most. */
export const roles: readonly { role: Known<MemberRole>; label: string; what: string }[] = [
  { role: 'viewer', label: 'Viewer', what: 'reads runs and factories' },
  { role: 'user', label: 'User', what: 'also starts, steers and cancels runs' },
  { role: 'editor', label: 'Editor', what: 'also changes factories, and names secrets in runs' },
  { role: 'admin', label: 'Admin', what: 'may do everything' },
];

/** The roles to choose from in a field. */
export const roleChoices = roles.map(({ role, label, what }) => ({ value: role as string, label: `${label}: ${what}` }));
