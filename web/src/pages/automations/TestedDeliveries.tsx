import { Anchor, Group, Text, VisuallyHidden } from '@mantine/core';
import type { FilterCheck, FilterDelivery, FilterTestResult } from '@penstock/sdk';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { Icon } from '../../ui/Icon.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { mismatchOfCheck } from '../deliveries/mismatch.ts';
import { Sentence } from '../deliveries/Reason.tsx';
import { ChosenPayload } from './ChosenPayload.tsx';
import classes from './TestedDeliveries.module.css';

interface TestedDeliveriesProps {
  factory: string;
  webhook: string;
  deliveries: readonly FilterDelivery[];
  /** The payload filter that was tested. Not for the events of other providers. */
  filter: unknown;
}

/** Lists stored deliveries with whether the filter matches each, and if not, why. */
export function TestedDeliveries({ factory, webhook, deliveries, filter }: TestedDeliveriesProps) {
  return (
    // It scrolls, which a keyboard must be able to do.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can
    <section className={classes.box} aria-label="Tested deliveries" tabIndex={0}>
      <ul className={classes.deliveries}>
        {deliveries.map(({ delivery_id, received_at, event_type, summary, would_trigger, ...check }) => (
          <li key={delivery_id} data-matches={would_trigger || undefined}>
            <span className={classes.mark}>
              <Icon name={would_trigger ? 'check' : 'cross'} size={12} />
              <VisuallyHidden>{would_trigger ? 'Matches' : 'Does not match'}</VisuallyHidden>
            </span>
            <ToDelivery factory={factory} webhook={webhook} delivery={delivery_id}>
              <Time at={received_at} />
            </ToDelivery>
            <span className={classes.about}>
              {event_type && <span>{event_type}</span>}
              <span className={`mono clip ${classes.summary}`} title={summary}>
                {summary}
              </span>
              {!would_trigger && <Why check={check} filter={filter} />}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface ChosenDeliveryProps {
  factory: string;
  webhook: string;
  delivery: string;
  result: FilterTestResult;
  /** The payload filter as it is now. Not for the events of other providers. */
  filter: Record<string, unknown> | undefined;
}

/** The result for the delivery with which the filter is edited. The page scrolls to it once. */
export function ChosenDelivery({ factory, webhook, delivery, result, filter }: ChosenDeliveryProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.scrollIntoView({ block: 'center' }), []);
  return (
    <div ref={box} className={classes.chosen} role="status" aria-label="This delivery">
      <Group gap="sm">
        <Status tone={result.would_trigger ? 'good' : 'calm'}>{result.would_trigger ? 'Would trigger' : 'Would not trigger'}</Status>
        <ToDelivery factory={factory} webhook={webhook} delivery={delivery}>
          Delivery {delivery.slice(-12)}
        </ToDelivery>
      </Group>
      <FailedChecks checks={filter ? result.checks.filter(({ check }) => check !== 'payload') : result.checks} />
      {filter && (
        <ChosenPayload
          factory={factory}
          webhook={webhook}
          delivery={delivery}
          filter={filter}
          failed={result.checks.find(({ check, passed }) => check === 'payload' && !passed)}
        />
      )}
    </div>
  );
}

/** The checks that failed, each with the reason. filter is the payload filter that was tested. */
export function FailedChecks({ checks, filter }: { checks: readonly FilterCheck[]; filter?: unknown }) {
  return checks
    .filter(({ passed }) => !passed)
    .map((check) => (
      <Text key={check.check} size="sm" component="div">
        <Why check={check} filter={filter} />
      </Text>
    ));
}

/** Why a filter does not match: with the value and what the filter expects, or else as the server has it. */
function Why({ check, filter }: { check: Pick<FilterCheck, 'path' | 'reason' | 'actual'>; filter: unknown }) {
  const { path, reason } = check;
  const mismatch = mismatchOfCheck(check, filter);
  return mismatch ? (
    <Sentence {...mismatch} />
  ) : (
    <span className="plain">
      {path && <code>{path}</code>} {reason}
    </span>
  );
}

function ToDelivery({ factory, webhook, delivery, children }: Omit<ChosenDeliveryProps, 'result' | 'filter'> & { children: ReactNode }) {
  return (
    <Anchor
      component={Link}
      to="/factory/$uid/webhooks/$wuid/deliveries/$did"
      params={{ uid: factory, wuid: webhook, did: delivery } as never}
      inherit
    >
      {children}
    </Anchor>
  );
}
