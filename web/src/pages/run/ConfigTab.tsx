import { Stack, Table, Text, Title } from '@mantine/core';
import type { RunItem } from '@penstock/sdk';
import { formatWord } from '../../format.ts';
import { Code } from '../../ui/Code.tsx';

const origins: Record<string, string> = {
  request: 'the request',
  parent: 'the parent run',
  automation: 'the automation',
  agent: 'the agent',
  factory: 'the factory’s defaults',
  server: 'the server’s defaults',
};

/** The prompt and the configuration of a run, with the source of each value. */
export default function ConfigTab({ run }: { run: RunItem }) {
  const values = Object.entries(run.agent_config ?? {});
  const sources = run.agent_config_sources ?? {};
  return (
    <Stack gap="md">
      <section>
        <Title order={2} size="h6" mb={4}>
          Prompt
        </Title>
        {run.prompt ? (
          <Code label="Prompt">{run.prompt}</Code>
        ) : (
          <Text c="dimmed">None. The prompt comes from the skill {run.agent_skill?.name}.</Text>
        )}
      </section>
      <section>
        <Title order={2} size="h6" mb={4}>
          Configuration
        </Title>
        <Text size="sm" c="dimmed" mb="xs">
          Set when the run was created. It does not change later.
        </Text>
        <Table layout="fixed" verticalSpacing="xs" aria-label="Configuration" styles={{ td: { verticalAlign: 'top' } }}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w="28%">Key</Table.Th>
              <Table.Th>Value</Table.Th>
              <Table.Th w="26%">From</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {values.map(([name, value]) => (
              <Table.Tr key={name}>
                <Table.Td className="plain mono">{name}</Table.Td>
                <Table.Td className="plain mono">{typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)}</Table.Td>
                <Table.Td>{originOf(sources[name])}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </section>
      {run.mode && run.mode !== 'normal' && <Text size="sm">Mode: {formatWord(run.mode)}</Text>}
      {run.interactive && <Text size="sm">Interactive: its session stays open for follow-ups.</Text>}
    </Stack>
  );
}

function originOf(source: string | undefined): string {
  return source ? (origins[source] ?? source) : '';
}
