import { useQuery } from '@tanstack/react-query';
import { useAgentChoices } from '../../choices.ts';
import { may } from '../../layout/nav.ts';
import { serviceAccountsQuery, usersQuery } from '../../queries.ts';

/** Who can own a new key, besides the caller: users and service accounts for those who manage them, and agents. */
export function useOwnerChoices(scopes: readonly string[] | undefined) {
  const manages = may(scopes, 'access:manage');
  const users = useQuery({ ...usersQuery, enabled: manages });
  const services = useQuery({ ...serviceAccountsQuery, enabled: manages });
  const agents = useAgentChoices();
  const named = (members: { uid: string; display_name: string; disabled_at?: string }[] | undefined) =>
    (members ?? [])
      .filter(({ disabled_at }) => !disabled_at)
      .map(({ uid, display_name }) => ({ value: `owner ${uid}`, label: display_name }));
  return {
    choices: [
      { group: 'Users', items: named(users.data?.users) },
      { group: 'Service accounts', items: named(services.data?.service_accounts) },
      { group: 'Agents', items: agents.choices.map(({ value, label }) => ({ value: `agent ${value}`, label })) },
    ],
    /** The fields of a request for a key of this choice. */
    request: (choice: string | null): { owner_uid?: string; agent_uid?: string } => {
      const [kind, uid] = (choice ?? '').split(' ');
      return !uid ? {} : kind === 'agent' ? { agent_uid: uid } : { owner_uid: uid };
    },
    error: users.error ?? services.error ?? agents.error,
  };
}
