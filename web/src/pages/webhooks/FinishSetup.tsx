import { Button, Group, PasswordInput, Stack, Text } from '@mantine/core';
import type { Webhook } from '@penstock/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { client } from '../../api.ts';
import { Code } from '../../ui/Code.tsx';
import { CopyButton } from '../../ui/CopyButton.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { newSecret, takesAnySecret } from './draft.ts';
import { usePreset } from './usePreset.ts';

interface FinishSetupProps {
  webhook: Webhook;
  factory: string;
  close: () => void;
  /** What follows once the secret is set; by default, the dialog closes. */
  finished?: () => void;
}

/** Sets the secret of a pending webhook: one that its sender shows after the URL is registered there, or a generated one. */
export function FinishSetup({ webhook, factory, close, finished }: FinishSetupProps) {
  return (
    <Dialog title={`Finish the setup of ${webhook.label}`} close={close} size="lg">
      <SecretForm webhook={webhook} factory={factory} later={close} finished={finished ?? close} />
    </Dialog>
  );
}

interface SecretFormProps {
  webhook: Webhook;
  factory: string;
  later: () => void;
  finished: () => void;
}

export function SecretForm({ webhook, factory, later, finished }: SecretFormProps) {
  const queries = useQueryClient();
  const { preset } = usePreset(webhook.signature_scheme);
  const any = webhook.auth_mode !== 'signature' || takesAnySecret(webhook.signature_scheme ?? '');
  const [secret, setSecret] = useState(() => (any ? newSecret() : ''));
  const finishing = useMutation({
    mutationFn: () => client.webhooks.update(factory, webhook.uid, { secret }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['webhooks'] });
      await queries.invalidateQueries({ queryKey: ['webhook', webhook.uid] });
      finished();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    finishing.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <div>
          <Text size="sm">1. Register this URL with {preset?.sender ?? 'the sender'}:</Text>
          <Code label="URL">{webhook.ingress_url}</Code>
        </div>
        <Group gap="xs" align="end" wrap="nowrap">
          <PasswordInput
            flex={1}
            label={any ? '2. Enter this secret there, or another one here' : '2. Enter the secret that it shows'}
            description={preset?.hint}
            defaultVisible={any}
            autoComplete="off"
            value={secret}
            onChange={(event) => setSecret(event.currentTarget.value)}
            visibilityToggleButtonProps={{ 'aria-label': 'Show the secret' }}
          />
          {any && <CopyButton value={secret} label="Copy the secret" />}
        </Group>
        <Failure error={finishing.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={later}>
            Later
          </Button>
          <Button type="submit" loading={finishing.isPending} disabled={secret === ''}>
            Finish setup
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
