import { Alert, Anchor, Button, List, SimpleGrid, Stack, Text, Title, VisuallyHidden } from '@mantine/core';
import type { Factory } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { client } from '../../api.ts';
import { formatCount, formatWord } from '../../format.ts';
import { agentsQuery, factoryQuery } from '../../queries.ts';
import { Code } from '../../ui/Code.tsx';
import { CopyButton } from '../../ui/CopyButton.tsx';
import { curl } from '../../ui/curl.ts';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Time } from '../../ui/Time.tsx';
import { DefinitionStatus } from './DefinitionStatus.tsx';
import { FactoryFrame } from './FactoryFrame.tsx';
import { Findings } from './Findings.tsx';
import { OutdatedSecrets } from './OutdatedSecrets.tsx';

const FactoryDialog = lazy(() => import('./FactoryDialog.tsx'));

export function FactoryPage() {
  const { uid } = useParams({ from: '/app/factory/$uid' });
  const navigate = useNavigate();
  const { data: factory } = useQuery(factoryQuery(uid));
  const [open, setOpen] = useState<'edit' | 'delete'>();
  return (
    <FactoryFrame
      uid={uid}
      actions={
        <>
          <Button variant="default" onClick={() => setOpen('edit')}>
            Edit
          </Button>
          <Button variant="default" onClick={() => setOpen('delete')}>
            Delete
          </Button>
        </>
      }
    >
      {factory && <Overview factory={factory} />}
      {open === 'edit' && factory && (
        <Suspense>
          <FactoryDialog factory={factory} close={() => setOpen(undefined)} />
        </Suspense>
      )}
      {open === 'delete' && factory && (
        <DeleteDialog
          noun="factory"
          name={factory.name}
          remove={() => client.factories.delete(uid)}
          stale={['factories']}
          done={() => navigate({ to: '/factories', search: {} })}
          close={() => setOpen(undefined)}
        >
          This also deletes its agents, automations and webhooks. The URLs of its webhooks will return 404. Its runs are kept.
        </DeleteDialog>
      )}
    </FactoryFrame>
  );
}

function Overview({ factory }: { factory: Factory }) {
  const { uid, repository, definition } = factory;
  return (
    <Stack gap="md">
      {factory.description && <Text className="plain">{factory.description}</Text>}
      <Trouble factory={factory} />
      <OutdatedSecrets factory={factory} />
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xl">
        <Part title="Agents">
          <Agents factory={factory} />
        </Part>
        <Part title="About">
          <List listStyleType="none" spacing={4} size="sm">
            <List.Item>
              <DefinitionStatus factory={factory} />
              {definition.commit && (
                <>
                  {' '}
                  active commit <span className="mono">{definition.commit.slice(0, 12)}</span>
                </>
              )}
            </List.Item>
            {repository && (
              <List.Item>
                From <span className="mono plain">{repository.url}</span>
                {repository.branch && `, branch ${repository.branch}`}
                {repository.path && `, folder ${repository.path}`}
                {definition.checked_at && (
                  <>
                    , checked <Time at={definition.checked_at} />
                  </>
                )}
              </List.Item>
            )}
            <List.Item>
              <To to={`/factory/${uid}/automations`}>{formatCount(factory.automations_count, 'automation')}</To>,{' '}
              <To to={`/factory/${uid}/webhooks`}>{formatCount(factory.webhooks_count, 'webhook')}</To>,{' '}
              <Anchor component={Link} to="/runs" search={{ factory_uid: uid } as never} inherit>
                its runs
              </Anchor>
            </List.Item>
            <List.Item>
              Created <Time at={factory.created_at} />, updated <Time at={factory.updated_at} />
            </List.Item>
            <List.Item>
              <span className="mono">{uid}</span> <CopyButton value={uid} label="Copy the factory’s UID" />
            </List.Item>
          </List>
        </Part>
      </SimpleGrid>
      <Part title="Dispatch work with cURL">
        <Code label="dispatch work with curl">
          {curl('POST', `/factory/${uid}/runs`, { prompt: 'Look into it', ticket_ref: 'linear:PAY-42' })}
        </Code>
      </Part>
    </Stack>
  );
}

/** The agents of a factory, with their descriptions, models and runs. */
function Agents({ factory }: { factory: Factory }) {
  const { data } = useQuery(agentsQuery);
  if (factory.agents.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No agents yet. They appear after the first commit is applied.
      </Text>
    );
  }
  return (
    <List listStyleType="none" spacing="xs" size="sm">
      {factory.agents.map((agent) => {
        const known = data?.agents.find(({ uid }) => uid === agent.uid);
        const facts = [formatWord(agent.agent_type), known?.base_model ?? known?.harness?.model_id ?? known?.harness?.type];
        return (
          <List.Item key={agent.uid}>
            <Text component="span" inherit fw={500} className="plain">
              {agent.name}
            </Text>{' '}
            <Text component="span" inherit c="dimmed">
              {facts.filter(Boolean).join(' · ')}
            </Text>{' '}
            <Anchor component={Link} to="/runs" search={{ executor: agent.uid } as never} inherit>
              its runs<VisuallyHidden> ({agent.name})</VisuallyHidden>
            </Anchor>{' '}
            <CopyButton value={agent.uid} label={`Copy the UID of ${agent.name}`} />
            {known?.description && (
              <Text inherit c="dimmed" className="plain">
                {known.description}
              </Text>
            )}
          </List.Item>
        );
      })}
    </List>
  );
}

/** Explains why the newest commit is not active. */
function Trouble({ factory: { definition } }: { factory: Factory }) {
  if (definition.problem) {
    return (
      <Alert variant="default" title="The server cannot read the repository">
        <Text className="plain">{definition.problem}</Text>
        <Text size="sm">The current revision stays active.</Text>
      </Alert>
    );
  }
  if (definition.status !== 'invalid') {
    return null;
  }
  return (
    <Alert
      variant="default"
      title={`Commit ${definition.rejected_commit?.slice(0, 12) ?? ''} was rejected. The previous commit stays active`}
    >
      {definition.detail && !definition.diagnostics?.length && <Text className="plain">{definition.detail}</Text>}
      <Findings diagnostics={definition.diagnostics ?? []} />
    </Alert>
  );
}

function To({ to, children }: { to: string; children: ReactNode }) {
  return (
    <Anchor component={Link} to={to as never} inherit>
      {children}
    </Anchor>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <Title order={2} size="h5" mb="xs">
        {title}
      </Title>
      {children}
    </section>
  );
}
