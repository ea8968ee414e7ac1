import { useQuery } from '@tanstack/react-query';
import { sessionQuery } from './api.ts';
import { may } from './layout/nav.ts';
import { agentsQuery, allFactoriesQuery } from './queries.ts';

/** The agents to choose from, each with the factory that it belongs to: every factory has a foreman. */
export function useAgentChoices(enabled = true) {
  const { data: session } = useQuery(sessionQuery);
  const agents = useQuery({ ...agentsQuery, enabled });
  const named = enabled && may(session?.scopes, 'factories:read') && (agents.data?.agents.some((agent) => agent.factory_uid) ?? false);
  const factories = useQuery({ ...allFactoriesQuery, staleTime: 60_000, enabled: named });
  const factoryOf = (uid: string | undefined): string | undefined => factories.data?.find((factory) => factory.uid === uid)?.name;
  const choices = agents.data?.agents.map(({ uid, name, factory_uid }) => {
    const factory = factoryOf(factory_uid);
    return { value: uid, label: factory ? `${name} (${factory})` : name };
  });
  return { choices: choices ?? [], error: agents.error };
}
