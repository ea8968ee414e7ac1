import { Anchor, Group, Text, VisuallyHidden } from '@mantine/core';
import type { FilterCheck, FilterDelivery, FilterTestResult } from '@penstock/sdk';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { Icon } from '../../ui/Icon.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { Why } from '../deliveries/Reason.tsx';
import { ChosenPayload } from './ChosenPayload.tsx';
import classes from './TestedDeliveries.module.css';

interface TestedDeliveriesProps {
  factory: string;
  webhook: string;
  deliveries: readonly FilterDelivery[];
}

/** Lists stored deliveries with whether the filter matches each, and if not, why. */
export function TestedDeliveries({ factory, webhook, deliveries }: TestedDeliveriesProps) {
  return (
    // It scrolls, which a keyboard must be able to do.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can
    <section className={classes.box} aria-label="Tested deliveries" tabIndex={0}>
      <ul className={classes.deliveries}>
        {deliveries.map(({ delivery_id, received_at, event_type, summary, would_trigger, reason }) => (
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
              {!would_trigger && <Why reason={reason} />}
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
  /** Whether the filter is on the payload, and not on the events of another provider. */
  onPayload: boolean;
}

/** The result for the delivery with which the filter is edited. The page scrolls to it once. */
export function ChosenDelivery({ factory, webhook, delivery, result, onPayload }: ChosenDeliveryProps) {
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
      <FailedChecks checks={onPayload ? result.checks.filter(({ check }) => check !== 'payload') : result.checks} />
      {onPayload && (
        <ChosenPayload
          factory={factory}
          webhook={webhook}
          delivery={delivery}
          failed={result.checks.find(({ check, passed }) => check === 'payload' && !passed)}
        />
      )}
    </div>
  );
}

/** The checks that failed, each with the reason. */
export function FailedChecks({ checks }: { checks: readonly FilterCheck[] }) {
  return checks
    .filter(({ passed }) => !passed)
    .map(({ check, reason }) => (
      <Text key={check} size="sm" component="div">
        <Why reason={reason} />
      </Text>
    ));
}

function ToDelivery({ factory, webhook, delivery, children }: Omit<ChosenDeliveryProps, 'result' | 'onPayload'> & { children: ReactNode }) {
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
