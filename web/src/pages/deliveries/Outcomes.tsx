import { VisuallyHidden } from '@mantine/core';
import type { Delivery } from '@penstock/sdk';
import { Icon } from '../../ui/Icon.tsx';
import classes from './Outcomes.module.css';
import { isReplayable } from './outcome.ts';

/** The most automations that are named. */
const most = 3;

/** What each automation made of a delivery, in one line. */
export function Outcomes({ delivery }: { delivery: Delivery }) {
  const { matches } = delivery;
  if (!isReplayable(delivery)) {
    const why = delivery.detail ?? delivery.advice;
    return why ? (
      <span className="clip" title={why}>
        {why}
      </span>
    ) : null;
  }
  if (matches.length === 0) {
    return <span className={classes.none}>no automation</span>;
  }
  const about = matches.map(({ automation, would_trigger, reason }) =>
    would_trigger ? `${automation} fired` : `${automation} did not fire${reason ? `: ${reason}` : ''}`,
  );
  return (
    <span className={classes.outcomes} title={about.join('\n')}>
      {matches.slice(0, most).map(({ automation, automation_uid, would_trigger }) => (
        <span key={automation_uid} className={classes.outcome} data-fired={would_trigger || undefined}>
          <Icon name={would_trigger ? 'check' : 'cross'} size={11} />
          <span className="clip">{automation}</span>
          <VisuallyHidden>{would_trigger ? 'fired' : 'did not fire'}</VisuallyHidden>
        </span>
      ))}
      {matches.length > most && <span className={classes.none}>{matches.length - most} more</span>}
    </span>
  );
}
