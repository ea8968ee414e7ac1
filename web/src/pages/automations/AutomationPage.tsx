import { Button, List, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Automation } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { automationQuery, factoryQuery } from '../../queries.ts';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { FactoryParts } from '../factories/FactoryParts.tsx';
import { EditElsewhere } from '../webhooks/EditElsewhere.tsx';
import { Activity } from './Activity.tsx';
import { AutomationForm } from './AutomationForm.tsx';
import { EnableAutomation } from './EnableAutomation.tsx';
import { RunNow } from './RunNow.tsx';

/** Shows and edits an automation. */
export function AutomationPage() {
  const { uid, auid } = useParams({ from: '/app/factory/$uid/automations/$auid' });
  const [deleting, { open, close }] = useDisclosure(false);
  const [saves, setSaves] = useState(0);
  const { data: session } = useQuery(sessionQuery);
  const factory = useQuery({ ...factoryQuery(uid), staleTime: 30_000 });
  const automation = useQuery(automationQuery(uid, auid));
  const found = automation.data;
  const readOnly = !may(session?.scopes, 'factories:manage') || factory.data?.source === 'repository';
  return (
    <Page
      title={found?.name ?? 'Automation'}
      actions={
        found && (
          <>
            <EnableAutomation automation={found} factory={factory.data} readOnly={readOnly} />
            {may(session?.scopes, 'runs:write') && <RunNow automation={found} factory={factory.data} />}
            <Button component={Link} to="/runs" search={{ automation_id: auid } as never} variant="default">
              View runs
            </Button>
            {found.subject && (
              <Button component={Link} to="/subjects" search={{ automation_uid: auid } as never} variant="default">
                View subjects
              </Button>
            )}
            {!readOnly && (
              <Button variant="default" onClick={open}>
                Delete
              </Button>
            )}
          </>
        )
      }
    >
      {(found || automation.error) && <FactoryParts uid={uid} part="Automations" />}
      {(factory.data || !factory.error) && (
        <Failure
          error={automation.error ?? factory.error}
          retry={() => void automation.refetch()}
          wanted={{ noun: 'automation', list: 'Automations', to: '/automations' }}
        />
      )}
      {found && factory.data && (
        <>
          <EditElsewhere factory={factory.data} file={`automations/${found.name}/automation.md`} />
          <Problems automation={found} />
          <Activity automation={found} factory={uid} />
          <AutomationForm
            key={`${auid} ${saves}`}
            automation={found}
            factory={factory.data}
            readOnly={readOnly}
            saved={() => setSaves((before) => before + 1)}
          />
          {deleting && <DeleteAutomation automation={found} factory={uid} close={close} />}
        </>
      )}
    </Page>
  );
}

/** Creates an automation in a factory and goes to its page. */
export function NewAutomationPage() {
  const { uid } = useParams({ from: '/app/factory/$uid/automations/new' });
  const navigate = useNavigate();
  const { data: session } = useQuery(sessionQuery);
  const factory = useQuery({ ...factoryQuery(uid), staleTime: 30_000 });
  const manages = may(session?.scopes, 'factories:manage');
  return (
    <Page title="New automation">
      <FactoryParts uid={uid} part="Automations" />
      {!manages && <Text>Your key cannot create automations. It needs the scope factories:manage.</Text>}
      {manages && factory.data && (
        <>
          <EditElsewhere factory={factory.data} file="automations/<name>/automation.md" />
          {factory.data.source !== 'repository' && (
            <AutomationForm
              automation={undefined}
              factory={factory.data}
              readOnly={false}
              saved={(made) => void navigate({ to: '/factory/$uid/automations/$auid', params: { uid, auid: made.uid } })}
            />
          )}
        </>
      )}
    </Page>
  );
}

/** The problems of the whole automation. Each trigger shows its own problems. */
function Problems({ automation }: { automation: Automation }) {
  const own = automation.problems?.filter(({ pointer }) => !pointer.startsWith('/triggers/')) ?? [];
  return (
    own.length > 0 && (
      <List size="sm" c="var(--warn)">
        {own.map(({ pointer, detail }) => (
          <List.Item key={pointer + detail}>
            <code>{pointer}</code> {detail}
          </List.Item>
        ))}
      </List>
    )
  );
}

function DeleteAutomation({ automation, factory, close }: { automation: Automation; factory: string; close: () => void }) {
  const navigate = useNavigate();
  return (
    <DeleteDialog
      noun="automation"
      name={automation.name}
      remove={() => client.automations.delete(factory, automation.uid)}
      stale={['automations']}
      done={() => navigate({ to: '/automations', search: {} })}
      close={close}
    >
      It will not start any more runs. Runs that have already started continue.
    </DeleteDialog>
  );
}
