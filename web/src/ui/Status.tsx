import classes from './Status.module.css';

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'calm';

/** A state in a word, with a colour that says it again. Both themes have the contrast of WCAG AA. */
export function Status({ tone, pulse, children }: { tone: Tone; pulse?: boolean; children: string }) {
  return (
    <span className={classes.status} data-tone={tone} data-pulse={pulse || undefined}>
      <span className={classes.dot} aria-hidden="true" />
      {children}
    </span>
  );
}

const states: Record<string, { tone: Tone; word: string; pulse?: boolean }> = {
  QUEUED: { tone: 'calm', word: 'Queued' },
  CLAIMED: { tone: 'busy', word: 'Claimed', pulse: true },
  PENDING: { tone: 'busy', word: 'Preparing', pulse: true },
  INPROGRESS: { tone: 'busy', word: 'Working', pulse: true },
  BLOCKED: { tone: 'warn', word: 'Blocked' },
  SUCCEEDED: { tone: 'good', word: 'Succeeded' },
  FAILED: { tone: 'bad', word: 'Failed' },
  ERROR: { tone: 'bad', word: 'Error' },
  CANCELLED: { tone: 'calm', word: 'Cancelled' },
};

/** The state of a run; one that is newer than this page is shown as it is. */
export function RunStatus({ state }: { state: string }) {
  const { tone, word, pulse } = states[state] ?? { tone: 'calm' as const, word: state };
  return (
    <Status tone={tone} pulse={pulse ?? false}>
      {word}
    </Status>
  );
}
