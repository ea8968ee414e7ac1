import { Anchor, Group, Stack, Text, Title } from '@mantine/core';
import type { HarnessInfo, ModelInfo } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { formatCount } from '../../format.ts';
import { harnessesQuery, limitsQuery, modelsQuery } from '../../queries.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { Status } from '../../ui/Status.tsx';
import { limitRows, providersOf } from './facts.ts';
import { NotificationSwitch } from './NotificationSwitch.tsx';

const models: Column<ModelInfo>[] = [
  { header: 'Model', main: true, cell: ({ id }) => <span className="mono">{id}</span> },
  { header: 'Name', width: '26%', cell: ({ display_name }) => display_name },
  {
    header: 'Status',
    width: '36%',
    cell: ({ disable_reason, disable_detail }) => <Availability available={!disable_reason} why={disable_detail} />,
  },
];

const harnesses: Column<HarnessInfo>[] = [
  { header: 'Harness', main: true, cell: ({ name }) => <span className="mono">{name}</span> },
  { header: 'Version', width: '18%', cell: ({ version }) => version },
  { header: 'Workers', width: '12%', numeric: true, cell: ({ workers }) => workers },
  {
    header: 'Status',
    width: '44%',
    cell: ({ usable, reason }) => <Availability available={usable} why={reason} />,
  },
];

/** What this server says about its API, and about the font of its pages. */
const documents = [
  { href: '/docs', label: 'API reference' },
  { href: '/docs/openapi.yaml', label: 'OpenAPI contract' },
  { href: '/assets/inter-license.txt', label: 'License of the Inter font' },
];

function Availability({ available, why }: { available: boolean; why: string | undefined }) {
  return available ? (
    <Status tone="good">Available</Status>
  ) : (
    <div>
      <Status tone="calm">Unavailable</Status> <span>{why}</span>
    </div>
  );
}

/** What this server can do, and what this browser does. Options of the server are read when it starts. */
export function SettingsPage() {
  const list = useQuery(modelsQuery);
  const programs = useQuery(harnessesQuery);
  const limits = useQuery(limitsQuery);
  const providers = providersOf(list.data?.models ?? []);
  if ([list, programs, limits].some(({ isPending }) => isPending)) {
    return (
      <Page title="Settings">
        <div aria-busy="true" />
      </Page>
    ); // all at once, so that nothing moves
  }
  return (
    <Page title="Settings">
      <Section title="This server">
        <Failure error={limits.error} retry={() => void limits.refetch()} />
        {limits.data?.server_version && (
          <Text size="sm">
            Penstock <span className="mono">{limits.data.server_version}</span>
          </Text>
        )}
        <Group gap="md">
          {documents.map(({ href, label }) => (
            <Anchor key={href} href={href} size="sm">
              {label}
            </Anchor>
          ))}
        </Group>
      </Section>
      <Section title="This browser">
        <NotificationSwitch />
      </Section>
      <Section title="Models">
        <Failure error={list.error} retry={() => void list.refetch()} />
        {list.data && (
          <Text size="sm" c="dimmed">
            {providers.map(({ name, available }) => `${name}: ${formatCount(available, 'model')}`).join(' · ')}. The default is{' '}
            <span className="mono">{list.data.default_model_id}</span>. Providers and their keys are options of the server.
          </Text>
        )}
        {!list.error && (
          <DataTable label="Models" columns={models} rows={list.data?.models} rowKey={({ id }) => id} empty={<Text>No models.</Text>} />
        )}
      </Section>
      <Section title="Harnesses">
        <Failure error={programs.error} retry={() => void programs.refetch()} />
        {!programs.error && (
          <DataTable
            label="Harnesses"
            columns={harnesses}
            rows={programs.data?.harnesses}
            rowKey={({ name }) => name}
            empty={<Text>No harnesses.</Text>}
          />
        )}
      </Section>
      <Section title="Limits">
        {!limits.error && (
          <DataTable
            label="Limits"
            columns={[
              { header: 'Limit', main: true, cell: ({ label }) => label },
              { header: 'Value', width: '40%', numeric: true, cell: ({ value }) => value },
            ]}
            rows={limits.data && limitRows(limits.data)}
            rowKey={({ name }) => name}
            empty={<Text>No limits.</Text>}
          />
        )}
      </Section>
    </Page>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack component="section" gap="xs" aria-label={title}>
      <Title order={2} size="h4">
        {title}
      </Title>
      {children}
    </Stack>
  );
}
