import { PasswordInput, Text } from '@mantine/core';
import type { Webhook } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { Dialog } from '../../ui/Dialog.tsx';
import { RotateDialog } from '../../ui/RotateDialog.tsx';
import { Reveal } from './Reveal.tsx';
import { usePreset } from './usePreset.ts';

/** Replaces a webhook's secret and shows the new one once. */
export default function RotateSecret({ webhook, factory, close }: { webhook: Webhook; factory: string; close: () => void }) {
  const queries = useQueryClient();
  const [secret, setSecret] = useState('');
  const { preset } = usePreset(webhook.signature_scheme);
  const theirs = webhook.auth_mode === 'signature' && !preset?.secret_generated;
  const title = `Rotate the secret of ${webhook.label}`;
  const rotate = async (seconds: number): Promise<Webhook> => {
    const request = { overlap_seconds: seconds, ...(secret ? { secret } : {}) };
    const next = await client.webhooks.rotateSecret(factory, webhook.uid, request);
    await queries.invalidateQueries({ queryKey: ['webhook', webhook.uid] });
    return next;
  };
  return (
    <RotateDialog
      title={title}
      close={close}
      rotate={rotate}
      shown={(rotated) => (
        <Dialog title={title} close={close} size="lg" stays>
          <Reveal webhook={rotated} factory={factory} rotated done={close} />
        </Dialog>
      )}
    >
      <Text size="sm">
        The new secret applies from the next delivery on, and becomes the value of the managed secret {webhook.secret_name}.
      </Text>
      {webhook.auth_mode === 'signature' && (
        <PasswordInput
          label="New secret"
          description={theirs ? preset?.hint : 'Leave empty to generate one.'}
          required={theirs}
          autoComplete="off"
          value={secret}
          onChange={(event) => setSecret(event.currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-label': 'Show the secret' }}
        />
      )}
    </RotateDialog>
  );
}
