import { Group, Text } from '@mantine/core';
import type { RunItem } from '@penstock/sdk';
import { formatAbsolute } from '../../format.ts';
import { wordOfState } from '../../states.ts';
import { Strip } from '../../ui/Strip.tsx';
import { Time } from '../../ui/Time.tsx';

/** When an automation last fired, and its last runs as a strip, oldest first. */
export function LastRuns({ runs }: { runs: readonly RunItem[] }) {
  const [last] = runs;
  if (!last) {
    return null;
  }
  const items = runs.toReversed().map(({ run_id, state, title, created_at }) => {
    const { word, tone } = wordOfState(state);
    return { key: run_id, run: run_id, tone, name: [word, title, formatAbsolute(created_at)].filter(Boolean).join(' · ') };
  });
  return (
    <Group gap="xs" mb={6} maw={920}>
      <Text size="sm">
        Last fired <Time at={last.created_at} />
      </Text>
      <Strip label={`Last ${runs.length} runs`} items={items} />
    </Group>
  );
}
