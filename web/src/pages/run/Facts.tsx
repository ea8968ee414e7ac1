import { Anchor, Stack, Title } from '@mantine/core';
import type { Plan, RequestUsage, RunEvidence, RunItem } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { sessionQuery } from '../../api.ts';
import { formatCost, formatNumber, formatWord } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { descendantsQuery, factoryQuery, runQuery } from '../../queries.ts';
import { ExternalLink } from '../../ui/ExternalLink.tsx';
import { Icon } from '../../ui/Icon.tsx';
import { RunStatus } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { agentOf } from './agent.ts';
import { Durations } from './Durations.tsx';
import { Events } from './Events.tsx';
import classes from './Facts.module.css';
import type { Transcript } from './transcript.ts';
import { type Branch, treeOf } from './tree.ts';

/** The facts of a run, with links. */
export function Facts({ run, log }: { run: RunItem; log: Transcript }) {
  const usage = log.usage ?? run.request_usage;
  return (
    <Stack component="aside" aria-label="About the run" gap="md" className={classes.facts ?? ''}>
      {log.plan && <PlanView plan={log.plan} />}
      <dl className={classes.list}>
        <Fact name="Created">
          <Time at={run.created_at} />
          {run.creator && <> by {run.creator.display_name ?? run.creator.uid}</>}
        </Fact>
        {run.executor && run.executor.uid !== run.creator?.uid && run.executor.display_name !== agentOf(run) && (
          <Fact name="Acts as">{run.executor.display_name ?? run.executor.uid}</Fact>
        )}
        <Fact name="Trigger">
          {run.source && formatWord(run.source)}
          {run.trigger_url && (
            <>
              {' · '}
              <ExternalLink href={run.trigger_url}>{triggerOf(run.trigger_url)}</ExternalLink>
            </>
          )}
        </Fact>
        {run.queue_position !== undefined && <Fact name="Queue position">{formatNumber(run.queue_position)}</Fact>}
        <Fact name="Waits for">
          {run.waiting && `${run.waiting.message.replace('Waiting: ', '')} It ends when: ${run.waiting.ends_when}`}
        </Fact>
        <Durations timeline={log.timeline} />
        <Fact name="Execution">{run.execution_id > 1 ? String(run.execution_id) : undefined}</Fact>
        <Usage usage={usage} />
        <Fact name="Evidence">{run.evidence && evidenceOf(run.evidence)}</Fact>
        <Fact name="Model">{run.agent_config?.model_id}</Fact>
        <Fact name="Agent">{agentOf(run)}</Fact>
        <Fact name="Subject">{subjectOf(run)}</Fact>
        <Fact name="Continues">{run.continues && <ParentOf id={run.continues} />}</Fact>
        <Fact name="Forked from">{run.forked_from && <ForkedFrom run={run} from={run.forked_from} />}</Fact>
        <Fact name="Schedule">{run.schedule?.schedule_name}</Fact>
        <Fact name="Automation">{automationOf(run)}</Fact>
        <Fact name="Factory">{run.factory_uid ? <FactoryOf uid={run.factory_uid} /> : undefined}</Fact>
        <Fact name="Parent">{run.parent_run_id ? <ParentOf id={run.parent_run_id} /> : undefined}</Fact>
      </dl>
      {run.subject_uid && <Events uid={run.subject_uid} run={run} />}
      <Metadata run={run} />
      <Children run={run} />
    </Stack>
  );
}

/** The automation that started a run. It is the run's creator, so its name is known. */
function automationOf({ metadata, factory_uid, creator }: RunItem): ReactNode {
  const auid = metadata?.automation_id;
  return auid && factory_uid ? (
    <Anchor component={Link} to="/factory/$uid/automations/$auid" params={{ uid: factory_uid, auid } as never} inherit>
      {creator?.uid === auid ? (creator.display_name ?? auid) : auid}
    </Anchor>
  ) : undefined;
}

/** The subject of a run. Without a UID, it is a link to the runs on it. */
function subjectOf({ subject, subject_uid }: RunItem): ReactNode {
  if (!subject) {
    return undefined;
  }
  return subject_uid ? (
    <Anchor component={Link} to="/subjects/$uid" params={{ uid: subject_uid } as never} inherit>
      {subject}
    </Anchor>
  ) : (
    <ListOf filter={{ subject }}>{subject}</ListOf>
  );
}

/** What a run has done, as the server counted it. */
function evidenceOf(e: RunEvidence): string {
  const failed = e.failed_actions ? ` (${formatNumber(e.failed_actions)} failed)` : '';
  return [
    `Actions: ${formatNumber(e.actions)}${failed}`,
    `Files changed: ${formatNumber(e.files_changed)}`,
    `Outputs: ${formatNumber(e.outputs)}`,
    `Model calls: ${formatNumber(e.model_calls)}`,
    `Turns: ${formatNumber(e.turns)}`,
  ].join(' · ');
}

