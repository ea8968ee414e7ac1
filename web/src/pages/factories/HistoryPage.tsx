import { Button, Group, Stack, Text } from '@mantine/core';
import type { Revision } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { factoryQuery, historyQuery } from '../../queries.ts';
import { firstOf } from '../../search.ts';
import type { Tone } from '../../states.ts';
import { Failure } from '../../ui/Failure.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { Changes } from './Changes.tsx';
import { FactoryFrame } from './FactoryFrame.tsx';
import { Findings } from './Findings.tsx';
import classes from './HistoryPage.module.css';
import { Patch } from './Patch.tsx';

const RevertDialog = lazy(() => import('./RevertDialog.tsx'));

const results: Record<string, { tone: Tone; word: string }> = {
  applied: { tone: 'good', word: 'Applied' },
  unchanged: { tone: 'calm', word: 'Unchanged' },
  rejected: { tone: 'bad', word: 'Rejected' },
};

/** The revisions of a factory's files, newest first. */
export function HistoryPage() {
  const { uid } = useParams({ from: '/app/factory/$uid/history' });
  const search = useSearch({ from: '/app/factory/$uid/history' });
  const navigate = useNavigate();
  const cursor = firstOf(search.cursor);
  const { data: session } = useQuery(sessionQuery);
  const { data: factory } = useQuery(factoryQuery(uid));
  const [reverting, revert] = useState<number>();
  const mayRevert = may(session?.scopes, 'factories:manage') && factory?.source === 'service';
  const history = useQuery({ ...historyQuery(uid, cursor), ...live(5) });
  const [newest] = history.data?.items ?? [];
  const active = cursor ? undefined : newest?.revision;
  return (
    <FactoryFrame uid={uid}>
      <Failure error={history.error} retry={() => void history.refetch()} />
      <ol className={classes.list} aria-label="Revisions" aria-busy={history.isPending}>
        {history.data?.items.map((revision) => (
          <li key={`${revision.revision} ${revision.commit?.id ?? ''} ${revision.created_at}`}>
            <Entry revision={revision} revert={mayRevert && revision.revision !== active ? revert : undefined} />
          </li>
        ))}
      </ol>
      {history.data?.items.length === 0 && (
        <Text size="sm" c="dimmed">
          No changes yet.
        </Text>
      )}
      <Pager
        cursor={cursor}
        next={history.isPlaceholderData ? undefined : history.data?.nextCursor}
        go={(next) => void navigate({ to: '/factory/$uid/history', params: { uid }, search: next ? { cursor: next } : {} })}
      />
      {reverting !== undefined && (
        <Suspense>
          <RevertDialog uid={uid} revision={reverting} close={() => revert(undefined)} />
        </Suspense>
      )}
    </FactoryFrame>
  );
}

function Entry({ revision, revert }: { revision: Revision; revert?: ((number: number) => void) | undefined }) {
  const { tone, word } = results[revision.result] ?? { tone: 'calm' as const, word: revision.result };
  const { commit } = revision;
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Status tone={tone}>{word}</Status>
        {revision.result === 'applied' && <strong>Revision {revision.revision}</strong>}
        {revision.result !== 'applied' && revision.revision > 0 && <span>revision {revision.revision} stays active</span>}
        {commit && (
          <span className="mono" title={commit.id}>
            {commit.id.slice(0, 12)}
          </span>
        )}
        <Text size="sm" c="dimmed" component="span">
          {commit?.author ?? revision.author?.display_name ?? revision.author?.uid} · <Time at={revision.created_at} />
        </Text>
        {revert && revision.result === 'applied' && (
          <Button size="compact-xs" variant="default" onClick={() => revert(revision.revision)}>
            Revert to this revision
          </Button>
        )}
      </Group>
      {commit && <Text className="plain">{commit.message}</Text>}
      {revision.detail && !revision.diagnostics?.length && <Text className="plain">{revision.detail}</Text>}
      {revision.diagnostics && revision.diagnostics.length > 0 && <Findings diagnostics={revision.diagnostics} />}
      {revision.result === 'applied' && <Changes plan={revision} />}
      {revision.diff && (
        <details>
          <summary>File changes</summary>
          <Patch label={`Changes of revision ${revision.revision}`}>{revision.diff}</Patch>
        </details>
      )}
    </Stack>
  );
}
