import { Button, Group, List, Text } from '@mantine/core';
import { APIError, type RunItem } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { Confirm } from '../../ui/Confirm.tsx';
import { requestAgain } from '../run/again.ts';
import { isActive } from '../run/state.ts';

/** The number of concurrent requests. */
const together = 6;

interface Action {
  label: string;
  warning: string;
  runs: RunItem[];
  act: (run: RunItem) => Promise<unknown>;
}

/** Cancels the selected runs that are active. A run that finishes meanwhile is not an error. */
async function cancel(run: RunItem): Promise<void> {
  await client.runs.cancel(run.run_id).catch((error: unknown) => {
    if (!(error instanceof APIError && error.statusCode === 400)) {
      throw error;
    }
  });
}

/** Cancels the selected runs that are active, or runs those again that are finished. */
export default function BulkActions({ runs, done }: { runs: RunItem[]; done: () => void }) {
  const [asked, ask] = useState<Action>();
  const active = runs.filter((run) => isActive(run.state));
  const finished = runs.filter((run) => !isActive(run.state));
  const actions: Action[] = [
    {
      label: `Cancel ${formatCount(active.length, 'run')}`,
      warning: 'Their agents stop. Their child runs continue.',
      runs: active,
      act: cancel,
    },
    {
      label: `Run ${formatCount(finished.length, 'run')} again`,
      warning: 'Each starts as a new run with the same prompt and configuration.',
      runs: finished,
      act: async (run) => client.runs.create(await requestAgain(run)),
    },
  ];
  return (
    <Group role="group" aria-label="Selected runs" gap="sm">
      <Text size="sm">
        {runs.length} selected
        {active.length > 0 && finished.length > 0 && `, ${finished.length} already finished`}
      </Text>
      {actions.map((action) => (
        <Button key={action.label} size="xs" variant="default" disabled={action.runs.length === 0} onClick={() => ask(action)}>
          {action.label}
        </Button>
      ))}
      <Button size="xs" variant="subtle" onClick={done}>
        Clear selection
      </Button>
      {asked && <ConfirmAction action={asked} done={done} close={() => ask(undefined)} />}
    </Group>
  );
}

function ConfirmAction({ action, done, close }: { action: Action; done: () => void; close: () => void }) {
  const queries = useQueryClient();
  const [left] = useState(() => [...action.runs]); // after an error, those that are not done yet
  const act = async (): Promise<void> => {
    const worker = async (): Promise<void> => {
      for (let run = left.shift(); run; run = left.shift()) {
        try {
          await action.act(run);
        } catch (error) {
          left.push(run);
          throw error;
        }
      }
    };
    try {
      await Promise.all(Array.from({ length: together }, worker));
    } finally {
      await queries.invalidateQueries({ queryKey: ['runs'] });
    }
    done();
  };
  return (
    <Confirm title={`${action.label}?`} action={action.label} act={act} close={close}>
      <Text mb="xs">{action.warning}</Text>
      <List size="sm" mah={240} style={{ overflow: 'auto' }}>
        {action.runs.map((run) => (
          <List.Item key={run.run_id}>{run.title}</List.Item>
        ))}
      </List>
    </Confirm>
  );
}
