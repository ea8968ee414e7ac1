import { Stack, Text } from '@mantine/core';
import type { RunItem } from '@penstock/sdk';
import { Code } from '../../ui/Code.tsx';
import { curl } from '../../ui/curl.ts';

/** The requests that do what this page does. */
export default function CurlCommands({ run }: { run: RunItem }) {
  const path = `/agent/runs/${run.run_id}`;
  const { skill_spec, ...config } = run.agent_config ?? {};
  if (skill_spec && !config.skills?.length) {
    Object.assign(config, { skill_spec }); // which is shown beside skills, and not taken
  }
  const again = {
    ...(run.prompt ? { prompt: run.prompt } : {}),
    title: run.title,
    ...(run.agent_config ? { config } : {}),
  };
  const commands: [string, string][] = [
    ['watch it live', curl('GET', `${path}/events`).replace('curl ', 'curl -N ')],
    ['read it', curl('GET', path)],
    ['send a follow-up', curl('POST', `${path}/followups`, { message: 'Go on' })],
    ['cancel it', curl('POST', `${path}/cancel`)],
    ['start another one like it', curl('POST', '/agent/runs', again)],
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
        Your key is in PENSTOCK_API_KEY.
      </Text>
    </Stack>
  );
}
