import { Group, Stack, Text } from '@mantine/core';
import type { Webhook } from '@penstock/sdk';
import type { ReactNode } from 'react';
import { logOfWebhook } from '../../deliverylog.ts';
import { Code } from '../../ui/Code.tsx';
import { RecentDeliveries } from '../deliveries/RecentDeliveries.tsx';
import { firstDelivery } from './command.ts';
import { SendTest, TestOutcome, useSendTest, Waiting } from './SendTest.tsx';
import { usePreset } from './usePreset.ts';

/** The log of a webhook, which can be tested. hook is undefined during the first request. */
export function WebhookDeliveries({ factory, webhook, hook }: { factory: string; webhook: string; hook: Webhook | undefined }) {
  const test = useSendTest(factory, webhook);
  const send = hook && <SendTest webhook={hook} factory={factory} test={test} size="xs" />;
  return (
    <RecentDeliveries
      log={logOfWebhook(factory, webhook)}
      actions={send}
      outcome={hook && <TestOutcome test={test} factory={factory} />}
      none={hook ? <NoDeliveries webhook={hook}>{send}</NoDeliveries> : <Waiting />}
    />
  );
}

/** Shows how to send the first delivery: with the button, or in a shell, if one can sign it. */
function NoDeliveries({ webhook, children }: { webhook: Webhook; children: ReactNode }) {
  const { preset, ready } = usePreset(webhook.signature_scheme);
  const command = firstDelivery(webhook, preset);
  return (
    <Stack py="md" gap="sm" maw={760}>
      <Group gap="md">
        <Waiting />
        {children}
      </Group>
      {command && ready && (
        <>
          <Text size="sm" c="dimmed">
            Or send one yourself. Replace YOUR-SECRET with the secret:
          </Text>
          <Code label="a delivery with curl">{command}</Code>
        </>
      )}
    </Stack>
  );
}
