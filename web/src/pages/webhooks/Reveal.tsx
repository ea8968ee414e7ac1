import { Button, Group, Stack, Text } from '@mantine/core';
import type { Webhook } from '@penstock/sdk';
import { Code } from '../../ui/Code.tsx';
import { Named, OnlyOnce } from '../../ui/ShownOnce.tsx';
import { firstDelivery } from './command.ts';
import { FirstDelivery } from './SendTest.tsx';
import { usePreset } from './usePreset.ts';

interface RevealProps {
  webhook: Webhook;
  factory: string;
  rotated?: boolean;
  done: () => void;
}

/** Shows the URL and the new secret of a webhook once, and how to send a delivery. */
export function Reveal({ webhook, factory, rotated = false, done }: RevealProps) {
  const { preset } = usePreset(webhook.signature_scheme);
  const command = firstDelivery(webhook, preset);
  const inURL = webhook.auth_mode === 'url_token';
  return (
    <Stack gap="sm">
      {webhook.secret ? (
        <OnlyOnce>{inURL ? 'The URL contains its secret, which' : 'The secret'} is shown only once. Copy it now.</OnlyOnce>
      ) : (
        <Text size="sm">It uses the managed secret {webhook.secret_name}. Its value is never shown.</Text>
      )}
      <Named name="URL">{webhook.ingress_url}</Named>
      {webhook.secret && !inURL && <Named name="Secret">{webhook.secret}</Named>}
      {command ? (
        <div>
          <Text size="sm" fw={600}>
            {rotated ? 'Try the new secret' : 'Send a first delivery'}
          </Text>
          <Code label="a delivery with curl">{command}</Code>
        </div>
      ) : (
        <Text size="sm" c="dimmed">
          {rotated
            ? 'Only the sender can sign deliveries. Enter the new secret there.'
            : 'Only the sender can sign deliveries. Send the first one from there.'}
        </Text>
      )}
      {!rotated && <FirstDelivery webhook={webhook} factory={factory} />}
      <Group justify="flex-end">
        <Button onClick={done}>I have copied it</Button>
      </Group>
    </Stack>
  );
}
