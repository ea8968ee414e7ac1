import { Anchor, Button, Menu, Text } from '@mantine/core';
import type { Automation, Factory } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { sessionQuery } from '../../api.ts';
import { formatNumber } from '../../format.ts';
import { may } from '../../layout/nav.ts';
import { automationsQuery, webhooksQuery } from '../../queries.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Empty } from '../../ui/Empty.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Icon } from '../../ui/Icon.tsx';
import { Page } from '../../ui/Page.tsx';
import { Time } from '../../ui/Time.tsx';
import { FactoryParts } from '../factories/FactoryParts.tsx';
import { FactoryFilter } from '../webhooks/FactoryFilter.tsx';
import { FactoryFirst } from '../webhooks/FactoryFirst.tsx';
import { type Of, useEach } from '../webhooks/useEach.ts';
import { EnableAutomation } from './EnableAutomation.tsx';
import { looksLikeUID, summaryOf, webhooksOf } from './triggers.ts';

/** The automations of all factories or of one. */
export function AutomationsPage() {
  const { factory } = useSearch({ from: '/app/automations' });
  const navigate = useNavigate();
  const { data: session } = useQuery(sessionQuery);
  const manages = may(session?.scopes, 'factories:manage');
  const { factories, rows, left, error } = useEach(factory, (one) => one.automations_count, automationsQuery);
  const byUID = rows?.some(({ triggers }) => triggers.some((trigger) => webhooksOf(trigger).some(looksLikeUID))) ?? false;
  const webhooks = useEach(factory, (one) => one.webhooks_count, webhooksQuery, { live: false, enabled: manages && byUID });
  const names = new Map(webhooks.rows?.map((webhook) => [webhook.uid, webhook.name]));
  const columns: Column<Of<Automation>>[] = [
    {
      header: 'Automation',
      main: true,
      cell: (automation) => (
        <Anchor
          component={Link}
          to="/factory/$uid/automations/$auid"
          params={{ uid: automation.factory.uid, auid: automation.uid } as never}
          inherit
        >
          {automation.name}
        </Anchor>
      ),
    },
    {
      header: 'Factory',
      width: 150,
      cell: (automation) => (
        <div className="clip" title={automation.factory.name}>
          {automation.factory.name}
        </div>
      ),
    },
    { header: 'Agent', width: 130, cell: (automation) => automation.agent ?? 'foreman' },
    { header: 'Triggers', cell: (automation) => <span>{automation.triggers.map((trigger) => summaryOf(trigger, names)).join('; ')}</span> },
    {
      header: 'Enabled',
      width: 150,
      cell: (automation) => <EnableAutomation automation={automation} factory={automation.factory} readOnly={!manages} bare />,
    },
    { header: 'Updated', width: 110, numeric: true, cell: (automation) => <Time at={automation.updated_at} /> },
  ];
  return (
    <Page
      title="Automations"
      actions={
        <>
          {(factories?.length ?? 0) > 1 && (
            <FactoryFilter
              factories={factories ?? []}
              value={factory}
              change={(uid) => void navigate({ to: '/automations', search: uid ? { factory: uid } : {}, replace: true })}
            />
          )}
          <Button component={Link} to="/subjects" search={(factory ? { factory_uid: factory } : {}) as never} variant="default">
            Subjects
          </Button>
          {manages && <NewAutomation factories={factories ?? []} factory={factory} />}
        </>
      }
    >
      {factory !== undefined && <FactoryParts uid={factory} />}
      <Failure error={error} />
      {(rows || !error) && (
        <DataTable
          label="Automations"
          columns={columns}
          rows={rows}
          rowKey={(automation) => automation.uid}
          empty={<NoAutomations without={factories?.length === 0} />}
          expected={4}
        />
      )}
      {left > 0 && (
        <Text size="sm" c="dimmed">
          {formatNumber(left)} more factories have automations: choose one to see its own.
        </Text>
      )}
    </Page>
  );
}

function NewAutomation({ factories, factory }: { factories: Factory[]; factory: string | undefined }) {
  const to = '/factory/$uid/automations/new' as const;
  const editable = factories.filter((one) => one.source !== 'repository' && (factory === undefined || one.uid === factory));
  const [only] = editable;
  if (editable.length < 2) {
    return only ? (
      <Button component={Link} to={to} params={{ uid: only.uid } as never} leftSection={<Icon name="plus" />}>
        New automation
      </Button>
    ) : (
      <Button disabled leftSection={<Icon name="plus" />} title="All factories are defined by Git repositories">
        New automation
      </Button>
    );
  }
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button leftSection={<Icon name="plus" />}>New automation</Button>
      </Menu.Target>
      <Menu.Dropdown mah={360} style={{ overflow: 'auto' }}>
        <Menu.Label>In the factory</Menu.Label>
        {editable.map(({ uid, name }) => (
          <Menu.Item key={uid} component={Link} to={to} params={{ uid } as never}>
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function NoAutomations({ without }: { without: boolean }) {
  return (
    <Empty title="No automations yet">
      <Text>
        An automation starts a run of one of its factory’s agents whenever a trigger fires: a delivery to a webhook that passes its filter,
        an event of GitHub or Linear, or a schedule.
      </Text>
      {without && <FactoryFirst things="Automations" />}
    </Empty>
  );
}
