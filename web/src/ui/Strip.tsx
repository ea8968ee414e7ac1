import { Link } from '@tanstack/react-router';
import type { Tone } from '../states.ts';
import classes from './Strip.module.css';

export interface StripItem {
  key: string;
  tone: Tone;
  /** What happened, for a tooltip and for screen readers. */
  name: string;
  /** The run that the bar leads to. */
  run?: string | undefined;
}

/** What happened last, as a strip of bars, in the order of items. */
export function Strip({ label, items }: { label: string; items: readonly StripItem[] }) {
  return (
    <ul className={classes.strip} aria-label={label}>
      {items.map(({ key, tone, name, run }) => {
        const bar = { className: classes.bar, 'data-tone': tone, title: name };
        return (
          <li key={key}>
            {run ? (
              <Link to="/runs/$runId" params={{ runId: run } as never} aria-label={name} {...bar} />
            ) : (
              <span role="img" aria-label={name} {...bar} />
            )}
          </li>
        );
      })}
    </ul>
  );
}
