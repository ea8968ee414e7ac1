import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { automationsQuery } from '../../queries.ts';
import { FactoryFilter } from '../webhooks/FactoryFilter.tsx';
import { useEach } from '../webhooks/useEach.ts';

interface SubjectFiltersProps {
  factory: string | undefined;
  automation: string | undefined;
  change: (name: 'factory_uid' | 'automation_uid', value: string | undefined) => void;
}

/** Selects a factory and an automation. Only automations with a subject are choices, and the selected one. */
export function SubjectFilters({ factory, automation, change }: SubjectFiltersProps) {
  const { data: session } = useQuery(sessionQuery);
  const enabled = may(session?.scopes, 'factories:read');
  const { factories, rows } = useEach(factory, (one) => one.automations_count, automationsQuery, { live: false, enabled });
  const choices = (rows ?? [])
    .filter(({ uid, subject }) => subject || uid === automation)
    .map((one) => ({ value: one.uid, label: `${one.name} (${one.factory.name})` }));
  const unknown = automation && !choices.some(({ value }) => value === automation) ? [{ value: automation, label: automation }] : [];
  return (
    <>
      <Select
        aria-label="Automation"
        placeholder="All automations"
        clearable
        searchable
        clearButtonProps={{ 'aria-label': 'All automations' }}
        w={260}
        data={[...choices, ...unknown]}
        value={automation ?? null}
        onChange={(uid) => change('automation_uid', uid ?? undefined)}
      />
      {((factories?.length ?? 0) > 1 || factory) && (
        <FactoryFilter factories={factories ?? []} value={factory} change={(uid) => change('factory_uid', uid)} />
      )}
    </>
  );
}
