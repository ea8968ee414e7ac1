import { Alert, Button, Tabs } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { RunItem } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useCallback, useEffect, useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { runQuery } from '../../queries.ts';
import { CopyButton } from '../../ui/CopyButton.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { RunStatus } from '../../ui/Status.tsx';
import { CancelRun } from './CancelRun.tsx';
import { Facts } from './Facts.tsx';
import { FollowUp } from './FollowUp.tsx';
import classes from './RunPage.module.css';
import { isActive } from './state.ts';
import { TranscriptView } from './TranscriptView.tsx';
import type { Transcript } from './transcript.ts';
import { useRunLog } from './useRunLog.ts';

const TimelineTab = lazy(() => import('./TimelineTab.tsx'));
const NetworkTab = lazy(() => import('./NetworkTab.tsx'));
const ConfigTab = lazy(() => import('./ConfigTab.tsx'));
const ArtifactsTab = lazy(() => import('./ArtifactsTab.tsx'));
const CurlCommands = lazy(() => import('./CurlCommands.tsx'));

export function RunPage() {
  const { runId } = useParams({ from: '/app/runs/$runId' });
  return <OneRun key={runId} runId={runId} />;
}

function OneRun({ runId }: { runId: string }) {
  const { data: session } = useQuery(sessionQuery);
  const queries = useQueryClient();
  const run = useQuery({ ...runQuery(runId), ...live(5) });
  const log = useRunLog(runId, run.data);
  const [showing, curl] = useDisclosure(false);
  // The log is the first to change.
  useEffect(() => {
    if (log.state) {
      void queries.invalidateQueries({ queryKey: ['run', runId] });
    }
  }, [queries, runId, log.state]);
  const state = stateOf(run.data, log);
  const mayWrite = may(session?.scopes, 'runs:write');
  if (!run.data) {
    return (
      <Page title="Run">
        <Failure error={run.error} retry={() => void run.refetch()} />
      </Page>
    );
  }
  return (
    <Page
      title={run.data.title || runId}
      actions={
        <>
          {state && <RunStatus state={state} />}
          <Button size="xs" variant="default" onClick={curl.toggle} aria-expanded={showing}>
            Copy as cURL
          </Button>
          {mayWrite && state && isActive(state) && run.data.is_run_type_cancellable !== false && <CancelRun run={run.data} />}
        </>
      }
    >
      <span className={classes.id}>
        <span className="mono clip">{runId}</span>
        <CopyButton value={runId} label="Copy the run’s ID" />
      </span>
      {run.error && <Failure error={run.error} />}
      <StatusMessage run={run.data} log={log} />
      {showing && (
        <Suspense>
          <CurlCommands run={run.data} />
        </Suspense>
      )}
      <div className={classes.columns}>
        <Parts run={run.data} log={log} mayWrite={mayWrite} />
        <Facts run={run.data} log={log} />
      </div>
    </Page>
  );
}

/** The newest known state: from the log while it is followed, otherwise from the run. */
function stateOf(run: RunItem | undefined, log: Transcript): string | undefined {
  return log.state && (!run || run.execution_id <= log.execution) ? log.state : run?.state;
}

function StatusMessage({ run, log }: { run: RunItem; log: Transcript }) {
  const said = run.status_message ?? log.statusMessage;
  if (!said || run.state === 'SUCCEEDED') {
    return null;
  }
  return (
    <Alert variant="default" p="xs" role="status" title={run.state === 'BLOCKED' ? 'The agent needs your answer' : undefined}>
      <span className="plain">{said.message}</span>
      {said.error_code && (
        <>
          {' '}
          <a href={`/docs/errors/${encodeURIComponent(said.error_code)}`}>{said.error_code}</a>
        </>
      )}
    </Alert>
  );
}

function Parts({ run, log, mayWrite }: { run: RunItem; log: Transcript; mayWrite: boolean }) {
  const { tab = 'transcript' } = useSearch({ from: '/app/runs/$runId' });
  const navigate = useNavigate();
  const [message, setMessage] = useState(''); // survives a change of the tab
  const queries = useQueryClient();
  // Stable: a new function would render every line of the transcript again.
  const sendAgain = useCallback(
    async (text: string): Promise<void> => {
      await client.runs.followUp(run.run_id, { message: text });
      await queries.invalidateQueries({ queryKey: ['run', run.run_id] });
    },
    [queries, run.run_id],
  );
  const artifacts = Math.max(run.artifacts?.length ?? 0, log.artifacts.length);
  const show = (value: string | null): void => {
    const search = value && value !== 'transcript' ? { tab: value } : {};
    void navigate({ to: '/runs/$runId', params: { runId: run.run_id }, search, replace: true });
  };
  return (
    <Tabs value={tab} onChange={show} keepMounted={false} className={classes.parts ?? ''}>
      <Tabs.List mb="sm" className={classes.tabs ?? ''}>
        <Tabs.Tab value="transcript">Transcript</Tabs.Tab>
        <Tabs.Tab value="timeline">Timeline</Tabs.Tab>
        <Tabs.Tab value="network">Network</Tabs.Tab>
        <Tabs.Tab value="config">Configuration</Tabs.Tab>
        <Tabs.Tab value="artifacts">Artifacts{artifacts > 0 ? ` (${artifacts})` : ''}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="transcript">
        <TranscriptView items={log.items} working={isActive(log.state ?? run.state)} sendAgain={mayWrite ? sendAgain : undefined} />
        {mayWrite && <FollowUp run={run} message={message} setMessage={setMessage} />}
      </Tabs.Panel>
      <Suspense>
        <Tabs.Panel value="timeline">
          <TimelineTab runId={run.run_id} log={log} />
        </Tabs.Panel>
        <Tabs.Panel value="network">
          <NetworkTab runId={run.run_id} working={isActive(log.state ?? run.state)} />
        </Tabs.Panel>
        <Tabs.Panel value="config">
          <ConfigTab run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="artifacts">
          <ArtifactsTab artifacts={run.artifacts?.length === artifacts ? run.artifacts : log.artifacts} />
        </Tabs.Panel>
      </Suspense>
    </Tabs>
  );
}
