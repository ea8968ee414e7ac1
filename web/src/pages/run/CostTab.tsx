import { Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { formatCost, formatNumber } from '../../format.ts';
import { live } from '../../live.ts';
import { runUsageQuery } from '../../queries.ts';
import { BudgetBar } from '../../ui/BudgetBar.tsx';
import { DataTable } from '../../ui/DataTable.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { usageColumns } from '../../ui/usage.tsx';

/** What a run has used by model, and what is left of its own budget. */
export default function CostTab({ runId, working }: { runId: string; working: boolean }) {
  const { data, error, refetch } = useQuery({ ...runUsageQuery(runId), ...live(working ? 3 : 15) });
  const budget = data?.budget;
  return (
    <Stack gap="md">
      <Failure error={error} retry={() => void refetch()} />
      {budget && (
        <section>
          <Title order={2} size="h6" mb={4}>
            Budget
          </Title>
          <Stack gap="xs">
            {budget.max_cost_usd !== undefined && (
              <BudgetBar spent={budget.spent_usd} reserved={budget.reserved_usd} cap={budget.max_cost_usd} format={formatCost} />
            )}
            {budget.max_total_tokens !== undefined && (
              <BudgetBar
                spent={budget.spent_tokens}
                reserved={budget.reserved_tokens}
                cap={budget.max_total_tokens}
                format={(tokens) => `${formatNumber(tokens)} tokens`}
              />
            )}
          </Stack>
          <Text size="sm" c="dimmed" mt={4}>
            The budget includes its child runs.
          </Text>
        </section>
      )}
      {(data || !error) && (
        <section>
          <Title order={2} size="h6" mb={4}>
            Calls to models
          </Title>
          <DataTable
            label="Calls to models"
            columns={[{ header: 'Model', main: true, cell: ({ key }) => <span className="mono">{key}</span> }, ...usageColumns]}
            rows={data?.models}
            rowKey={({ key }) => key}
            expected={2}
            empty={
              <Text size="sm" c="dimmed">
                The run has not called a model.
              </Text>
            }
          />
        </section>
      )}
    </Stack>
  );
}
