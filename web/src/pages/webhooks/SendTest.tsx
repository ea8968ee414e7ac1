import { Button, Group, Text } from '@mantine/core';
import type { Delivery, TestDeliveryRequest, Webhook } from '@penstock/sdk';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { client, clientWithPayload } from '../../api.ts';
import { logOfWebhook } from '../../deliverylog.ts';
import { formatCount } from '../../format.ts';
import { live } from '../../live.ts';
import { deliveriesQuery } from '../../queries.ts';
import { Failure } from '../../ui/Failure.tsx';
import { Status } from '../../ui/Status.tsx';
import { Explanation } from '../deliveries/Explanation.tsx';
import { Matches } from '../deliveries/Matches.tsx';
import { isReplayable, reasonOf, toneOf } from '../deliveries/outcome.ts';
import { troubleOf } from './state.ts';

const ChooseTest = lazy(() => import('./ChooseTest.tsx'));

/** What a test delivery has. A payload is the text of the JSON, as it was pasted. */
export type TestRequest = Omit<TestDeliveryRequest, 'payload'> & { payload?: string };

/** Sends a test delivery, as the sender would. Without a request, it is an example. */
export function useSendTest(factory: string, webhook: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ payload, ...request }: TestRequest) =>
      (payload === undefined ? client : clientWithPayload(payload)).webhooks.sendTest(factory, webhook, request),
    onSuccess: () => Promise.all(['deliveries', 'webhook'].map((noun) => queries.invalidateQueries({ queryKey: [noun, webhook] }))),
  });
}

type Test = ReturnType<typeof useSendTest>;

interface SendTestProps {
  webhook: Webhook;
  factory: string;
  test: Test;
  size?: string;
}

/** The buttons for a test delivery: an example at once, or another payload. */
export function SendTest({ webhook, factory, test, size = 'sm' }: SendTestProps) {
  const [choosing, setChoosing] = useState(false);
  const trouble = webhook.enabled ? troubleOf(webhook) : 'Disabled';
  return (
    <Group gap={6}>
      <Button
        size={size}
        variant="default"
        loading={test.isPending}
        disabled={trouble !== undefined}
        title={
          trouble
            ? `The webhook accepts no deliveries: ${trouble.toLowerCase()}`
            : 'Sends an example as its sender would. Automations that match start runs.'
        }
        onClick={() => test.mutate({})}
      >
        Send test
      </Button>
      <Button size={size} variant="subtle" disabled={trouble !== undefined} onClick={() => setChoosing(true)}>
        Choose a payload…
      </Button>
      {choosing && (
        <Suspense>
          <ChooseTest webhook={webhook} factory={factory} send={test.mutateAsync} close={() => setChoosing(false)} />
        </Suspense>
      )}
    </Group>
  );
}

/** What became of a delivery. */
export function Outcome({ delivery, factory, title }: { delivery: Delivery; factory: string; title: string }) {
  const reason = reasonOf(delivery);
  return (
    <section aria-label={title} role="status">
      <Group gap="xs">
        <Text size="sm" fw={600}>
          {title}
        </Text>
        <Status tone={toneOf(delivery)}>{delivery.label}</Status>
        <Text size="sm">
          HTTP {delivery.http_status}
          {isReplayable(delivery) && `, ${delivery.runs.length === 0 ? 'no run' : formatCount(delivery.runs.length, 'run')} started`}
        </Text>
      </Group>
      {reason && <Text size="sm">{reason}</Text>}
      <Explanation delivery={delivery} />
      {isReplayable(delivery) && <Matches delivery={delivery} log={logOfWebhook(factory, delivery.webhook_uid)} />}
    </section>
  );
}

/** The outcome of a test delivery, once it was sent. */
export function TestOutcome({ test, factory }: { test: Test; factory: string }) {
  return (
    <>
      {test.data && <Outcome title="Test delivery" delivery={test.data} factory={factory} />}
      <Failure error={test.error} />
    </>
  );
}

/** Waits for the first delivery of a new webhook, and shows its outcome. */
export function FirstDelivery({ webhook, factory }: { webhook: Webhook; factory: string }) {
  const log = useQuery({ ...deliveriesQuery(logOfWebhook(factory, webhook.uid), { limit: 1 }), ...live() });
  const test = useSendTest(factory, webhook.uid);
  const [newest] = log.data?.items ?? [];
  return (
    <>
      <Group justify="space-between" gap="xs">
        {newest ? <span /> : <Waiting />}
        <SendTest webhook={webhook} factory={factory} test={test} size="xs" />
      </Group>
      {newest && <Outcome title="Last delivery" delivery={newest} factory={factory} />}
      <Failure error={test.error} />
    </>
  );
}

export function Waiting() {
  return (
    <Status tone="busy" pulse>
      Waiting for the first delivery…
    </Status>
  );
}
