import { Stack, Text } from '@mantine/core';
import type { RunItem } from '@penstock/sdk';
import { Code } from '../../ui/Code.tsx';
import { curl } from '../../ui/curl.ts';

/** The API requests behind the actions of this page. */
export default function CurlCommands({ run }: { run: RunItem }) {
  const path = `/agent/runs/${run.run_id}`;
  const { skill_spec, ...config } = run.agent_config ?? {};
  if (skill_spec && !config.skills?.length) {
    Object.assign(config, { skill_spec }); // the API returns it beside skills, but does not accept it
  }
  const again = {
    ...(run.prompt ? { prompt: run.prompt } : {}),
    title: run.title,
    ...(run.agent_config ? { config } : {}),
  };
  const commands: [string, string][] = [
    ['watch the run live', curl('GET', `${path}/events`).replace('curl ', 'curl -N ')],
    ['read the run', curl('GET', path)],
    ['send a follow-up', curl('POST', `${path}/followups`, { message: 'Go on' })],
    ['cancel the run', curl('POST', `${path}/cancel`)],
    ['start a run like this one', curl('POST', '/agent/runs', again)],
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
