import { Stack, Text, Title } from '@mantine/core';
import type { RunItem } from '@penstock/sdk';
import { formatWord } from '../../format.ts';
import { Code } from '../../ui/Code.tsx';
import { DataTable } from '../../ui/DataTable.tsx';

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
          <Text size="sm" c="dimmed">
            None. The prompt comes from the skill {run.agent_skill?.name}.
          </Text>
        )}
      </section>
      <section>
        <Title order={2} size="h6" mb={4}>
          Configuration
        </Title>
        <Text size="sm" c="dimmed" mb="xs">
          Set when the run was created. It does not change later.
        </Text>
        <DataTable
          label="Configuration"
          columns={[
            { header: 'Key', main: true, width: '28%', cell: ([name]) => <span className="plain mono">{name}</span> },
            { header: 'Value', cell: ([, value]) => <span className="plain mono">{textOfValue(value)}</span> },
            { header: 'From', width: '26%', cell: ([name]) => originOf(sources[name]) },
          ]}
          rows={values}
          rowKey={([name]) => name}
          empty={null}
        />
      </section>
      {run.mode && run.mode !== 'normal' && <Text size="sm">Mode: {formatWord(run.mode)}</Text>}
      {run.interactive && <Text size="sm">Interactive: its session stays open for follow-ups.</Text>}
    </Stack>
  );
}

function textOfValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
}

function originOf(source: string | undefined): string {
  return source ? (origins[source] ?? source) : '';
}
