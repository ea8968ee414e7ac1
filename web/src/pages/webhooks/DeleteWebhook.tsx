import { Text } from '@mantine/core';
import type { Webhook } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { client } from '../../api.ts';
import { Confirm } from '../../ui/Confirm.tsx';

export function DeleteWebhook({
  webhook,
  factory,
  opened,
  close,
}: {
  webhook: Webhook;
  factory: string;
  opened: boolean;
  close: () => void;
}) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const act = async (): Promise<void> => {
    await client.webhooks.delete(factory, webhook.uid);
    await queries.invalidateQueries({ queryKey: ['webhooks'] });
    await navigate({ to: '/webhooks', search: {} });
  };
  return (
    <Confirm opened={opened} close={close} title={`Delete ${webhook.label}?`} action="Delete the webhook" act={act}>
      <Text>
        Its sender gets 404 from the next request on, and its log is gone. Automations that select it stay, and so does the managed secret{' '}
        {webhook.secret_name}. A new webhook has another URL.
      </Text>
    </Confirm>
  );
}
