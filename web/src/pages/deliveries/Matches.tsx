import { Anchor, Text } from '@mantine/core';
import type { Delivery, DeliveryMatch } from '@penstock/sdk';
import { Link } from '@tanstack/react-router';
import { Status } from '../../ui/Status.tsx';
import classes from './DeliveryDetail.module.css';
import { outcomeOf } from './outcome.ts';
import { Reason } from './Reason.tsx';

/** What each automation made of a delivery. */
export function Matches({ delivery, factory }: { delivery: Delivery; factory: string }) {
  if (delivery.matches.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No automation used this webhook when the delivery arrived.
      </Text>
    );
  }
  return (
    <ul className={classes.matches}>
      {delivery.matches.map((match) => (
        <Match key={match.automation_uid} match={match} delivery={delivery} factory={factory} />
      ))}
    </ul>
  );
}

function Match({ match, delivery, factory }: { match: DeliveryMatch; delivery: Delivery; factory: string }) {
  const { automation, automation_uid, would_trigger, failed_at, run_id, subject, subject_uid, fate } = match;
  const { word, tone } = outcomeOf(match);
  const to = '/factory/$uid/automations/$auid' as const;
  const params = { uid: factory, auid: automation_uid } as never;
  return (
    <li>
      <Status tone={tone}>{word}</Status>
      <Anchor component={Link} to={to} params={params} inherit>
        {automation}
      </Anchor>
      {run_id && (
        <Anchor component={Link} to="/runs/$runId" params={{ runId: run_id } as never} inherit>
          View run
        </Anchor>
      )}
      {subject && subject_uid && (
        <span>
          about{' '}
          <Anchor component={Link} to="/subjects/$uid" params={{ uid: subject_uid } as never} inherit>
            {subject}
          </Anchor>
        </span>
      )}
      {match.fate_reason ? <span>{match.fate_reason}</span> : !would_trigger && <Reason match={match} />}
      {!would_trigger && !fate && failed_at !== 'automation' && (
        <Anchor
          component={Link}
          to={to}
          params={params}
          search={{ webhook: delivery.webhook_uid, delivery: delivery.delivery_id } as never}
          inherit
        >
          Edit the filter with this delivery
        </Anchor>
      )}
    </li>
  );
}
