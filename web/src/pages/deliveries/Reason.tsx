import type { Delivery, DeliveryMatch } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { automationQuery, payloadQuery } from '../../queries.ts';
import { type Mismatch, mismatchOf } from './mismatch.ts';
import { isExplained } from './usePlaces.ts';

export interface ReasonProps {
  match: DeliveryMatch;
  delivery: Pick<Delivery, 'webhook_uid' | 'delivery_id' | 'size'>;
  factory: string;
}

/** Why a delivery did not fire an automation: with the value and what the filter expects, or else as the log has it. */
export function Reason({ match, delivery, factory }: ReasonProps) {
  const { failed_at, reason, automation_uid } = match;
  const enabled = isExplained(match, delivery);
  const automation = useQuery({ ...automationQuery(factory, automation_uid), staleTime: 60_000, enabled });
  const payload = useQuery({ ...payloadQuery(factory, delivery.webhook_uid, delivery.delivery_id), enabled });
  const mismatch = failed_at && automation.data && payload.data !== undefined && mismatchOf(failed_at, payload.data, automation.data);
  if (mismatch) {
    return <Sentence {...mismatch} />;
  }
  return (
    <span className="plain">
      {failed_at && failed_at !== 'automation' && (
        <>
          <code>{failed_at}</code>{' '}
        </>
      )}
      {reason}
    </span>
  );
}

/** Says what a value is, and what the filter expects. */
export function Sentence({ name, actual, expected }: Mismatch) {
  return (
    <span className="plain">
      <code>{name}</code> is <Values of={actual} none="missing" />; the filter expects {expected.words}
      <Values of={expected.values} none="" />
    </span>
  );
}

function Values({ of, none }: { of: readonly string[]; none: string }) {
  return of.length > 0 ? <code>{of.join(', ')}</code> : none;
}
