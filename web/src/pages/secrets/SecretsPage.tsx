import { Anchor, Button, Group, Text } from '@mantine/core';
import type { Secret, SecretUser } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { formatWord } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { secretsQuery } from '../../queries.ts';
import { Code } from '../../ui/Code.tsx';
import { curl } from '../../ui/curl.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Icon } from '../../ui/Icon.tsx';
import { Page } from '../../ui/Page.tsx';
import { RowActions } from '../../ui/RowActions.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';

const SecretDialog = lazy(() => import('./SecretDialog.tsx'));

const columns: Column<Secret>[] = [
  { header: 'Secret', main: true, cell: ({ name }) => <span className="mono">{name}</span> },
  {
    header: 'Value',
    width: 110,
    cell: ({ pending, version }) =>
      pending ? <Status tone="warn">Pending</Status> : <Status tone="good">{version === 1 ? 'Set' : `Set (version ${version})`}</Status>,
  },
  {
    header: 'Used by',
    cell: (secret) => (secret.webhook_uid && secret.used_by.length === 0 ? 'A deleted webhook' : <Users users={secret.used_by} />),
  },
  { header: 'Last used', width: 120, numeric: true, cell: ({ last_used_at }) => <Time at={last_used_at} /> },
  { header: 'Updated', width: 120, numeric: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
];

/** Lists the first users of a secret. */
function Users({ users }: { users: SecretUser[] }) {
  const most = 3;
  return (
    <Text inherit component="span">
      {users.slice(0, most).map((user, i) => (
        <span key={`${user.type} ${user.uid ?? i}`}>
          {i > 0 && ', '}
          {formatWord(user.type).toLowerCase()} {user.name ?? 'of another user'}
          {user.factory_uid && user.type !== 'factory' && (
            <>
              {' in '}
              <Anchor component={Link} to={`/factory/${user.factory_uid}` as never} inherit>
                {user.factory_name ?? user.factory_uid}
              </Anchor>
            </>
          )}
        </span>
      ))}
      {users.length > most && `, and ${users.length - most} more`}
      {users.length === 0 && '–'}
    </Text>
  );
}

export function SecretsPage() {
  const { data: session } = useQuery(sessionQuery);
  const secrets = useQuery({ ...secretsQuery, ...live(10) });
  const [setting, set] = useState<{ name?: string }>();
  const [chosen, remove] = useState<Secret>();
  const deleting = secrets.data?.secrets.find(({ name }) => name === chosen?.name); // as it is now: its last user may be gone
  const mayManage = may(session?.scopes, 'secrets:manage');
  const actions: Column<Secret> = {
    header: 'Actions',
    width: 180,
    numeric: true,
    cell: (secret) => (
      <RowActions
        of={secret.name}
        actions={[
          { label: 'Set value', act: () => set({ name: secret.name }) },
          { label: 'Delete', act: () => remove(secret) },
        ]}
      />
    ),
  };
  const create = (
    <Button leftSection={<Icon name="plus" />} onClick={() => set({})}>
      New secret
    </Button>
  );
  return (
    <Page title="Secrets" actions={mayManage && create}>
      <Failure error={secrets.error} retry={() => void secrets.refetch()} />
      {(secrets.data || !secrets.error) && (
        <DataTable
          label="Secrets"
          columns={mayManage ? [...columns, actions] : columns}
          rows={secrets.data?.secrets}
          rowKey={({ name }) => name}
          empty={
            <Empty title="No secrets yet">
              <Text>
                A secret is a credential for runs. Name it in an agent, a schedule or a factory, and their runs get it as an environment
                variable. Penstock masks the value in everything that a run prints.
              </Text>
              <Code label="create a secret with curl">{curl('POST', '/secrets', { name: 'DEPLOY_TOKEN', value: 'its-value' })}</Code>
              {mayManage && <Group>{create}</Group>}
            </Empty>
          }
        />
      )}
      {setting && (
        <Suspense>
          <SecretDialog name={setting.name} close={() => set(undefined)} />
        </Suspense>
      )}
      {deleting && (
        <DeleteDialog
          noun="secret"
          name={deleting.name}
          remove={() => client.secrets.delete(deleting.name)}
          stale={['secrets']}
          blocked={deleting.used_by.length > 0}
          close={() => remove(undefined)}
        >
          {deleting.used_by.length > 0 ? (
            <>
              Still in use: <Users users={deleting.used_by} />. You can delete the secret when nothing uses it.
            </>
          ) : (
            'This also deletes its value. Queued runs that need it will fail.'
          )}
        </DeleteDialog>
      )}
    </Page>
  );
}
