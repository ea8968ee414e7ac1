import type { Automation, Webhook } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { sessionQuery } from '../../api.ts';
import { useAgentChoices, useEnvironmentChoices, useModelChoices } from '../../choices.ts';
import { may } from '../../layout/nav.ts';
import { allFactoriesQuery, automationsQuery, schedulesQuery, webhooksQuery } from '../../queries.ts';
import { useEach } from '../webhooks/useEach.ts';

/** The kinds of resources that filters refer to. */
export type Noun = 'model' | 'actor' | 'factory' | 'automation' | 'webhook' | 'schedule' | 'environment';

export interface Choice {
  value: string;
  label: string;
}

/** The choices of filters by name. Requests only nouns that are wanted and that the session may read. */
export function useChoices(wanted: ReadonlySet<Noun>): Record<Noun, Choice[]> {
  const { data: session } = useQuery(sessionQuery);
  const reads = may(session?.scopes, 'factories:read');
  const manages = may(session?.scopes, 'factories:manage');
  const wants = (noun: Noun): boolean => wanted.has(noun);
  const models = useModelChoices(wants('model'));
  const agents = useAgentChoices(wants('actor'));
  const factories = useQuery({ ...allFactoriesQuery, staleTime: 60_000, enabled: reads && wants('factory') });
  const schedules = useQuery({ ...schedulesQuery, staleTime: 60_000, enabled: wants('schedule') });
  const environments = useEnvironmentChoices(wants('environment'));
  const ofAutomations = reads && (wants('automation') || wants('actor'));
  const automations = useEach(undefined, (one) => one.automations_count, automationsQuery, { live: false, enabled: ofAutomations });
  const ofWebhooks = manages && wants('webhook');
  const webhooks = useEach(undefined, (one) => one.webhooks_count, webhooksQuery, { live: false, enabled: ofWebhooks });
  const named = (noun: Automation | Webhook, of: { name: string }): string => `${noun.name} (${of.name})`;
  const byAutomation = automations.rows?.map((one) => ({ value: one.uid, label: named(one, one.factory) })) ?? [];
  const me = session?.actor;
  return {
    model: models.choices,
    actor: [...(me ? [{ value: me.uid, label: `${me.display_name ?? me.uid} (you)` }] : []), ...agents.choices, ...byAutomation],
    factory: factories.data?.map(({ uid, name }) => ({ value: uid, label: name })) ?? [],
    automation: byAutomation,
    webhook: webhooks.rows?.map((one) => ({ value: one.uid, label: named(one, one.factory) })) ?? [],
    schedule: schedules.data?.schedules.map(({ id, name }) => ({ value: id, label: name })) ?? [],
    environment: [{ value: 'empty-environment', label: 'None' }, ...environments.choices],
  };
}
