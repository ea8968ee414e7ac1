import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { factoryQuery } from '../../queries.ts';
import { Failure } from '../../ui/Failure.tsx';
import { Icon } from '../../ui/Icon.tsx';
import { Page } from '../../ui/Page.tsx';
import { FactoryParts } from './FactoryParts.tsx';
import { SyncButton } from './SyncButton.tsx';

const DispatchDialog = lazy(() => import('./DispatchDialog.tsx'));

/** The frame of all pages of a factory. */
export function FactoryFrame({ uid, actions, children }: { uid: string; actions?: ReactNode; children: ReactNode }) {
  const queries = useQueryClient();
  const { data: session } = useQuery(sessionQuery);
  const factory = useQuery({ ...factoryQuery(uid), ...live(5) });
  const [dispatching, dispatch] = useState(false);
  const mayManage = may(session?.scopes, 'factories:manage');
  return (
    <Page
      title={factory.data?.name ?? 'Factory'}
      actions={
        factory.data && (
          <>
            {may(session?.scopes, 'runs:write') && (
              <Button leftSection={<Icon name="bolt" />} onClick={() => dispatch(true)} disabled={!factory.data.foreman_agent_uid}>
                Dispatch
              </Button>
            )}
            {mayManage && factory.data.source === 'repository' && (
              <SyncButton
                syncing={factory.data.definition.status === 'syncing'}
                sync={async () => {
                  await client.factories.sync(uid);
                  await queries.invalidateQueries({ queryKey: ['factory', uid] });
                }}
              />
            )}
            {mayManage && actions}
          </>
        )
      }
    >
      <FactoryParts uid={uid} />
      {factory.data && <Failure error={factory.error} retry={() => void factory.refetch()} />}
      {(factory.data || !factory.error) && children}
      {dispatching && factory.data && (
        <Suspense>
          <DispatchDialog factory={factory.data} close={() => dispatch(false)} />
        </Suspense>
      )}
    </Page>
  );
}
