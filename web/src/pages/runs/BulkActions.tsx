import { Button, Group, Text } from '@mantine/core';
import { APIError, type RunItem } from '@penstock/sdk';
import { useState } from 'react';
import { client } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { BulkConfirm } from '../../ui/BulkConfirm.tsx';
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
      {actions
        .filter((action) => action.runs.length > 0)
        .map((action) => (
          <Button key={action.label} size="xs" variant="default" onClick={() => ask(action)}>
            {action.label}
          </Button>
        ))}
      <Button size="xs" variant="subtle" onClick={done}>
        Clear selection
      </Button>
      {asked && (
        <BulkConfirm
          action={asked.label}
          warning={asked.warning}
          items={asked.runs}
          keyOf={(run) => run.run_id}
          labelOf={(run) => run.title}
          act={asked.act}
          together={together}
          stale={['runs']}
          done={done}
          close={() => ask(undefined)}
        />
      )}
    </Group>
  );
}
