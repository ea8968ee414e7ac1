import { Group, TextInput } from '@mantine/core';
import type { Automation, ScheduledAgentItem } from '@penstock/sdk';
import { errorAt } from './Failure.tsx';
import { Status } from './Status.tsx';
import { Time } from './Time.tsx';

/** Since when failures have paused an automation or schedule, or nearly so, or it has started nothing. */
export function Health({ of: { paused, degraded, silent } }: { of: Automation | ScheduledAgentItem }) {
  const facts = [
    { tone: 'bad' as const, word: 'Paused', fact: paused },
    { tone: 'bad' as const, word: 'Silent', fact: silent },
    { tone: 'warn' as const, word: 'Degraded', fact: degraded },
  ];
  return facts.map(
    ({ tone, word, fact }) =>
      fact && (
        <span key={word} title={fact.reason}>
          <Status tone={tone}>{word}</Status> <Time at={fact.since} />
        </span>
      ),
  );
}

interface HealthFieldsProps {
  expectEvery: string;
  pauseAfter: string;
  change: (fields: { expect_every?: string; pause_after_failures?: string }) => void;
  /** The error of the last request. Each field shows its own part. */
  error?: unknown;
  readOnly?: boolean;
}

/** Edits when an automation or schedule is silent, and when failures pause it. */
export function HealthFields({ expectEvery, pauseAfter, change, error, readOnly }: HealthFieldsProps) {
  return (
    <Group grow align="start" preventGrowOverflow={false}>
      <TextInput
        label="Expect a start every"
        description="If nothing starts for so long, it is silent, and endpoints get a message."
        placeholder="never"
        readOnly={readOnly}
        error={errorAt(error, '/expect_every')}
        value={expectEvery}
        onChange={(event) => change({ expect_every: event.currentTarget.value })}
      />
      <TextInput
        label="Pause after failures"
        description="After so many runs in a row that failed, it is paused."
        placeholder="never"
        readOnly={readOnly}
        error={errorAt(error, '/pause_after_failures')}
        value={pauseAfter}
        onChange={(event) => change({ pause_after_failures: event.currentTarget.value })}
      />
    </Group>
  );
}
