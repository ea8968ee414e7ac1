import { Button, Group, Text, Title } from '@mantine/core';
import type { Budget, UsageRow } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { formatCost, formatCount, formatWord, withFactory } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { budgetsQuery, type UsageGroup, usageQuery } from '../../queries.ts';
import { BudgetBar } from '../../ui/BudgetBar.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import filter from '../../ui/FilterTabs.module.css';
import { Icon } from '../../ui/Icon.tsx';
import { Page } from '../../ui/Page.tsx';
import { RowActions } from '../../ui/RowActions.tsx';
import { Time } from '../../ui/Time.tsx';
import { costOf, usageColumns } from '../../ui/usage.tsx';
import classes from './SpendPage.module.css';

const BudgetDialog = lazy(() => import('./BudgetDialog.tsx'));

const ranges = [
  { days: 1, label: 'Last 24 hours' },
  { days: 7, label: 'Last 7 days' },
  { days: 30, label: 'Last 30 days' },
] as const;

const groups: UsageGroup[] = ['model', 'automation', 'agent', 'factory', 'key'];

export function SpendPage() {
  const { data: session } = useQuery(sessionQuery);
  const mayManage = may(session?.scopes, 'admin');
  const [editing, edit] = useState<{ budget?: Budget }>();
  const [deleting, remove] = useState<Budget>();
  const create = (
    <Button leftSection={<Icon name="plus" />} onClick={() => edit({})}>
      New budget
    </Button>
  );
  return (
    <Page title="Spend" actions={mayManage && create}>
      <Usage />
      <Budgets edit={mayManage ? (budget) => edit({ budget }) : undefined} remove={remove} />
      {editing && (
        <Suspense>
          <BudgetDialog budget={editing.budget} close={() => edit(undefined)} />
        </Suspense>
      )}
      {deleting && (
        <DeleteDialog
          noun="budget"
          name={nameOf(deleting)}
          remove={() => client.budgets.delete(deleting.uid)}
          stale={['budgets']}
          close={() => remove(undefined)}
        >
          Its cap no longer applies. Runs that it blocks continue.
        </DeleteDialog>
      )}
    </Page>
  );
}

/** The totals of each range, and a table of the chosen one. */
function Usage() {
  const { days = '30', by = 'model' } = useSearch({ from: '/app/spend' });
  const chosen = ranges.find((range) => String(range.days) === days) ?? ranges[2];
  const group = groups.find((one) => one === by) ?? 'model';
  const usage = useQuery({ ...usageQuery(chosen.days, group), ...live(15) });
  return (
    <section aria-label="Usage" className={classes.section}>
      <nav className={classes.totals} aria-label="Range">
        {ranges.map((range) => (
          <Total key={range.days} {...range} group={group} chosen={range.days === chosen.days} />
        ))}
      </nav>
      <Group justify="space-between" gap="xs">
        <Title order={2} size="h5">
          Usage by {group}
        </Title>
        <nav className={filter.tabs} aria-label="Group by">
          {groups.map((one) => (
            <Link
              key={one}
              to="/spend"
              search={{ days, by: one } as never}
              className={filter.tab ?? ''}
              data-on={one === group || undefined}
              aria-current={one === group || undefined}
            >
              {formatWord(one)}
            </Link>
          ))}
        </nav>
      </Group>
      <Failure error={usage.error} retry={() => void usage.refetch()} />
      {(usage.data || !usage.error) && (
        <div className={classes.rows}>
          <DataTable
            label={`Usage by ${group}`}
            columns={[nameColumn(group), ...usageColumns]}
            rows={usage.data?.rows}
            rowKey={({ key }) => key}
            expected={3}
            empty={
              <Text size="sm" c="dimmed">
                No calls to models in this time.
              </Text>
            }
          />
        </div>
      )}
      {usage.data && usage.data.omitted_rows > 0 && (
        <Text size="sm" c="dimmed">
          {formatCount(usage.data.omitted_rows, 'more row')} with lower costs
        </Text>
      )}
    </section>
  );
}

/** The cost of a range, which is a link to its table. */
function Total({ days, label, group, chosen }: { days: number; label: string; group: UsageGroup; chosen: boolean }) {
  const { data } = useQuery({ ...usageQuery(days, group), ...live(15) });
  return (
    <Link
      to="/spend"
      search={{ days: String(days), by: group } as never}
      className={classes.total ?? ''}
      data-on={chosen || undefined}
      aria-current={chosen || undefined}
    >
      <span>{label}</span>
      <strong>{data ? costOf(data.total) : '–'}</strong>
      <span>{data ? formatCount(data.total.calls, 'call') : '\u00a0'}</span>
    </Link>
  );
}

function nameColumn(group: UsageGroup): Column<UsageRow> {
  return {
    header: formatWord(group),
    main: true,
    cell: ({ key, name, factory_name }) => <span className="plain">{withFactory(name ?? (key || `No ${group}`), factory_name)}</span>,
  };
}

/** What a budget is for: "Team", "Factory payments", "Agent foreman (payments)". */
function nameOf({ scope, scope_name, scope_uid, factory_name }: Budget): string {
  return withFactory([formatWord(scope), scope_name ?? scope_uid].filter(Boolean).join(' '), factory_name);
}

const columns: Column<Budget>[] = [
  {
    header: 'Budget',
    main: true,
    cell: (budget) => (
      <>
        <Text component="span" size="sm" fw={500} className="plain">
          {nameOf(budget)}
        </Text>
        <Text size="xs" c="dimmed">
          {budget.action === 'pause' ? 'Pauses runs' : 'Refuses runs'}
          {budget.time_zone !== 'UTC' && `, ${budget.time_zone}`}
        </Text>
      </>
    ),
  },
  {
    header: 'Spent',
    width: 320,
    cell: (budget) => <BudgetBar spent={budget.spent_usd} reserved={budget.reserved_usd} cap={budget.max_cost_usd} format={formatCost} />,
  },
  { header: 'Period', width: 90, cell: ({ period }) => formatWord(period) },
  { header: 'Resets', width: 120, cell: ({ period_end }) => (period_end ? <Time at={period_end} /> : <>never</>) },
];

interface BudgetsProps {
  /** undefined if the reader may not change budgets. */
  edit: ((budget: Budget) => void) | undefined;
  remove: (budget: Budget) => void;
}

function Budgets({ edit, remove }: BudgetsProps) {
  const budgets = useQuery({ ...budgetsQuery, ...live(5) });
  const actions: Column<Budget> = {
    header: 'Actions',
    width: 130,
    numeric: true,
    cell: (budget) => (
      <RowActions
        of={nameOf(budget)}
        actions={[
          { label: 'Edit', act: () => edit?.(budget) },
          { label: 'Delete', act: () => remove(budget) },
        ]}
      />
    ),
  };
  return (
    <section aria-label="Budgets" className={classes.section}>
      <Title order={2} size="h5">
        Budgets
      </Title>
      <Failure error={budgets.error} retry={() => void budgets.refetch()} />
      {(budgets.data || !budgets.error) && (
        <DataTable
          label="Budgets"
          columns={edit ? [...columns, actions] : columns}
          rows={budgets.data?.budgets}
          rowKey={({ uid }) => uid}
          expected={2}
          empty={
            <Empty title="No budgets yet">
              <Text>
                A budget caps what runs spend on models in a day, week or month. Each call is counted before it is sent, so the cap is never
                crossed.
              </Text>
            </Empty>
          }
        />
      )}
    </section>
  );
}
