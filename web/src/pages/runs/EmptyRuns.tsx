import { Anchor, Button, Group, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Code } from '../../ui/Code.tsx';
import { curl } from '../../ui/curl.ts';

/** Replaces an empty list: shows how to start the first run, or that no run matches the filter. */
export function EmptyRuns({ narrowed, compose }: { narrowed: boolean; compose: (() => void) | undefined }) {
  if (narrowed) {
    return (
      <Text py="xl" ta="center">
        No runs match.{' '}
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
      <Text>A run is one piece of work for an agent. Start the first one with any HTTP client:</Text>
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
        The model <code>demo/offline</code> needs no key and no network. The API reference is at <a href="/docs">/docs</a>.
      </Text>
    </Stack>
  );
}
