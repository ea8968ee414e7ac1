import { Group, NumberInput, Select, TextInput } from '@mantine/core';
import type { Budget } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { useAgentChoices } from '../../choices.ts';
import { withFactory } from '../../format.ts';
import { allFactoriesQuery, keysQuery } from '../../queries.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { type BudgetDraft, changeOf, draftOf, isComplete, requestOf, sharesOf } from './draft.ts';

const scopes = [
  { value: 'team', label: 'All runs of the team' },
  { value: 'factory', label: 'Runs of a factory' },
  { value: 'agent', label: 'Runs of an agent' },
  { value: 'automation', label: 'Runs of an automation' },
  { value: 'key', label: 'Runs of an API key' },
];

const periods = [
  { value: 'day', label: 'Day' },
  { value: 'week', label: 'Week, from Monday' },
  { value: 'month', label: 'Month' },
  { value: 'total', label: 'Total, never resets' },
];

const actions = [
  { value: 'pause', label: 'Pause: runs are blocked until the budget has room' },
  { value: 'refuse', label: 'Refuse: runs fail' },
];

/** Creates or changes a budget. */
export default function BudgetDialog({ budget, close }: { budget: Budget | undefined; close: () => void }) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => draftOf(budget));
  const set = (change: Partial<BudgetDraft>): void => setDraft((before) => ({ ...before, ...change }));
  const submit = async (): Promise<void> => {
    await (budget ? client.budgets.update(budget.uid, changeOf(draft)) : client.budgets.create(requestOf(draft)));
    await queries.invalidateQueries({ queryKey: ['budgets'] });
  };
  return (
    <FormDialog
      title={budget ? 'Edit budget' : 'New budget'}
      close={close}
      action={budget ? 'Save' : 'Create'}
      submit={submit}
      incomplete={!isComplete(draft)}
      size="lg"
    >
      <Group grow align="start">
        <Select
          label="For"
          data={scopes}
          allowDeselect={false}
          disabled={budget !== undefined}
          value={draft.scope}
          onChange={(scope) => set({ scope: scope as BudgetDraft['scope'], scopeUid: null })}
        />
        {draft.scope !== 'team' && <ScopeOf draft={draft} set={set} budget={budget} />}
      </Group>
      <Group grow align="start">
        <NumberInput
          label="Cap in US dollars"
          required
          data-autofocus
          min={0}
          decimalScale={6}
          prefix="$"
          thousandSeparator=","
          hideControls
          value={draft.cap}
          onChange={(cap) => set({ cap })}
        />
        <Select
          label="Period"
          data={periods}
          allowDeselect={false}
          value={draft.period}
          onChange={(period) => set({ period: period as BudgetDraft['period'] })}
        />
      </Group>
      <Group grow align="start">
        <TextInput
          label="Time zone"
          placeholder="Europe/Berlin"
          value={draft.timeZone}
          onChange={(event) => set({ timeZone: event.currentTarget.value })}
        />
        <TextInput
          label="Report at, in percent"
          placeholder="80"
          error={sharesOf(draft.notifyAt) ? undefined : 'Percentages from 1 to 100, such as 50, 80'}
          value={draft.notifyAt}
          onChange={(event) => set({ notifyAt: event.currentTarget.value })}
        />
      </Group>
      <Select
        label="When the budget is used up"
        data={actions}
        allowDeselect={false}
        value={draft.action}
        onChange={(action) => set({ action: action as BudgetDraft['action'] })}
      />
    </FormDialog>
  );
}

interface ScopeProps {
  draft: BudgetDraft;
  set: (change: Partial<BudgetDraft>) => void;
  budget: Budget | undefined;
}

/** What a budget is for, by name where there is a list of names. */
function ScopeOf({ draft, set, budget }: ScopeProps) {
  const { scope, scopeUid } = draft;
  const agents = useAgentChoices(scope === 'agent');
  const factories = useQuery({ ...allFactoriesQuery, enabled: scope === 'factory' });
  const keys = useQuery({ ...keysQuery, enabled: scope === 'key' });
  if (budget) {
    return <TextInput label="Name" disabled value={withFactory(budget.scope_name ?? scopeUid ?? '', budget.factory_name)} />;
  }
  if (scope === 'automation') {
    return (
      <TextInput
        label="UID of the automation"
        required
        value={scopeUid ?? ''}
        onChange={(event) => set({ scopeUid: event.currentTarget.value })}
      />
    );
  }
  const named = scope === 'factory' ? factories.data : keys.data?.keys;
  const data = scope === 'agent' ? agents.choices : (named ?? []).map(({ uid, name }) => ({ value: uid, label: name }));
  return (
    <Select
      label={{ factory: 'Factory', agent: 'Agent', key: 'Key' }[scope as 'factory'] ?? 'Name'}
      required
      searchable
      data={data}
      value={scopeUid}
      onChange={(uid) => set({ scopeUid: uid })}
    />
  );
}
