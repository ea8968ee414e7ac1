import { Button, Checkbox, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { RunItem } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { Confirm } from '../../ui/Confirm.tsx';

export function CancelRun({ run }: { run: RunItem }) {
  const [asking, { open, close }] = useDisclosure(false);
  const [cascade, setCascade] = useState(false);
  const queries = useQueryClient();
  const act = async (): Promise<void> => {
    await client.runs.cancel(run.run_id, { cascade });
    await queries.invalidateQueries({ queryKey: ['run', run.run_id] });
  };
  return (
    <>
      <Button size="xs" variant="default" onClick={open}>
        Cancel run
      </Button>
      <Confirm opened={asking} close={close} title="Cancel this run?" action="Cancel the run" act={act}>
        <Text mb="sm">The agent is stopped, and its sandbox goes. A follow-up can take the run up again.</Text>
        <Checkbox
          label="Also cancel the runs that it has started"
          checked={cascade}
          onChange={(event) => setCascade(event.currentTarget.checked)}
        />
      </Confirm>
    </>
  );
}
