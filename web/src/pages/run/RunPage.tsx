import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { live } from '../../live.ts';
import { runQuery } from '../../queries.ts';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { RunStatus } from '../../ui/Status.tsx';

export function RunPage() {
  const { runId } = useParams({ from: '/app/runs/$runId' });
  const run = useQuery({ ...runQuery(runId), ...live() });
  return (
    <Page title={run.data?.title ?? 'Run'} actions={run.data && <RunStatus state={run.data.state} />}>
      <Failure error={run.error} retry={() => void run.refetch()} />
    </Page>
  );
}
