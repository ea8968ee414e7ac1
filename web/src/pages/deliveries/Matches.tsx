import { Anchor, Text } from '@mantine/core';
import type { Delivery, DeliveryMatch } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { sessionQuery } from '../../api.ts';
import type { DeliveryLog } from '../../deliverylog.ts';
import { may } from '../../layout/nav.ts';
import { automationsQuery } from '../../queries.ts';
import { Status } from '../../ui/Status.tsx';
import { useEach } from '../webhooks/useEach.ts';
import classes from './DeliveryDetail.module.css';
import { outcomeOf } from './outcome.ts';
import { Reason, Why } from './Reason.tsx';

interface MatchesProps {
  delivery: Delivery;
  log: DeliveryLog;
}

/** What each automation made of a delivery. */
export function Matches({ delivery, log }: MatchesProps) {
  const { factory } = log;
  if (delivery.matches.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {factory === undefined ? 'No automation got the event.' : 'No automation used this webhook when the delivery arrived.'}
      </Text>
    );
  }
  return factory === undefined ? (
    <OfSeveral delivery={delivery} />
  ) : (
    <ul className={classes.matches}>
      {delivery.matches.map((match) => (
        <Match
          key={match.automation_uid}
          match={match}
          factory={factory}
          why={<Reason match={match} />}
          test={{ webhook: log.uid, delivery: delivery.delivery_id }}
        />
      ))}
    </ul>
  );
}

/** Automations of several factories, which the matches do not name. Without the right to read factories, they have no links. */
function OfSeveral({ delivery }: { delivery: Delivery }) {
  const { data: session } = useQuery(sessionQuery);
  const enabled = may(session?.scopes, 'factories:read');
  const { rows } = useEach(undefined, (one) => one.automations_count, automationsQuery, { live: false, enabled });
  return (
    <ul className={classes.matches}>
      {delivery.matches.map((match) => {
        const factory = rows?.find(({ uid }) => uid === match.automation_uid)?.factory;
        return (
          <Match key={match.automation_uid} match={match} factory={factory?.uid} of={factory?.name} why={<Why reason={match.reason} />} />
        );
      })}
    </ul>
  );
}

interface MatchProps {
  match: DeliveryMatch;
  /** The factory of the automation, if it is known. */
  factory: string | undefined;
  /** Its name, where several factories get deliveries. */
  of?: string | undefined;
  /** Why it did not fire. */
  why: ReactNode;
  /** The delivery to test the filter with, if that is possible. */
  test?: { webhook: string; delivery: string };
}

function Match({ match, factory, of, why, test }: MatchProps) {
  const { automation, automation_uid, would_trigger, failed_at, run_id, subject, subject_uid, fate } = match;
  const { word, tone } = outcomeOf(match);
  const to = '/factory/$uid/automations/$auid' as const;
  const params = { uid: factory, auid: automation_uid } as never;
  return (
    <li>
      <Status tone={tone}>{word}</Status>
      {factory ? (
        <Anchor component={Link} to={to} params={params} inherit>
          {automation}
        </Anchor>
      ) : (
        <span>{automation}</span>
      )}
      {of && <span>of {of}</span>}
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
      {match.fate_reason ? <span>{match.fate_reason}</span> : !would_trigger && why}
      {test && !would_trigger && !fate && failed_at !== 'automation' && (
        <Anchor component={Link} to={to} params={params} search={test as never} inherit>
          Edit the filter with this delivery
        </Anchor>
      )}
    </li>
  );
}
