import { Stack, Text, Title } from '@mantine/core';
import type { Network, NetworkHost, NetworkRule, RunNetwork } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { formatBytes, formatNumber, formatWord } from '../../format.ts';
import { live } from '../../live.ts';
import { runNetworkQuery } from '../../queries.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Status } from '../../ui/Status.tsx';
import classes from './NetworkTab.module.css';

/** What a run may reach, and what it reached. Counts lag a live run by a few seconds. */
export default function NetworkTab({ runId, working }: { runId: string; working: boolean }) {
  const { data, error, refetch } = useQuery({ ...runNetworkQuery(runId), ...live(working ? 3 : 15) });
  return (
    <Stack gap="md">
      <Failure error={error} retry={() => void refetch()} />
      {data && <Seal sealed={data.sealed} />}
      {(data || !error) && (
        <section>
          <Title order={2} size="h6" mb={4}>
            Traffic
          </Title>
          <DataTable
            label="Hosts"
            columns={columns}
            rows={data?.hosts}
            rowKey={({ host, port, mode }) => `${host}:${port} ${mode}`}
            expected={3}
            empty={
              <Text size="sm" c="dimmed">
                {working ? 'The run has not tried to reach a host yet.' : 'The run did not try to reach a host.'}
              </Text>
            }
          />
        </section>
      )}
      {data && <Policy policy={data.policy} />}
    </Stack>
  );
}

const seals = {
  yes: [
    'good',
    'Sealed',
    'The sandbox has no network of its own. Everything that the run sends goes through the proxy and the model gateway.',
  ],
  no: ['warn', 'Not sealed', 'The sandbox has the network of its worker. The policy below does not limit what the agent reaches.'],
  unknown: ['calm', 'Not checked yet', 'The worker checks the sandbox before it starts the agent.'],
} as const;

function Seal({ sealed }: { sealed: boolean | undefined }) {
  const [tone, word, sentence] = seals[sealed === undefined ? 'unknown' : sealed ? 'yes' : 'no'];
  return (
    <div role="status">
      <Status tone={tone}>{word}</Status>
      <Text size="sm" mt={4}>
        {sentence}
      </Text>
    </div>
  );
}

const modes: Record<string, string> = { http: 'HTTP', model: 'Model gateway' };

const columns: Column<NetworkHost>[] = [
  {
    header: 'Host',
    main: true,
    cell: ({ host, port, reason }) => (
      <>
        <span className={`mono ${classes.host}`}>{port ? `${host}:${port}` : host}</span>
        {reason && (
          <Text component="span" display="block" size="sm" c="dimmed" className={classes.host ?? ''}>
            {reason}
          </Text>
        )}
      </>
    ),
  },
  {
    header: 'Mode',
    width: 104,
    cell: ({ mode }) => (mode === 'refused' ? <Status tone="bad">Refused</Status> : (modes[mode] ?? formatWord(mode))),
  },
  { header: 'Requests', width: 86, numeric: true, cell: ({ requests }) => formatNumber(requests) },
  { header: 'In', width: 78, numeric: true, cell: ({ bytes_in }) => formatBytes(bytes_in) },
  { header: 'Out', width: 78, numeric: true, cell: ({ bytes_out }) => formatBytes(bytes_out) },
  { header: 'Refused', width: 80, numeric: true, cell: ({ refused }) => formatNumber(refused) },
];

/** The layers, each with its rules, and what limits them. */
function Policy({ policy }: { policy: RunNetwork['policy'] }) {
  return (
    <section>
      <Title order={2} size="h6" mb={4}>
        Policy
      </Title>
      <Text size="sm" c="dimmed" mb="xs">
        A request is allowed if one of the layers allows it.
        {policy.ceiling && ' The ceiling of the server must also allow it.'}
        {policy.request && ' The request of the run narrows that further.'}
      </Text>
      {policy.layers.length === 0 && <Text size="sm">No layer allows a host.</Text>}
      <dl className={classes.layers} aria-label="Layers">
        {policy.layers.map(({ source, name, network }) => (
          <Rules
            key={`${source} ${name}`}
            name={[source === 'mcp_servers' ? 'MCP servers' : formatWord(source), name].join(' ')}
            network={network}
          />
        ))}
        {policy.ceiling && <Rules name="Ceiling" network={policy.ceiling} />}
        {policy.request && <Rules name="Request of the run" network={policy.request} />}
        {(policy.models ?? []).map((models, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the policies have no names, and their order is fixed
          <div key={i}>
            <dt>Models</dt>
            <dd className="mono">{models.allow?.join(' ') ?? 'all'}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Rules({ name, network }: { name: string; network: Network }) {
  const lines = [
    ...(network.allow ?? []).map(describeRule),
    ...(network.provider_tools?.length ? [`provider tools: ${network.provider_tools.join(' ')}`] : []),
    ...(network.max_upload_bytes ? [`uploads: at most ${formatBytes(network.max_upload_bytes)}`] : []),
  ];
  return (
    <div>
      <dt>{name}</dt>
      <dd className="mono">{lines.join('\n') || 'nothing'}</dd>
    </div>
  );
}

function describeRule({ preset, host, ports, methods, paths, credential }: NetworkRule): string {
  if (preset) {
    return `preset ${preset}`;
  }
  return [
    host,
    ...(ports ?? []).map((port) => `:${port}`),
    ...(methods ?? []),
    ...(paths ?? []),
    ...(credential ? [`with the secret ${credential.secret}`] : []),
  ].join(' ');
}
