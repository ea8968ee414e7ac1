import type { Delivery, DeliveryMatch } from '@penstock/sdk';
import { useQueries, useQuery } from '@tanstack/react-query';
import { automationQuery, payloadQuery } from '../../queries.ts';
import type { Place } from './lines.ts';
import { mismatchOf } from './mismatch.ts';

/** Larger payloads are not read for a sentence. */
const largest = 1_000_000;

/** Whether a delivery did not match an automation at a place that can be shown. */
export function isExplained({ would_trigger, failed_at }: DeliveryMatch, { size }: Pick<Delivery, 'size'>): boolean {
  return !would_trigger && (failed_at?.startsWith('/') ?? false) && size <= largest;
}

/** The places of a payload that the filters of automations did not match, each with what the filter expects. */
export function usePlaces(delivery: Delivery, factory: string): Place[] {
  const failed = delivery.matches.filter((match) => isExplained(match, delivery));
  const automations = useQueries({
    queries: failed.map(({ automation_uid }) => ({ ...automationQuery(factory, automation_uid), staleTime: 60_000 })),
  });
  const payload = useQuery({ ...payloadQuery(factory, delivery.webhook_uid, delivery.delivery_id), enabled: failed.length > 0 });
  return failed.flatMap(({ automation, failed_at: pointer = '' }, i): Place[] => {
    const { data } = automations[i] ?? {};
    const mismatch = data && payload.data !== undefined && mismatchOf(pointer, payload.data, data);
    if (!mismatch) {
      return [];
    }
    const { words, values } = mismatch.expected;
    return [{ pointer, note: `${automation} expects ${words}${values.join(', ')}` }];
  });
}
