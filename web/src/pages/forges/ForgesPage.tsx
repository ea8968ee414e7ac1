import { Anchor, Button, Group, Text } from '@mantine/core';
import type { Forge } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { forgesQuery } from '../../queries.ts';
import { Clipped } from '../../ui/Clipped.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Icon } from '../../ui/Icon.tsx';
import { Page } from '../../ui/Page.tsx';
import { Time } from '../../ui/Time.tsx';
import { ForgeStatus } from './ForgeStatus.tsx';
import { providerOf } from './forge.ts';

const Connect = lazy(() => import('./Connect.tsx'));

const columns: Column<Forge>[] = [
  {
    header: 'Connection',
    width: 160,
    main: true,
    cell: ({ uid, name }) => (
      <Anchor component={Link} to="/forges/$uid" params={{ uid } as never} inherit className="plain">
        {name}
      </Anchor>
    ),
  },
  { header: 'Provider', width: 140, cell: providerOf },
  {
    header: 'URL',
    width: 240,
    cell: ({ url }) => (
      <Text component="div" size="sm" className="mono">
        <Clipped>{url}</Clipped>
      </Text>
    ),
  },
  { header: 'Bot', width: 130, cell: ({ bot }) => (bot ? <Clipped>{bot.login}</Clipped> : '–') },
  {
    header: 'Status',
    cell: (forge) => (
      <div>
        <ForgeStatus forge={forge} />
        {forge.problem && (
          <Text size="xs" c="dimmed" className="plain">
            {forge.problem}
          </Text>
        )}
      </div>
    ),
  },
  { header: 'Checked', width: 100, numeric: true, cell: ({ checked_at }) => <Time at={checked_at} /> },
];

/** The connections to hosts of repositories. */
export function ForgesPage() {
  const forges = useQuery({ ...forgesQuery, ...live(5) });
  const [connecting, connect] = useState(false);
  const { data: session } = useQuery(sessionQuery);
  const mayManage = may(session?.scopes, 'forges:manage');
  const button = (
    <Button leftSection={<Icon name="plus" />} onClick={() => connect(true)}>
      Connect
    </Button>
  );
  return (
    <Page title="Forges" actions={mayManage && button}>
      <Failure error={forges.error} retry={() => void forges.refetch()} />
      {(forges.data || !forges.error) && (
        <DataTable
          label="Connections"
          columns={columns}
          rows={forges.data?.forges}
          rowKey={({ uid }) => uid}
          empty={
            <Empty title="No connections to forges">
              <Text>
                A forge hosts repositories: GitHub, Gitea or Forgejo. A connection lets runs read them with the token of a bot account,
                which no sandbox has.
              </Text>
              <Group>{button}</Group>
            </Empty>
          }
        />
      )}
      {connecting && (
        <Suspense>
          <Connect close={() => connect(false)} />
        </Suspense>
      )}
    </Page>
  );
}
