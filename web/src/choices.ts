import { useQuery } from '@tanstack/react-query';
import { sessionQuery } from './api.ts';
import { withFactory } from './format.ts';
import { may } from './layout/nav.ts';
import { agentsQuery, allFactoriesQuery, environmentsQuery, harnessesQuery, modelsQuery } from './queries.ts';

/** The agents to choose from, each with its factory, since every factory has a foreman. */
export function useAgentChoices(enabled = true) {
  const { data: session } = useQuery(sessionQuery);
  const agents = useQuery({ ...agentsQuery, enabled });
  const named = enabled && may(session?.scopes, 'factories:read') && (agents.data?.agents.some((agent) => agent.factory_uid) ?? false);
  const factories = useQuery({ ...allFactoriesQuery, staleTime: 60_000, enabled: named });
  const factoryOf = (uid: string | undefined): string | undefined => factories.data?.find((factory) => factory.uid === uid)?.name;
  const choices = agents.data?.agents.map(({ uid, name, factory_uid }) => {
    const factory = factoryOf(factory_uid);
    return { value: uid, label: withFactory(name, factory) };
  });
  return { choices: choices ?? [], error: agents.error };
}

/** The models by name, the models that are not available now, and the id of the default model. */
export function useModelChoices(enabled = true) {
  const { data, error } = useQuery({ ...modelsQuery, enabled });
  const models = data?.models ?? [];
  return {
    choices: models.map(({ id, display_name }) => ({ value: id, label: display_name })),
    unavailable: new Set(models.filter(({ disable_reason }) => disable_reason).map(({ id }) => id)),
    standard: data?.default_model_id,
    error,
  };
}

const harnessTitles: Record<string, string> = {
  builtin: 'Built-in agent',
  claude: 'Claude Code',
  codex: 'Codex',
  gemini: 'Gemini CLI',
  opencode: 'OpenCode',
  qwen: 'Qwen Code',
  command: 'Command',
};

/** The harnesses to choose from, those that cannot run last. reasons says why they cannot, and modelsOf lists the models of one. */
export function useHarnessChoices() {
  const { data, error } = useQuery(harnessesQuery);
  const harnesses = (data?.harnesses ?? []).toSorted((a, b) => Number(b.usable) - Number(a.usable));
  return {
    choices: harnesses.map(({ name, usable }) => ({ value: name, label: harnessTitles[name] ?? name, disabled: !usable })),
    reasons: new Map(harnesses.filter(({ usable }) => !usable).map(({ name, reason }) => [name, reason ?? 'It cannot run now.'])),
    modelsOf: (name: string) => new Set(harnesses.find((harness) => harness.name === name)?.models),
    error,
  };
}

/** The environments by name. */
export function useEnvironmentChoices(enabled = true) {
  const { data, error } = useQuery({ ...environmentsQuery, enabled });
  return { choices: data?.environments.map(({ uid, config }) => ({ value: uid, label: config.name ?? uid })) ?? [], error };
}

/** What events do while a run works on their subject. */
export const whensBusy = [
  { value: 'coalesce', label: 'Wait for its turn to end, then together' },
  { value: 'queue', label: 'Follow one by one' },
  { value: 'replace', label: 'Interrupt it; only the newest counts' },
  { value: 'parallel', label: 'Start a run of their own' },
];
