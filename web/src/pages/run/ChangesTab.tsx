import { Alert, Button, Group, Stack, Text, Title } from '@mantine/core';
import type { ArtifactItem, RepositoryChanges } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { client } from '../../api.ts';
import { formatCount, formatNumber, formatWord } from '../../format.ts';
import { live } from '../../live.ts';
import { runChangesQuery, runPatchQuery } from '../../queries.ts';
import { DataTable } from '../../ui/DataTable.tsx';
import { Download } from '../../ui/Download.tsx';
import { ExternalLink } from '../../ui/ExternalLink.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Time } from '../../ui/Time.tsx';
import artifactClasses from './ArtifactsTab.module.css';
import { artifactOf } from './artifact.ts';
import classes from './DiffView.module.css';
import { patchLines } from './patch.ts';

/** The number of lines of a patch that are shown at first. */
const first = 300;

interface ChangesTabProps {
  runId: string;
  artifacts: readonly ArtifactItem[];
  working: boolean;
}

/** The pull requests of a run, and what it has changed in its repositories. */
export default function ChangesTab({ runId, artifacts, working }: ChangesTabProps) {
  const { data, error, refetch } = useQuery({ ...runChangesQuery(runId), ...live(working ? 5 : 30) });
  return (
    <Stack gap="md" aria-busy={!data && !error}>
      <PullRequests artifacts={artifacts} />
      <Failure error={error} retry={() => void refetch()} />
      {data?.repositories.length === 0 && (
        <Text size="sm" c="dimmed">
          {working
            ? 'Changes appear here at the end of each turn.'
            : 'No changes. The run has no repository, or none of its turns has ended.'}
        </Text>
      )}
      {data?.repositories.map((repository) => (
        <Repository key={repository.name} runId={runId} repository={repository} updatedAt={data.updated_at ?? ''} />
      ))}
    </Stack>
  );
}

function PullRequests({ artifacts }: Pick<ChangesTabProps, 'artifacts'>) {
  return artifacts
    .filter(({ artifact_type }) => artifact_type === 'PULL_REQUEST')
    .map(artifactOf)
    .map(({ name, url, createdAt, source }) => (
      <article key={url ?? name} className={artifactClasses.artifact} aria-label="Pull request">
        <Text fw={500} className="plain">
          {url ? <ExternalLink href={url}>{name}</ExternalLink> : name}
        </Text>
        <Text size="sm" c="dimmed">
          {['Pull request', source].filter(Boolean).join(' · ')} · <Time at={createdAt} />
        </Text>
      </article>
    ));
}

function Repository({ runId, repository, updatedAt }: { runId: string; repository: RepositoryChanges; updatedAt: string }) {
  const { name, url, base, branch, error, files, files_omitted = 0, truncated, patch_url } = repository;
  const about = [url, branch && `branch ${branch}`, base && `from ${base.slice(0, 12)}`].filter(Boolean).join(' · ');
  return (
    <Stack component="section" gap="xs" aria-label={name}>
      <Group justify="space-between">
        <Title order={2} size="h5">
          {name}
        </Title>
        {patch_url && (
          <Download read={async () => ({ content: await (await client.runs.patch(runId, name)).blob(), name: `${name}.patch` })} />
        )}
      </Group>
      <Text size="sm" c="dimmed" className="plain">
        {about}
      </Text>
      {error && (
        <Alert variant="default" p="xs">
          {error}
        </Alert>
      )}
      {!error && (
        <DataTable
          label={`Changed files of ${name}`}
          columns={[
            { header: 'File', main: true, cell: ({ path }) => <span className="mono">{path}</span> },
            {
              header: 'Change',
              width: '18%',
              cell: ({ status, binary, truncated }) =>
                formatWord(status) + (binary ? ', binary' : '') + (truncated ? ', not in the patch' : ''),
            },
            { header: 'Added', width: '14%', numeric: true, cell: ({ additions }) => `+${formatNumber(additions)}` },
            { header: 'Removed', width: '14%', numeric: true, cell: ({ deletions }) => `−${formatNumber(deletions)}` },
          ]}
          rows={files}
          rowKey={({ path }) => path}
          empty={<Text>No changed files.</Text>}
        />
      )}
      {(files_omitted > 0 || truncated) && (
        <Text size="sm" c="dimmed">
          {files_omitted > 0 && `${formatCount(files_omitted, 'more file')} changed. `}
          {truncated && 'The patch omits files that are too large, or that git could not apply.'}
        </Text>
      )}
      {patch_url && <Patch runId={runId} repository={name} updatedAt={updatedAt} />}
    </Stack>
  );
}

const signs = { added: '+', removed: '−', same: ' ', gap: ' ', file: '' } as const;
const words = { added: 'added ', removed: 'removed ', same: '', gap: '', file: '' } as const;

function Patch({ runId, repository, updatedAt }: { runId: string; repository: string; updatedAt: string }) {
  const [whole, setWhole] = useState(false);
  const { data, error } = useQuery(runPatchQuery(runId, repository, updatedAt));
  const lines = useMemo(() => patchLines(data ?? ''), [data]);
  if (data === undefined) {
    return <Failure error={error} />;
  }
  return (
    <figure className={classes.diff} aria-label={`Patch of ${repository}`}>
      <pre className={classes.lines}>
        {(whole ? lines : lines.slice(0, first)).map((line, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a diff is rendered as a whole
          <span key={i} data-kind={line.kind}>
            <span className={classes.sign} aria-hidden="true">
              {signs[line.kind]}
            </span>
            <span className={classes.heard}>{words[line.kind]}</span>
            {line.text || ' '}
          </span>
        ))}
      </pre>
      {lines.length > first && !whole && (
        <Button size="compact-xs" variant="default" m={6} onClick={() => setWhole(true)}>
          Show all {formatNumber(lines.length)} lines
        </Button>
      )}
    </figure>
  );
}
