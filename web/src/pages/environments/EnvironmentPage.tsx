import { Button, Stack, Text, Title } from '@mantine/core';
import type { CloudEnvironmentConfig } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { environmentQuery } from '../../queries.ts';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { Fact } from '../run/Facts.tsx';
import { Prebuilds } from './Prebuilds.tsx';

const EnvironmentDialog = lazy(() => import('./EnvironmentDialog.tsx'));

/** Shows an environment with the workspaces that workers keep for it. */
export function EnvironmentPage() {
  const { uid } = useParams({ from: '/app/environments/$uid' });
  const { data: session } = useQuery(sessionQuery);
  const { data: environment, error, refetch } = useQuery({ ...environmentQuery(uid), ...live(10) });
  const [editing, edit] = useState(false);
  const [deleting, remove] = useState(false);
  const navigate = useNavigate();
  const name = environment?.config.name || 'Environment';
  const mayManage = may(session?.scopes, 'factories:manage');
  const actions = environment && mayManage && (
    <>
      <Button variant="default" onClick={() => edit(true)}>
        Edit
      </Button>
      <Button variant="default" onClick={() => remove(true)}>
        Delete
      </Button>
    </>
  );
  return (
    <Page title={name} actions={actions}>
      <Failure error={error} retry={() => void refetch()} wanted={{ noun: 'environment', list: 'Environments', to: '/environments' }} />
      {environment && (
        <>
          {environment.config.description && <Text c="dimmed">{environment.config.description}</Text>}
          <Stack component="dl" gap={0} m={0} maw={640}>
            <Fact name="Image">{environment.config.docker_image}</Fact>
            <Fact name="Repositories">{repositoriesOf(environment.config).join(', ')}</Fact>
            <Fact name="Setup">{setupOf(environment.config)}</Fact>
            <Fact name="State">{environment.setup_failed && <Status tone="bad">Setup failed</Status>}</Fact>
            <Fact name="Updated">
              <Time at={environment.last_updated} />
            </Fact>
          </Stack>
          <section aria-labelledby="prebuilds">
            <Title order={2} size="h5" mb={4} id="prebuilds">
              Prepared workspaces
            </Title>
            <Prebuilds environment={environment} mayManage={mayManage} />
          </section>
        </>
      )}
      {editing && environment && (
        <Suspense>
          <EnvironmentDialog environment={environment} close={() => edit(false)} />
        </Suspense>
      )}
      {deleting && environment && (
        <DeleteDialog
          noun="environment"
          name={name}
          remove={() => client.environments.delete(uid)}
          stale={['environments']}
          done={() => navigate({ to: '/environments' as never })}
          close={() => remove(false)}
        >
          New runs can no longer use it. Runs that have already started are not affected.
        </DeleteDialog>
      )}
    </Page>
  );
}

function repositoriesOf({ github_repos, repos }: CloudEnvironmentConfig): string[] {
  return [
    ...(github_repos ?? []).map(({ owner, repo }) => `${owner}/${repo}`),
    ...(repos ?? []).map(({ url, ref }) => (ref ? `${url} (${ref})` : url)),
  ];
}

function setupOf({ setup_commands: commands }: CloudEnvironmentConfig): string {
  return commands?.length ? formatCount(commands.length, 'command') : '';
}
