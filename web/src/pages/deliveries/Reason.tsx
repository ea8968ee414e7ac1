import type { Delivery, DeliveryMatch } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { automationQuery, payloadQuery } from '../../queries.ts';
import { mismatchOf } from './mismatch.ts';
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
    return (
      <span className="plain">
        <code>{mismatch.key}</code> is <Values of={mismatch.actual} none="missing" />; the filter expects {mismatch.expected.words}
        <Values of={mismatch.expected.values} none="" />
      </span>
    );
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

function Values({ of, none }: { of: readonly string[]; none: string }) {
  return of.length > 0 ? <code>{of.join(', ')}</code> : none;
}
