import { Button, Stack, Text } from '@mantine/core';
import type { Forge, ForgeCheck } from '@penstock/sdk';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { allFactoriesQuery, forgeQuery } from '../../queries.ts';
import { CopyButton } from '../../ui/CopyButton.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { ExternalLink } from '../../ui/ExternalLink.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Page } from '../../ui/Page.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { Fact } from '../run/Facts.tsx';
import { ConnectionDeliveries } from './ConnectionDeliveries.tsx';
import { ForgeStatus } from './ForgeStatus.tsx';
import { providerOf } from './forge.ts';
import { Repositories } from './Repositories.tsx';

const ChooseRepositories = lazy(() => import('./ChooseRepositories.tsx'));
const ReplaceToken = lazy(() => import('./ReplaceToken.tsx'));
const RotateSecret = lazy(() => import('./RotateSecret.tsx'));

/** Shows a connection to a forge, and the repositories that it gives to runs. */
export function ForgePage() {
  const { uid } = useParams({ from: '/app/forges/$uid' });
  const { data: forge, error, refetch } = useQuery({ ...forgeQuery(uid), ...live(5) });
  const queries = useQueryClient();
  const checking = useMutation({
    mutationFn: () => client.forges.check(uid),
    onSettled: () => queries.invalidateQueries({ queryKey: ['forges'] }),
  });
  const title = forge ? forge.name : 'Connection';
  return (
    <Page
      title={title}
      heading={
        <>
          {title} {forge && <ForgeStatus forge={forge} />}
        </>
      }
      actions={forge && <Actions forge={forge} check={() => checking.mutate()} checking={checking.isPending} />}
    >
      <Failure error={error} retry={() => void refetch()} wanted={{ noun: 'connection', list: 'Forges', to: '/forges' }} />
      {forge && (
        <>
          <Facts forge={forge} />
          <Failure error={checking.error} />
          {forge.updated_at === checking.data?.forge.updated_at && <Checks checks={checking.data.checks} />}
        </>
      )}
      {/* Read at once, shown below the rest when that is there: so it does not move. */}
      {(forge || !error) && (
        <div hidden={!forge}>
          <ConnectionDeliveries uid={uid} />
        </div>
      )}
      {forge && <Repositories uid={uid} />}
    </Page>
  );
}

function Facts({ forge }: { forge: Forge }) {
  const { data: session } = useQuery(sessionQuery);
  const named = may(session?.scopes, 'factories:read') && forge.factories !== undefined;
  const factories = useQuery({ ...allFactoriesQuery, staleTime: 60_000, enabled: named });
  const names = forge.factories?.map((uid) => factories.data?.find((factory) => factory.uid === uid)?.name ?? uid);
  const { url, ingress_url, bot, problem, read_token, repositories, expires_at, checked_at } = forge;
  return (
    <Stack component="dl" gap={0} m={0} maw={640}>
      <Fact name="Problem">{problem && <span className="plain">{problem}</span>}</Fact>
      <Fact name="Provider">{providerOf(forge)}</Fact>
      <Fact name="URL">
        <ExternalLink href={url}>{url}</ExternalLink>
      </Fact>
      <Fact name="Ingress URL">
        {ingress_url && (
          <>
            <span className="mono" style={{ overflowWrap: 'anywhere' }}>
              {ingress_url}
            </span>{' '}
            <CopyButton value={ingress_url} label="Copy the ingress URL" />
          </>
        )}
      </Fact>
      <Fact name="Bot">{bot?.login}</Fact>
      <Fact name="Runs use">{read_token ? 'a token that can only read' : "the bot's token, only with requests that read"}</Fact>
      <Fact name="Repositories">{repositories?.join(', ') ?? 'all that the bot can read'}</Fact>
      <Fact name="Factories">{names?.join(', ')}</Fact>
      <Fact name="Token expires">{expires_at && <Time at={expires_at} />}</Fact>
      <Fact name="Checked">{checked_at && <Time at={checked_at} />}</Fact>
    </Stack>
  );
}

function Actions({ forge, check, checking }: { forge: Forge; check: () => void; checking: boolean }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<'repositories' | 'token' | 'rotate' | 'delete'>();
  const close = (): void => setDialog(undefined);
  return (
    <>
      <Button variant="default" onClick={check} loading={checking}>
        Check
      </Button>
      <Button variant="default" onClick={() => setDialog('token')}>
        Replace token
      </Button>
      <Button variant="default" onClick={() => setDialog('rotate')}>
        Rotate secret
      </Button>
      <Button variant="default" onClick={() => setDialog('repositories')}>
        Choose repositories
      </Button>
      <Button variant="default" onClick={() => setDialog('delete')}>
        Delete
      </Button>
      <Suspense>
        {dialog === 'token' && <ReplaceToken forge={forge} close={close} />}
        {dialog === 'rotate' && <RotateSecret forge={forge} close={close} />}
        {dialog === 'repositories' && <ChooseRepositories forge={forge} close={close} />}
      </Suspense>
      {dialog === 'delete' && (
        <DeleteDialog
          noun="connection"
          name={forge.name}
          remove={() => client.forges.delete(forge.uid)}
          done={async () => {
            await navigate({ to: '/forges' });
            await queries.invalidateQueries({ queryKey: ['forges'] });
          }}
          close={close}
        >
          This also deletes its tokens, but does not revoke them on the forge. Runs that name the connection fail at their next execution,
          and so do runs that use it for a URL.
        </DeleteDialog>
      )}
    </>
  );
}

const columns: Column<ForgeCheck>[] = [
  { header: 'Permission', width: 260, main: true, cell: ({ name }) => <span className="mono">{name}</span> },
  {
    header: 'Result',
    cell: ({ passed, detail }) => (
      <div>
        <Status tone={passed ? 'good' : 'bad'}>{passed ? 'Passed' : 'Failed'}</Status>
        {detail && (
          <Text size="xs" c="dimmed" className="plain">
            {detail}
          </Text>
        )}
      </div>
    ),
  },
];

/** What a check has found. The server keeps only the first problem. */
function Checks({ checks }: { checks: ForgeCheck[] }) {
  const failed = checks.filter(({ passed }) => !passed).length;
  return (
    <section aria-label="Check">
      <Text size="sm" role="status" mb={4}>
        {failed === 0 ? 'The connection has all that it needs.' : `${failed} of ${checks.length} checks failed.`}
      </Text>
      <DataTable label="Checks" columns={columns} rows={checks} rowKey={({ name }) => name} empty={null} />
    </section>
  );
}
