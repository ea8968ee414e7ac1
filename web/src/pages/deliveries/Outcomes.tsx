import { VisuallyHidden } from '@mantine/core';
import type { Delivery, DeliveryMatch } from '@penstock/sdk';
import { Icon } from '../../ui/Icon.tsx';
import classes from './Outcomes.module.css';
import { isReplayable, outcomeOf } from './outcome.ts';

/** The most automations that are named. */
const most = 3;

/** Whether a delivery has fired an automation, and may still reach a run or has reached it. */
const hasFired = (match: DeliveryMatch): boolean => match.would_trigger && !['warn', 'bad'].includes(outcomeOf(match).tone);

/** What each automation made of a delivery, in one line. */
export function Outcomes({ delivery }: { delivery: Delivery }) {
  const { matches } = delivery;
  if (!isReplayable(delivery)) {
    return null;
  }
  if (matches.length === 0) {
    return <span className={classes.none}>no automation</span>;
  }
  const wordOf = (match: DeliveryMatch): string => outcomeOf(match).word.toLowerCase();
  const about = matches.map((match) => {
    const why = match.fate ? match.fate_reason : match.would_trigger ? undefined : match.reason;
    return `${match.automation} ${wordOf(match)}${why ? `: ${why}` : ''}`;
  });
  return (
    <span className={classes.outcomes} title={about.join('\n')}>
      {matches.slice(0, most).map((match) => (
        <span key={match.automation_uid} className={classes.outcome} data-fired={hasFired(match) || undefined}>
          <Icon name={hasFired(match) ? 'check' : 'cross'} size={11} />
          <span className="clip">
            {match.automation}
            {match.fate && ` ${wordOf(match)}`}
          </span>
          {!match.fate && <VisuallyHidden>{wordOf(match)}</VisuallyHidden>}
        </span>
      ))}
      {matches.length > most && <span className={classes.none}>{matches.length - most} more</span>}
    </span>
  );
}
