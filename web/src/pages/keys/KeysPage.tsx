import { Button, Group, Text } from '@mantine/core';
import type { Key } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { live, useNow } from '../../live.ts';
import { keysQuery } from '../../queries.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Icon } from '../../ui/Icon.tsx';
import { Page } from '../../ui/Page.tsx';
import { RowActions } from '../../ui/RowActions.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';

const KeyDialog = lazy(() => import('./KeyDialog.tsx'));

const columns: Column<Key>[] = [
  {
    header: 'Key',
    main: true,
    cell: ({ name, prefix, sign_in }) => (
      <>
        {name}
        <Text size="xs" c="dimmed" className="mono">
          {sign_in ? 'sessions of an identity provider' : `${prefix}…`}
        </Text>
      </>
    ),
  },
  { header: 'Scopes', cell: ({ scopes }) => <span className="mono">{scopes.join(' ')}</span> },
  { header: 'Owner', width: 140, cell: ({ owner }) => owner.display_name ?? owner.uid },
  { header: 'Last used', width: 110, numeric: true, cell: ({ last_used_at }) => <Time at={last_used_at} /> },
  { header: 'Created', width: 110, numeric: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { header: 'Expires', width: 110, numeric: true, cell: ({ expires_at }) => <Expiry at={expires_at} /> },
];

function Expiry({ at }: { at: string | undefined }) {
  const now = useNow(5);
  if (!at) {
    return <span>never</span>;
  }
  return Date.parse(at) <= now ? <Status tone="warn">Expired</Status> : <Time at={at} />;
}

export function KeysPage() {
  const { data: session } = useQuery(sessionQuery);
  const keys = useQuery({ ...keysQuery, ...live(10) });
  const [creating, create] = useState(false);
  const [revoking, revoke] = useState<Key>();
  const mayManage = may(session?.scopes, 'keys:manage');
  const actions: Column<Key> = {
    header: 'Actions',
    width: 90,
    numeric: true,
    cell: (key) => <RowActions of={key.name} actions={[{ label: 'Revoke', act: () => revoke(key) }]} />,
  };
  const button = (
    <Button leftSection={<Icon name="plus" />} onClick={() => create(true)}>
      New key
    </Button>
  );
  return (
    <Page title="Keys" actions={mayManage && button}>
      <Failure error={keys.error} retry={() => void keys.refetch()} />
      {(keys.data || !keys.error) && (
        <DataTable
          label="Keys"
          columns={mayManage ? [...columns, actions] : columns}
          rows={keys.data?.keys}
          rowKey={({ uid }) => uid}
          empty={
            <Empty title="No keys">
              <Text>Programs and workers send a key with every request to the API. People sign in here with one.</Text>
              {mayManage && <Group>{button}</Group>}
            </Empty>
          }
        />
      )}
      {creating && (
        <Suspense>
          <KeyDialog close={() => create(false)} />
        </Suspense>
      )}
      {revoking && (
        <DeleteDialog
          noun="key"
          name={revoking.name}
          verb="Revoke"
          remove={() => client.keys.delete(revoking.uid)}
          stale={['keys']}
          close={() => revoke(undefined)}
        >
          The server will reject requests with this key.
          {revoking.uid === session?.key_uid && <strong> You signed in with this key, so this also ends your session.</strong>}
        </DeleteDialog>
      )}
    </Page>
  );
}
