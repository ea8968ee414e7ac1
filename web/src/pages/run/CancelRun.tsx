import { Button, Checkbox, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { RunItem } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { Confirm } from '../../ui/Confirm.tsx';

/** Cancels a run, after a question. In a list, of names the run. */
export function CancelRun({ run, of }: { run: RunItem; of?: string }) {
  const [asking, { open, close }] = useDisclosure(false);
  const [cascade, setCascade] = useState(false);
  const queries = useQueryClient();
  const act = async (): Promise<void> => {
    await client.runs.cancel(run.run_id, { cascade });
    await Promise.all([queries.invalidateQueries({ queryKey: ['run', run.run_id] }), queries.invalidateQueries({ queryKey: ['runs'] })]);
  };
  return (
    <>
      <Button size="xs" variant="default" onClick={open} {...(of === undefined ? {} : { 'aria-label': `Cancel run ${of}` })}>
        {of === undefined ? 'Cancel run' : 'Cancel'}
      </Button>
      {asking && (
        <Confirm title="Cancel this run?" action="Cancel run" act={act} close={close}>
          <Text mb="sm">The agent stops, and its sandbox is removed. A follow-up can resume the run.</Text>
          <Checkbox label="Also cancel its child runs" checked={cascade} onChange={(event) => setCascade(event.currentTarget.checked)} />
        </Confirm>
      )}
    </>
  );
}
