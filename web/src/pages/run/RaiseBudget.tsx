import { Alert, Anchor, Button, Group, NumberInput, Text } from '@mantine/core';
import type { BudgetShortage } from '@penstock/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { client } from '../../api.ts';
import { Failure } from '../../ui/Failure.tsx';
import { enoughFor, runOf, sentenceOf, titleOf } from './shortage.ts';

interface RaiseBudgetProps {
  runId: string;
  shortage: BudgetShortage;
  mayWrite: boolean;
}

/** Says why a budget blocks a run, and raises it if it is the own budget of the run or of one above it. */
export function RaiseBudget({ runId, shortage, mayWrite }: RaiseBudgetProps) {
  const queries = useQueryClient();
  const owner = runOf(shortage);
  const tokens = shortage.cap_tokens !== undefined;
  const [cap, setCap] = useState<number | string>(enoughFor(shortage));
  const raising = useMutation({
    mutationFn: () =>
      client.runs.update(owner ?? runId, {
        config: { budget: tokens ? { max_total_tokens: Number(cap) } : { max_cost_usd: Number(cap) } },
      }),
    onSuccess: () =>
      Promise.all([queries.invalidateQueries({ queryKey: ['run', runId] }), queries.invalidateQueries({ queryKey: ['runs'] })]),
  });
  const send = (event: FormEvent): void => {
    event.preventDefault();
    raising.mutate();
  };
  return (
    <Alert variant="default" role="group" title={titleOf(shortage, runId)}>
      <Text size="sm" role="status">
        {sentenceOf(shortage)}
      </Text>
      {owner && mayWrite && (
        <form onSubmit={send}>
          <Group align="end" gap="xs" mt="xs">
            <NumberInput
              label={tokens ? 'New cap in tokens' : 'New cap in US dollars'}
              min={0}
              prefix={tokens ? '' : '$'}
              thousandSeparator=","
              hideControls
              value={cap}
              onChange={setCap}
            />
            <Button type="submit" loading={raising.isPending} disabled={!(Number(cap) > 0)}>
              Raise budget
            </Button>
          </Group>
          <Failure error={raising.error} />
        </form>
      )}
      {owner && owner !== runId && (
        <Anchor component={Link} to="/runs/$runId" params={{ runId: owner } as never} size="sm">
          Show the run with this budget
        </Anchor>
      )}
      {!owner && (
        <Anchor component={Link} to="/spend" size="sm">
          Show the budgets
        </Anchor>
      )}
    </Alert>
  );
}
