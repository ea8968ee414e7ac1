import { Stack, Text } from '@mantine/core';
import type { RunItem } from '@penstock/sdk';
import { Code } from '../../ui/Code.tsx';
import { curl } from '../../ui/curl.ts';
import { againOf } from './again.ts';

/** The API requests behind the actions of this page. */
export default function CurlCommands({ run }: { run: RunItem }) {
  const path = `/agent/runs/${run.run_id}`;
  const commands: [string, string][] = [
    ['watch the run live', curl('GET', `${path}/events`).replace('curl ', 'curl -N ')],
    ['read the run', curl('GET', path)],
    ['send a follow-up', curl('POST', `${path}/followups`, { message: 'Go on' })],
    ['cancel the run', curl('POST', `${path}/cancel`)],
    ['start a run like this one', curl('POST', '/agent/runs', againOf(run))],
  ];
  return (
    <Stack gap="xs">
      {commands.map(([what, command]) => (
        <div key={what}>
          <Text size="sm" fw={600}>
            To {what}
          </Text>
          <Code label={what}>{command}</Code>
        </div>
      ))}
      <Text size="sm" c="dimmed">
        Set PENSTOCK_API_KEY to your key first.
      </Text>
    </Stack>
  );
}
