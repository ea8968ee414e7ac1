import { Stack, Text } from '@mantine/core';
import type { RunItem } from '@penstock/sdk';
import { Code } from '../../ui/Code.tsx';
import { curl } from '../../ui/curl.ts';

/** The requests that do what this page does. */
export default function SameAsCurl({ run }: { run: RunItem }) {
  const path = `/agent/runs/${run.run_id}`;
  const again = {
    ...(run.prompt ? { prompt: run.prompt } : {}),
    title: run.title,
    ...(run.agent_config ? { config: run.agent_config } : {}),
  };
  return (
    <Stack gap="xs">
      <Text size="sm">With your key in PENSTOCK_API_KEY:</Text>
      <Code label="watch it live">{curl('GET', `${path}/events`).replace('curl ', 'curl -N ')}</Code>
      <Code label="read it">{curl('GET', path)}</Code>
      <Code label="send a follow-up">{curl('POST', `${path}/followups`, { message: 'Go on' })}</Code>
      <Code label="cancel it">{curl('POST', `${path}/cancel`)}</Code>
      <Code label="start another one like it">{curl('POST', '/agent/runs', again)}</Code>
    </Stack>
  );
}
