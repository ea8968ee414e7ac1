import { Anchor, Button, Group, Text } from '@mantine/core';
import type { Factory } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { factoriesQuery } from '../../queries.ts';
import { firstOf } from '../../search.ts';
import { Code } from '../../ui/Code.tsx';
import { curl } from '../../ui/curl.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Icon } from '../../ui/Icon.tsx';
import { Page } from '../../ui/Page.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { RowActions } from '../../ui/RowActions.tsx';
import { SearchBox } from '../../ui/SearchBox.tsx';
import { Time } from '../../ui/Time.tsx';
import { DefinitionStatus } from './DefinitionStatus.tsx';

const FactoryDialog = lazy(() => import('./FactoryDialog.tsx'));
const DispatchDialog = lazy(() => import('./DispatchDialog.tsx'));

const columns: Column<Factory>[] = [
  {
    header: 'Factory',
    main: true,
    cell: ({ uid, name, alias, description }) => (
      <>
        <Anchor component={Link} to="/factory/$uid" params={{ uid } as never} inherit>
          {name}
        </Anchor>
        {alias && (
          <Text component="span" size="sm" c="dimmed">
            {' '}
            {alias}
          </Text>
        )}
        {description && (
          <Text size="xs" c="dimmed" className="clip" title={description}>
            {description}
          </Text>
        )}
      </>
    ),
  },
  { header: 'Definition', width: 130, cell: (factory) => <DefinitionStatus factory={factory} /> },
  { header: 'Source', width: 170, cell: ({ repository }) => <span className="clip">{repository?.url ?? 'edited here'}</span> },
  { header: 'Agents', width: 76, numeric: true, cell: ({ agents }) => agents.length },
  { header: 'Automations', width: 120, numeric: true, cell: ({ automations_count }) => automations_count },
  { header: 'Webhooks', width: 106, numeric: true, cell: ({ webhooks_count }) => webhooks_count },
  { header: 'Updated', width: 108, numeric: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
];

export function FactoriesPage() {
  const search = useSearch({ from: '/app/factories' });
  const navigate = useNavigate();
  const { data: session } = useQuery(sessionQuery);
  const [wanted, cursor] = [firstOf(search.search), firstOf(search.cursor)];
  const factories = useQuery({ ...factoriesQuery({ search: wanted, cursor, limit: 50 }), ...live(10) });
  const [creating, create] = useState(false);
  const [dispatching, dispatch] = useState<Factory>();
  const mayManage = may(session?.scopes, 'factories:manage');
  const go = (next: Record<string, string>): void => void navigate({ to: '/factories', search: next });
  const actions: Column<Factory> = {
    header: 'Actions',
    width: 100,
    numeric: true,
    cell: (factory) => (
      <RowActions of={factory.name} actions={[{ label: 'Dispatch', act: () => dispatch(factory), disabled: !factory.foreman_agent_uid }]} />
    ),
  };
  const button = (
    <Button leftSection={<Icon name="plus" />} onClick={() => create(true)}>
      New factory
    </Button>
  );
  return (
    <Page title="Factories" actions={mayManage && button}>
      <SearchBox
        aria-label="Search factories"
        placeholder="Search name and alias"
        maw={360}
        value={wanted ?? ''}
        change={(text) => go(text ? { search: text } : {})}
      />
      <Failure error={factories.error} retry={() => void factories.refetch()} />
      {(factories.data || !factories.error) && (
        <DataTable
          label="Factories"
          columns={may(session?.scopes, 'runs:write') ? [...columns, actions] : columns}
          rows={factories.data?.items}
          rowKey={({ uid }) => uid}
          empty={
            wanted ? (
              <Text py="xl">No factories match your search.</Text>
            ) : (
              <NoFactories>{mayManage && <Group>{button}</Group>}</NoFactories>
            )
          }
        />
      )}
      <Pager
        cursor={cursor}
        next={factories.isPlaceholderData ? undefined : factories.data?.nextCursor}
        go={(next) => go({ ...(wanted ? { search: wanted } : {}), ...(next ? { cursor: next } : {}) })}
      />
      {creating && (
        <Suspense>
          <FactoryDialog factory={undefined} close={() => create(false)} />
        </Suspense>
      )}
      {dispatching && (
        <Suspense>
          <DispatchDialog factory={dispatching} close={() => dispatch(undefined)} />
        </Suspense>
      )}
    </Page>
  );
}

function NoFactories({ children }: { children: ReactNode }) {
  return (
    <Empty title="No factories yet">
      <Text>
        A factory is a team of agents with its automations and webhooks. The foreman receives work and assigns it to the other agents. Files
        define the factory. You edit them here or in a Git repository.
      </Text>
      <Code label="create a factory with curl">{curl('POST', '/factory', { name: 'payments' })}</Code>
      {children}
    </Empty>
  );
}
