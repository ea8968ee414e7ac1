import { Anchor, Button, Group, Text } from '@mantine/core';
import type { CloudEnvironment } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { environmentsQuery } from '../../queries.ts';
import { Code } from '../../ui/Code.tsx';
import { curl } from '../../ui/curl.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Icon } from '../../ui/Icon.tsx';
import { Page } from '../../ui/Page.tsx';
import { RowActions } from '../../ui/RowActions.tsx';
import { RunStatus, Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';

const EnvironmentDialog = lazy(() => import('./EnvironmentDialog.tsx'));

const nameOf = ({ config, uid }: CloudEnvironment): string => config.name || uid;

const columns: Column<CloudEnvironment>[] = [
  {
    header: 'Environment',
    main: true,
    cell: (environment) => (
      <>
        <Anchor component={Link} to="/environments/$uid" params={{ uid: environment.uid } as never} size="sm" fw={500} underline="hover">
          {nameOf(environment)}
        </Anchor>{' '}
        {environment.setup_failed && <Status tone="bad">Setup failed</Status>}
        {environment.config.description && (
          <Text size="xs" c="dimmed" className="clip" title={environment.config.description}>
            {environment.config.description}
          </Text>
        )}
      </>
    ),
  },
  { header: 'Contents', cell: ({ config }) => <Text size="sm">{madeOf(config)}</Text> },
  {
    header: 'Latest run',
    cell: ({ last_task_created: run }) =>
      run ? (
        <Group gap={6} wrap="nowrap">
          <RunStatus state={run.state} />
          <Anchor component={Link} to="/runs/$runId" params={{ runId: run.id } as never} size="sm" underline="hover" className="clip">
            {run.title || run.id}
          </Anchor>
        </Group>
      ) : (
        '–'
      ),
  },
  { header: 'Updated', width: 110, numeric: true, cell: ({ last_updated }) => <Time at={last_updated} /> },
];

/** Summarizes an environment in one line. */
function madeOf(config: CloudEnvironment['config']): string {
  const repos = (config.github_repos?.length ?? 0) + (config.repos?.length ?? 0);
  const commands = config.setup_commands?.length ?? 0;
  const parts = [
    config.docker_image,
    repos > 0 && formatCount(repos, 'repository', 'repositories'),
    commands > 0 && formatCount(commands, 'command'),
  ];
  return parts.filter(Boolean).join(', ') || 'an empty workspace';
}

export function EnvironmentsPage() {
  const { data: session } = useQuery(sessionQuery);
  const environments = useQuery({ ...environmentsQuery, ...live(10) });
  const [editing, edit] = useState<{ environment?: CloudEnvironment }>();
  const [deleting, remove] = useState<CloudEnvironment>();
  const mayManage = may(session?.scopes, 'factories:manage');
  const actions: Column<CloudEnvironment> = {
    header: 'Actions',
    width: 140,
    numeric: true,
    cell: (environment) => (
      <RowActions
        of={nameOf(environment)}
        actions={[
          { label: 'Edit', act: () => edit({ environment }) },
          { label: 'Delete', act: () => remove(environment) },
        ]}
      />
    ),
  };
  const create = (
    <Button leftSection={<Icon name="plus" />} onClick={() => edit({})}>
      New environment
    </Button>
  );
  return (
    <Page title="Environments" actions={mayManage && create}>
      <Failure error={environments.error} retry={() => void environments.refetch()} />
      {(environments.data || !environments.error) && (
        <DataTable
          label="Environments"
          columns={mayManage ? [...columns, actions] : columns}
          rows={environments.data?.environments}
          rowKey={({ uid }) => uid}
          empty={
            <Empty title="No environments yet">
              <Text>
                An environment prepares the workspace of a run: repositories to clone, an image and setup commands. You choose one for a run
                or an agent. Without an environment, the workspace is empty.
              </Text>
              <Code label="create an environment with curl">
                {curl('POST', '/agent/environments', {
                  name: 'shop',
                  github_repos: [{ owner: 'acme', repo: 'shop' }],
                  setup_commands: ['npm ci'],
                })}
              </Code>
              {mayManage && <Group>{create}</Group>}
            </Empty>
          }
        />
      )}
      {editing && (
        <Suspense>
          <EnvironmentDialog environment={editing.environment} close={() => edit(undefined)} />
        </Suspense>
      )}
      {deleting && (
        <DeleteDialog
          noun="environment"
          name={nameOf(deleting)}
          remove={() => client.environments.delete(deleting.uid)}
          stale={['environments']}
          close={() => remove(undefined)}
        >
          New runs can no longer use it. Runs that have already started are not affected.
        </DeleteDialog>
      )}
    </Page>
  );
}
