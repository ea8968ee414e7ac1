import { Button, Group, Text } from '@mantine/core';
import type { Member } from '@penstock/sdk';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { serviceAccountsQuery, usersQuery } from '../../queries.ts';
import { Confirm } from '../../ui/Confirm.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Icon } from '../../ui/Icon.tsx';
import { Page } from '../../ui/Page.tsx';
import { RowActions } from '../../ui/RowActions.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';

const MemberDialog = lazy(() => import('./MemberDialog.tsx'));
const RolesDialog = lazy(() => import('./RolesDialog.tsx'));

const columns: Column<Member>[] = [
  {
    header: 'Name',
    main: true,
    cell: ({ display_name, email, subject }) => (
      <>
        {display_name}
        <Text size="xs" c="dimmed">
          {[email, subject && 'signs in'].filter(Boolean).join(' · ')}
        </Text>
      </>
    ),
  },
  { header: 'Kind', width: 130, cell: ({ type }) => (type === 'user' ? 'Person' : 'Service account') },
  { header: 'Roles', width: 160, cell: ({ roles }) => (roles.length > 0 ? roles.join(', ') : <Text c="dimmed">none</Text>) },
  {
    header: 'State',
    width: 110,
    cell: ({ disabled_at }) => (disabled_at ? <Status tone="warn">Disabled</Status> : <Status tone="good">Enabled</Status>),
  },
  { header: 'Created', width: 110, numeric: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

const of = ({ type }: Member) => (type === 'user' ? client.users : client.serviceAccounts);

export function PeoplePage() {
  const queries = useQueryClient();
  const { data: session } = useQuery(sessionQuery);
  const users = useQuery({ ...usersQuery, ...live(10) });
  const services = useQuery({ ...serviceAccountsQuery, ...live(10) });
  const [creating, create] = useState<'user' | 'service_account'>();
  const [changing, change] = useState<Member>();
  const [disabling, disable] = useState<Member>();
  const [deleting, remove] = useState<Member>();
  const set = async (member: Member, disabled: boolean): Promise<void> => {
    await of(member).update(member.uid, { disabled });
    await queries.invalidateQueries({ queryKey: ['members'] });
  };
  const enabling = useMutation({ mutationFn: (member: Member) => set(member, false) });
  const mayManage = may(session?.scopes, 'access:manage');
  const actions: Column<Member> = {
    header: 'Actions',
    width: 230,
    numeric: true,
    cell: (member) => (
      <RowActions
        of={member.display_name}
        actions={[
          { label: 'Roles', act: () => change(member) },
          member.disabled_at ? { label: 'Enable', act: () => enabling.mutate(member) } : { label: 'Disable', act: () => disable(member) },
          { label: 'Delete', act: () => remove(member) },
        ]}
      />
    ),
  };
  const buttons = (
    <>
      <Button variant="default" leftSection={<Icon name="plus" />} onClick={() => create('service_account')}>
        New service account
      </Button>
      <Button leftSection={<Icon name="plus" />} onClick={() => create('user')}>
        New user
      </Button>
    </>
  );
  const error = users.error ?? services.error;
  const rows = users.data && services.data && [...users.data.users, ...services.data.service_accounts];
  return (
    <Page title="People" actions={mayManage && <Group gap="xs">{buttons}</Group>}>
      <Failure
        error={error}
        retry={() => {
          void users.refetch();
          void services.refetch();
        }}
      />
      <Failure error={enabling.error} />
      {(rows || !error) && (
        <DataTable
          label="People and service accounts"
          columns={mayManage ? [...columns, actions] : columns}
          rows={rows}
          rowKey={({ uid }) => uid}
          empty={<Empty title="Nobody yet">A user or service account owns keys, and has the name of what is done with them.</Empty>}
        />
      )}
      {creating && (
        <Suspense>
          <MemberDialog type={creating} close={() => create(undefined)} />
        </Suspense>
      )}
      {changing && (
        <Suspense>
          <RolesDialog member={changing} close={() => change(undefined)} />
        </Suspense>
      )}
      {disabling && (
        <Confirm
          title={`Disable ${disabling.display_name}?`}
          action="Disable"
          act={() => set(disabling, true)}
          close={() => disable(undefined)}
        >
          <Text>
            From now on the server refuses all keys and sessions of {disabling.display_name}, and pauses the schedules. Runs go on.
          </Text>
        </Confirm>
      )}
      {deleting && (
        <DeleteDialog
          noun={deleting.type === 'user' ? 'user' : 'service account'}
          name={deleting.display_name}
          remove={() => of(deleting).delete(deleting.uid)}
          stale={['members']}
          close={() => remove(undefined)}
        >
          All keys are revoked, all roles removed and all schedules paused. What was done keeps the name.
        </DeleteDialog>
      )}
    </Page>
  );
}
