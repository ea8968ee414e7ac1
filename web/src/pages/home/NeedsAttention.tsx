import { Anchor, Button, Stack, Text, Title } from '@mantine/core';
import type { RunItem } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { formatCount, formatNumber } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { RunStatus, Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { Question } from '../run/FollowUp.tsx';
import { RunAgain } from '../run/RunAgain.tsx';
import { runOf, sentenceOf, titleOf } from '../run/shortage.ts';
import classes from './Home.module.css';
import type { Attention } from './useAttention.ts';

/** The number of lines of a kind. The rest is behind a link. */
const most = 5;

/** What needs a decision: questions first, then failures, then what does not work. */
export function NeedsAttention({ blocked, moreBlocked, failed, problems, dismiss }: Omit<Attention, 'ready' | 'active'>) {
  const { data: session } = useQuery(sessionQuery);
  const mayWrite = may(session?.scopes, 'runs:write');
  const asking = blocked.filter(({ status_message }) => !status_message?.budget);
  const short = new Map<string, RunItem[]>(); // by budget
  for (const run of blocked) {
    const budget = run.status_message?.budget?.budget_uid;
    if (budget) {
      short.set(budget, [...(short.get(budget) ?? []), run]);
    }
  }
  const count = blocked.length + failed.length + problems.length;
  return (
    <Stack component="section" gap="xs" aria-label="Needs attention">
      <Title order={2} size="h5">
        Needs attention
      </Title>
      {count === 0 && (
        <Text size="sm" c="dimmed">
          Nothing needs your attention.
        </Text>
      )}
      {asking.map((run) => (
        <Asking key={run.run_id} run={run} mayWrite={mayWrite} />
      ))}
      {short.size + failed.length + problems.length > 0 && (
        <ul className={classes.lines}>
          {[...short].map(([budget, runs]) => (
            <Short key={budget} runs={runs} />
          ))}
          {failed.slice(0, most).map((run) => (
            <li key={run.run_id} data-entry>
              <RunStatus state={run.state} />
              <Named to={`/runs/${run.run_id}`} name={run.title || run.run_id} detail={run.status_message?.message}>
                <Time at={run.updated_at} />
              </Named>
              <span className={classes.actions}>
                {mayWrite && <RunAgain run={run} of={run.title} />}
                <Button size="xs" variant="subtle" onClick={() => dismiss(run)} aria-label={`Dismiss ${run.title}`}>
                  Dismiss
                </Button>
              </span>
            </li>
          ))}
          {problems.map(({ key, tone, word, name, to, detail }) => (
            <li key={key} data-entry>
              <Status tone={tone}>{word}</Status>
              <Named to={to} name={name} detail={detail} />
            </li>
          ))}
        </ul>
      )}
      {moreBlocked && (
        <Anchor component={Link} to="/runs" search={{ state: 'BLOCKED' } as never} size="sm">
          All blocked runs
        </Anchor>
      )}
      {failed.length > most && (
        <Anchor component={Link} to="/runs" search={{ task_status: 'failed' } as never} size="sm">
          {formatNumber(failed.length - most)} more failed runs
        </Anchor>
      )}
    </Stack>
  );
}

interface NamedProps {
  to: string;
  search?: Record<string, string>;
  name: string;
  detail?: string | undefined;
  children?: ReactNode;
}

/** A link, with a text of others on the line below it. */
export function Named({ to, search = {}, name, detail, children }: NamedProps) {
  return (
    <div className={classes.named}>
      <Anchor component={Link} to={to as never} search={search as never} inherit className={classes.name ?? ''} title={name} data-name>
        {name}
      </Anchor>
      <Text size="sm" c="dimmed" component="div" className="clip" title={detail}>
        {children}
        {children && detail && ' · '}
        {detail}
      </Text>
    </div>
  );
}

/** The runs that one budget blocks, with the way to raise it. */
function Short({ runs }: { runs: RunItem[] }) {
  const [run] = runs;
  const shortage = run?.status_message?.budget;
  if (!run || !shortage) {
    return null;
  }
  const raisable = runOf(shortage) !== undefined;
  const one = runs.length === 1;
  return (
    <li data-entry>
      <RunStatus state={run.state} />
      <Named
        to={one ? `/runs/${run.run_id}` : '/runs'}
        search={one ? {} : { state: 'BLOCKED' }}
        name={one ? run.title || run.run_id : formatCount(runs.length, 'run')}
        detail={sentenceOf(shortage)}
      >
        {shortage.budget_uid === run.run_id ? 'Its budget has no room' : titleOf(shortage, run.run_id)}
      </Named>
      <span className={classes.actions}>
        <Button component={Link} to={raisable ? `/runs/${run.run_id}` : '/spend'} size="xs" variant="default">
          {raisable ? 'Raise budget' : 'Show budgets'}
        </Button>
      </span>
    </li>
  );
}

/** A run that asks, with a field for the answer. */
function Asking({ run, mayWrite }: { run: RunItem; mayWrite: boolean }) {
  const queries = useQueryClient();
  const [message, setMessage] = useState('');
  const send = async (text: string): Promise<void> => {
    try {
      await client.runs.followUp(run.run_id, { message: text });
    } catch (error) {
      setMessage((now) => now || text);
      throw error;
    }
    await queries.invalidateQueries({ queryKey: ['runs'] });
  };
  const title = (
    <Anchor component={Link} to="/runs/$runId" params={{ runId: run.run_id } as never} inherit underline="hover">
      {run.title || run.run_id}
    </Anchor>
  );
  return (
    <Question
      title={title}
      question={run.status_message}
      send={mayWrite ? send : undefined}
      message={message}
      setMessage={setMessage}
      lines={1}
    />
  );
}
