import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import type { Webhook } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { signatureSchemesQuery } from '../../queries.ts';
import { Code } from '../../ui/Code.tsx';
import { firstDelivery } from './command.ts';

/** Shows what is shown once: the URL and the secret of a webhook, and how to send it a first delivery. */
export function Reveal({ webhook, done }: { webhook: Webhook; done: () => void }) {
  const schemes = useQuery(signatureSchemesQuery);
  const command = firstDelivery(
    webhook,
    schemes.data?.find(({ scheme }) => scheme === webhook.signature_scheme),
  );
  const inURL = webhook.auth_mode === 'url_token';
  return (
    <Stack gap="sm">
      {webhook.secret ? (
        <Alert variant="default" p="xs" role="status" styles={{ root: { borderColor: 'var(--warn)' } }}>
          {inURL ? 'The URL holds its secret, which' : 'The secret'} is shown this once. Copy it now.
        </Alert>
      ) : (
        <Text size="sm">It uses the managed secret {webhook.secret_name}, whose value is never shown.</Text>
      )}
      <div>
        <Text size="sm" fw={600}>
          URL
        </Text>
        <Code label="URL">{webhook.ingress_url}</Code>
      </div>
      {webhook.secret && !inURL && (
        <div>
          <Text size="sm" fw={600}>
            Secret
          </Text>
          <Code label="Secret">{webhook.secret}</Code>
        </div>
      )}
      {command ? (
        <div>
          <Text size="sm" fw={600}>
            A first delivery
          </Text>
          <Code label="a first delivery with curl">{command}</Code>
        </div>
      ) : (
        <Text size="sm" c="dimmed">
          Only its sender can sign for it: send the first delivery from there.
        </Text>
      )}
      <Group justify="flex-end">
        <Button onClick={done}>I have copied it</Button>
      </Group>
    </Stack>
  );
}
