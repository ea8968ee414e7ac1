import { Anchor, Button, Group, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Code } from '../../ui/Code.tsx';
import { curl } from '../../ui/curl.ts';

/** Shown in the place of no runs: how to start the first, or that the filter lets none through. */
export function EmptyRuns({ narrowed, compose }: { narrowed: boolean; compose: (() => void) | undefined }) {
  if (narrowed) {
    return (
      <Text py="xl" ta="center">
        No run matches.{' '}
        <Anchor component={Link} to="/runs" search={{} as never}>
          Show all runs
        </Anchor>
      </Text>
    );
  }
  return (
    <Stack py="xl" maw={720} mx="auto" gap="sm">
      <Title order={2} size="h4">
        No runs yet
      </Title>
      <Text>A run is one piece of work for an agent. Start the first one from anything that can send HTTP:</Text>
      <Code label="create a run with curl">{curl('POST', '/agent/runs', { prompt: 'Say hello' })}</Code>
      <Text>
        or on the command line with <code>penstock run create "Say hello"</code>
        {compose ? ', or here:' : '.'}
      </Text>
      {compose && (
        <Group>
          <Button onClick={compose}>New run</Button>
        </Group>
      )}
      <Text size="sm" c="dimmed">
        The model <code>demo/offline</code> needs no key and no network. Everything that the API can do is described at{' '}
        <a href="/docs">/docs</a>.
      </Text>
    </Stack>
  );
}
