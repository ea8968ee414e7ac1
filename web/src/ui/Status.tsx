import { type Tone, wordOfState } from '../states.ts';
import classes from './Status.module.css';

/** A status word with a color. Both themes have the contrast of WCAG AA. */
export function Status({ tone, pulse, children }: { tone: Tone; pulse?: boolean; children: string }) {
  return (
    <span className={classes.status} data-tone={tone} data-pulse={pulse || undefined}>
      <span className={classes.dot} aria-hidden="true" />
      {children}
    </span>
  );
}

/** The state of a run. */
export function RunStatus({ state }: { state: string }) {
  const { tone, word, pulse } = wordOfState(state);
  return (
    <Status tone={tone} pulse={pulse ?? false}>
      {word}
    </Status>
  );
}
