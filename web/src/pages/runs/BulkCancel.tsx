import { Button, Group, List, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { APIError, type RunItem } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { client } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { Confirm } from '../../ui/Confirm.tsx';
import { isActive } from '../run/state.ts';

/** The number of concurrent cancel requests. */
const together = 6;

/** Cancels the selected runs that are not finished. A run that finishes meanwhile is not an error. */
export default function BulkCancel({ runs, done }: { runs: RunItem[]; done: () => void }) {
  const [asking, { open, close }] = useDisclosure(false);
  const queries = useQueryClient();
  const active = runs.filter((run) => isActive(run.state));
  const cancel = `Cancel ${formatCount(active.length, 'run')}`;
  const act = async (): Promise<void> => {
    const left = [...active];
    const worker = async (): Promise<void> => {
      for (let run = left.shift(); run; run = left.shift()) {
        await client.runs.cancel(run.run_id).catch((error: unknown) => {
          if (!(error instanceof APIError && error.statusCode === 400)) {
            throw error;
          }
        });
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
    <Group role="group" aria-label="Selected runs" gap="sm">
      <Text size="sm">
        {runs.length} selected
        {active.length < runs.length && `, ${runs.length - active.length} already finished`}
      </Text>
      <Button size="xs" variant="default" disabled={active.length === 0} onClick={open}>
        {cancel}
      </Button>
      <Button size="xs" variant="subtle" onClick={done}>
        Clear selection
      </Button>
      {asking && (
        <Confirm title={`${cancel}?`} action={cancel} act={act} close={close}>
          <Text mb="xs">Their agents stop. Their child runs continue.</Text>
          <List size="sm" mah={240} style={{ overflow: 'auto' }}>
            {active.map((run) => (
              <List.Item key={run.run_id}>{run.title}</List.Item>
            ))}
          </List>
        </Confirm>
      )}
    </Group>
  );
}
