import { Group, Text } from '@mantine/core';
import type { RunItem } from '@penstock/sdk';
import { Link } from '@tanstack/react-router';
import { formatAbsolute } from '../../format.ts';
import { wordOfState } from '../../states.ts';
import { Time } from '../../ui/Time.tsx';
import classes from './LastRuns.module.css';

/** When an automation last fired, and its last runs as a strip, oldest first. */
export function LastRuns({ runs }: { runs: readonly RunItem[] }) {
  const [last] = runs;
  if (!last) {
    return null;
  }
  return (
    <Group gap="xs" mb={6} maw={920}>
      <Text size="sm">
        Last fired <Time at={last.created_at} />
      </Text>
      <ul className={classes.strip} aria-label={`Last ${runs.length} runs`}>
        {runs.toReversed().map(({ run_id, state, title, created_at }) => {
          const { word, tone } = wordOfState(state);
          const name = [word, title, formatAbsolute(created_at)].filter(Boolean).join(' · ');
          return (
            <li key={run_id}>
              <Link
                to="/runs/$runId"
                params={{ runId: run_id } as never}
                className={classes.run}
                data-tone={tone}
                title={name}
                aria-label={name}
              />
            </li>
          );
        })}
      </ul>
    </Group>
  );
}
