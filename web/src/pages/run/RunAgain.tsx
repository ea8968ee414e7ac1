import { Button } from '@mantine/core';
import type { RunAgentRequest, RunItem } from '@penstock/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { client } from '../../api.ts';
import { Failure } from '../../ui/Failure.tsx';
import { requestAgain } from './again.ts';

const NewRun = lazy(() => import('../runs/NewRun.tsx'));

/** Starts a run like this one, and goes to its page. In a list, of names the run. */
export function RunAgain({ run, of }: { run: RunItem; of?: string }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const starting = useMutation({
    mutationFn: async () => client.runs.create(await requestAgain(run)),
    onSuccess: ({ run_id }) => {
      void queries.invalidateQueries({ queryKey: ['runs'] });
      void navigate({ to: '/runs/$runId', params: { runId: run_id } });
    },
  });
  return (
    <>
      <Button
        size="xs"
        variant="default"
        loading={starting.isPending}
        onClick={() => starting.mutate()}
        {...(of === undefined ? {} : { 'aria-label': `Run again ${of}` })}
      >
        Run again
      </Button>
      <Failure error={starting.error} />
    </>
  );
}

/** Opens the form of a new run with the values of this one. */
export function EditAndRun({ run }: { run: RunItem }) {
  const preparing = useMutation({ mutationFn: (): Promise<RunAgentRequest> => requestAgain(run) });
  return (
    <>
      <Button size="xs" variant="default" loading={preparing.isPending} onClick={() => preparing.mutate()}>
        Edit and run
      </Button>
      <Failure error={preparing.error} />
      {preparing.data && (
        <Suspense>
          <NewRun like={preparing.data} close={preparing.reset} />
        </Suspense>
      )}
    </>
  );
}
