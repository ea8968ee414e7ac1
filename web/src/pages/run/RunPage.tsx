import { Alert, Button, Tabs } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { RunItem } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { sessionQuery } from '../../api.ts';
import { formatWord } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { runQuery } from '../../queries.ts';
import { CopyButton } from '../../ui/CopyButton.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { RunStatus } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { CancelRun } from './CancelRun.tsx';
import { Facts } from './Facts.tsx';
import { FollowUp, Question } from './FollowUp.tsx';
import { RaiseBudget } from './RaiseBudget.tsx';
import { EditAndRun, RunAgain } from './RunAgain.tsx';
import classes from './RunPage.module.css';
import { isActive, isOver } from './state.ts';
import { TranscriptView } from './TranscriptView.tsx';
import { useTurns } from './Turn.tsx';
import type { Transcript } from './transcript.ts';
import { useRunLog } from './useRunLog.ts';
import { useSending } from './useSending.ts';

const ChangesTab = lazy(() => import('./ChangesTab.tsx'));
const TimelineTab = lazy(() => import('./TimelineTab.tsx'));
const NetworkTab = lazy(() => import('./NetworkTab.tsx'));
const CostTab = lazy(() => import('./CostTab.tsx'));
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
    if (log.steps) {
      void queries.invalidateQueries({ queryKey: ['run', runId] });
    }
  }, [queries, runId, log.steps]);
  // Until the log has reached what the run says, it replays older states.
  const [reached, setReached] = useState<string>();
  if (reached !== runId && run.data && log.state === run.data.state && log.execution >= run.data.execution_id) {
    setReached(runId);
  }
  const state = reached === runId ? stateOf(run.data, log) : run.data?.state;
  const mayWrite = may(session?.scopes, 'runs:write');
  if (!run.data) {
    return (
      <Page title="Run">
        <Failure error={run.error} retry={() => void run.refetch()} wanted={{ noun: 'run', list: 'Runs', to: '/runs' }} />
      </Page>
    );
  }
  return (
    <Page
      fill
      title={run.data.title || runId}
      actions={
        <>
          {state && <RunStatus state={state} />}
          {mayWrite && state && isOver(state) && (
            <>
              <RunAgain run={run.data} />
              <EditAndRun run={run.data} />
            </>
          )}
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
      {state !== 'BLOCKED' && <StatusMessage run={run.data} log={log} />}
      {state === 'SUCCEEDED' && run.data.hollow && (
        <Alert variant="default" p="xs" role="status" title="This run did nothing" styles={{ root: { borderColor: 'var(--warn)' } }}>
          {run.data.hollow_reason}
        </Alert>
      )}
      {state === 'INPROGRESS' && run.data.stalled && (
        <Alert variant="default" p="xs" role="status" title="This run has stalled" styles={{ root: { borderColor: 'var(--warn)' } }}>
          It works, but its last event ({formatWord(run.data.stalled.last_event.type)}) was <Time at={run.data.stalled.last_event.at} />.
          Its worker is connected. Cancel the run, or wait.
        </Alert>
      )}
      {showing && (
        <Suspense>
          <CurlCommands run={run.data} />
        </Suspense>
      )}
      <Conversation run={run.data} state={state ?? run.data.state} log={log} mayWrite={mayWrite} />
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
    <Alert variant="default" p="xs" role="status">
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

interface ConversationProps {
  run: RunItem;
  /** The newest known state. */
  state: string;
  log: Transcript;
  mayWrite: boolean;
}

/** The question of a blocked run, or the field for a follow-up, with all parts of the run. */
function Conversation({ run, state, log, mayWrite }: ConversationProps) {
  const [message, setMessage] = useState(''); // survives a change of the tab
  const { send, items } = useSending(run, log);
  const write = { message, setMessage, send };
  const { turnActions, dialog } = useTurns(run.run_id, mayWrite);
  const blocked = state === 'BLOCKED';
  const shortage = blocked ? (run.status_message?.budget ?? log.statusMessage?.budget) : undefined;
  return (
    <>
      {shortage && <RaiseBudget runId={run.run_id} shortage={shortage} mayWrite={mayWrite} />}
      {blocked && !shortage && (
        <Question
          question={(log.state === state && log.statusMessage) || run.status_message}
          {...write}
          send={mayWrite ? send : undefined}
        />
      )}
      <div className={classes.columns}>
        <Parts run={run} log={log}>
          <TranscriptView
            runId={run.run_id}
            title={run.title}
            items={items}
            working={isActive(state)}
            sendAgain={mayWrite ? send : undefined}
            {...(turnActions ? { turnActions } : {})}
          />
          {dialog}
          {mayWrite && (!blocked || shortage) && <FollowUp run={{ state }} {...write} />}
        </Parts>
        <Facts run={run} log={log} />
      </div>
    </>
  );
}

/** The tabs of a run. The transcript comes with its own state. */
function Parts({ run, log, children }: { run: RunItem; log: Transcript; children: ReactNode }) {
  const { tab = 'transcript' } = useSearch({ from: '/app/runs/$runId' });
  const navigate = useNavigate();
  const artifacts = Math.max(run.artifacts?.length ?? 0, log.artifacts.length);
  const shown = run.artifacts?.length === artifacts ? run.artifacts : log.artifacts;
  const show = (value: string | null): void => {
    const search = value && value !== 'transcript' ? { tab: value } : {};
    void navigate({ to: '/runs/$runId', params: { runId: run.run_id }, search, replace: true });
  };
  const list = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: shows the tab where not all tabs fit
  useEffect(() => {
    const chosen = list.current?.querySelector<HTMLElement>('[aria-selected="true"]');
    if (list.current && chosen) {
      list.current.scrollLeft = chosen.offsetLeft - (list.current.clientWidth - chosen.offsetWidth) / 2;
    }
  }, [tab]);
  return (
    <Tabs value={tab} onChange={show} keepMounted={false} className={classes.parts ?? ''}>
      <Tabs.List ref={list} mb="sm" className={classes.tabs ?? ''}>
        <Tabs.Tab value="transcript">Transcript</Tabs.Tab>
        <Tabs.Tab value="changes">Changes</Tabs.Tab>
        <Tabs.Tab value="timeline">Timeline</Tabs.Tab>
        <Tabs.Tab value="network">Network</Tabs.Tab>
        <Tabs.Tab value="cost">Cost</Tabs.Tab>
        <Tabs.Tab value="config">Configuration</Tabs.Tab>
        <Tabs.Tab value="artifacts">Artifacts{artifacts > 0 ? ` (${artifacts})` : ''}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="transcript" className={classes.transcript ?? ''}>
        {children}
      </Tabs.Panel>
      <Suspense>
        <Tabs.Panel value="changes">
          <ChangesTab runId={run.run_id} artifacts={shown} working={isActive(log.state ?? run.state)} />
        </Tabs.Panel>
        <Tabs.Panel value="timeline">
          <TimelineTab runId={run.run_id} log={log} />
        </Tabs.Panel>
        <Tabs.Panel value="network">
          <NetworkTab runId={run.run_id} working={isActive(log.state ?? run.state)} />
        </Tabs.Panel>
        <Tabs.Panel value="cost">
          <CostTab runId={run.run_id} working={isActive(log.state ?? run.state)} />
        </Tabs.Panel>
        <Tabs.Panel value="config">
          <ConfigTab run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="artifacts">
          <ArtifactsTab artifacts={shown} />
        </Tabs.Panel>
      </Suspense>
    </Tabs>
  );
}