/** What a run's trigger links to: a delivery, if it is within this server. */
function triggerOf(url: string): string {
  return url.startsWith(`${location.origin}/`) ? 'Delivery' : url;
}

/** A link to a factory, by name if the session may read it. */
function FactoryOf({ uid }: { uid: string }) {
  const { data: session } = useQuery(sessionQuery);
  const { data } = useQuery({ ...factoryQuery(uid), staleTime: 60_000, enabled: may(session?.scopes, 'factories:read') });
  return data ? (
    <Anchor component={Link} to="/factory/$uid" params={{ uid } as never} inherit>
      {data.name}
    </Anchor>
  ) : (
    <ListOf filter={{ factory_uid: uid }}>{uid}</ListOf>
  );
}

function ForkedFrom({ run, from }: { run: RunItem; from: NonNullable<RunItem['forked_from']> }) {
  return (
    <>
      Turn {from.turn} of <ParentOf id={from.run_id} />
      {run.fork_group && (
        <>
          {' · '}
          <Anchor component={Link} to="/forks/$forkGroup" params={{ forkGroup: run.fork_group } as never} inherit>
            Compare
          </Anchor>
        </>
      )}
    </>
  );
}

function ParentOf({ id }: { id: string }) {
  const { data } = useQuery({ ...runQuery(id), staleTime: 60_000 });
  return (
    <Anchor component={Link} to="/runs/$runId" params={{ runId: id } as never} inherit>
      {data?.title || id}
    </Anchor>
  );
}

/** A name with its value. Renders nothing without a value. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  if (children === undefined || children === '' || children === false) {
    return null;
  }
  return (
    <div className={classes.fact}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function ListOf({ filter, children }: { filter: Record<string, string>; children: string }) {
  return (
    <Anchor component={Link} to="/runs" search={filter as never} inherit>
      {children}
    </Anchor>
  );
}

function Usage({ usage }: { usage: RequestUsage | undefined }) {
  if (!usage) {
    return null;
  }
  const parts = usage.inference_cost_breakdown_usd;
  const breakdown = parts
    ? `input ${formatCost(parts.input_cost_usd)}, read from cache ${formatCost(parts.input_cache_read_cost_usd)}, written to cache ${formatCost(parts.input_cache_write_cost_usd)}, output ${formatCost(parts.output_cost_usd)}`
    : undefined;
  return (
    <>
      <Fact name="Tokens">{usage.total_tokens === undefined ? undefined : formatNumber(usage.total_tokens)}</Fact>
      <Fact name="Cost">
        {usage.inference_cost_usd === undefined ? undefined : <span title={breakdown}>{formatCost(usage.inference_cost_usd)}</span>}
      </Fact>
      {parts && usage.inference_cost_usd !== undefined && usage.inference_cost_usd > 0 && <Fact name="Breakdown">{breakdown}</Fact>}
    </>
  );
}

const marks = { completed: 'check', in_progress: 'play', pending: 'clock' } as const;

function PlanView({ plan }: { plan: Plan }) {
  return (
    <section>
      <Title order={2} size="h6">
        Plan
      </Title>
      <ol className={classes.plan}>
        {plan.entries.map((entry, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a plan is replaced as a whole
          <li key={i} data-status={entry.status}>
            <Icon name={marks[entry.status as keyof typeof marks] ?? 'clock'} size={14} />
            <span>
              {entry.content}
              <span className={classes.heard}> ({formatWord(entry.status)})</span>
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Metadata({ run }: { run: RunItem }) {
  const entries = Object.entries(run.metadata ?? {});
  if (entries.length === 0) {
    return null;
  }
  return (
    <section>
      <Title order={2} size="h6">
        Metadata
      </Title>
      <dl className={classes.list}>
        {entries.map(([name, value]) => (
          <Fact key={name} name={name}>
            <ListOf filter={{ [`metadata[${name}]`]: value }}>{value || '(empty)'}</ListOf>
          </Fact>
        ))}
      </dl>
    </section>
  );
}

function Children({ run }: { run: RunItem }) {
  const { data } = useQuery({ ...descendantsQuery(run.run_id), ...live(10) });
  if (!data || data.items.length === 0) {
    return null;
  }
  return (
    <section>
      <Title order={2} size="h6">
        Child runs
      </Title>
      <Tree branches={treeOf(data.items, run.run_id)} />
      {data.hasNextPage() && <ListOf filter={{ ancestor_run_id: run.run_id }}>Show all</ListOf>}
    </section>
  );
}

function Tree({ branches }: { branches: Branch[] }) {
  return (
    <ul className={classes.children}>
      {branches.map(({ run, branches: below }) => (
        <li key={run.run_id}>
          <RunStatus state={run.state} />{' '}
          <Anchor component={Link} to="/runs/$runId" params={{ runId: run.run_id } as never} inherit>
            {run.title || run.run_id}
          </Anchor>
          {below.length > 0 && <Tree branches={below} />}
        </li>
      ))}
    </ul>
  );
}
