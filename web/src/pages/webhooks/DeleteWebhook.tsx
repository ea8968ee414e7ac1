import type { Webhook } from '@penstock/sdk';
import { useNavigate } from '@tanstack/react-router';
import { client } from '../../api.ts';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';

export function DeleteWebhook({ webhook, factory, close }: { webhook: Webhook; factory: string; close: () => void }) {
  const navigate = useNavigate();
  return (
    <DeleteDialog
      noun="webhook"
      name={webhook.label}
      remove={() => client.webhooks.delete(factory, webhook.uid)}
      stale={['webhooks']}
      done={() => navigate({ to: '/webhooks', search: {} })}
      close={close}
    >
      Its URL will return 404. This also deletes its delivery log. The automations that use it and its managed secret {webhook.secret_name}{' '}
      are kept.
    </DeleteDialog>
  );
}
