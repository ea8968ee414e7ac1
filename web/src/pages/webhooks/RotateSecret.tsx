import { Button, Group, PasswordInput, Select, Stack, Text } from '@mantine/core';
import type { Webhook } from '@penstock/sdk';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { client } from '../../api.ts';
import { signatureSchemesQuery } from '../../queries.ts';
import { Dialog } from '../../ui/Dialog.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Reveal } from './Reveal.tsx';

const overlaps = [
  { value: '0', label: 'Stops at once' },
  { value: '900', label: 'Stays valid for 15 minutes' },
  { value: '3600', label: 'Stays valid for 1 hour' },
  { value: '86400', label: 'Stays valid for 1 day' },
  { value: '604800', label: 'Stays valid for 7 days' },
];

/** Replaces a webhook's secret, and shows the new one this once. */
export default function RotateSecret({ webhook, factory, close }: { webhook: Webhook; factory: string; close: () => void }) {
  const queries = useQueryClient();
  const [overlap, setOverlap] = useState<string | null>('0');
  const [secret, setSecret] = useState('');
  const schemes = useQuery(signatureSchemesQuery);
  const preset = schemes.data?.find(({ scheme }) => scheme === webhook.signature_scheme);
  const theirs = webhook.auth_mode === 'signature' && !preset?.secret_generated;
  const rotating = useMutation({
    mutationFn: () =>
      client.webhooks.rotateSecret(factory, webhook.uid, { overlap_seconds: Number(overlap), ...(secret ? { secret } : {}) }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhook', webhook.uid] }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    rotating.mutate();
  };
  return (
    <Dialog title={`Rotate the secret of ${webhook.label}`} close={close} size="lg" stays={rotating.data !== undefined}>
      {rotating.data ? (
        <Reveal webhook={rotating.data} done={close} />
      ) : (
        <form onSubmit={submit}>
          <Stack gap="sm">
            <Text size="sm">
              The new secret holds from the next delivery on, and becomes the value of the managed secret {webhook.secret_name}.
            </Text>
            {webhook.auth_mode === 'signature' && (
              <PasswordInput
                label="New secret"
                description={theirs ? preset?.hint : 'Leave it out to have one made here.'}
                required={theirs}
                autoComplete="off"
                value={secret}
                onChange={(event) => setSecret(event.currentTarget.value)}
                visibilityToggleButtonProps={{ 'aria-label': 'Show the secret' }}
              />
            )}
            <Select label="The old secret" data={overlaps} value={overlap} allowDeselect={false} onChange={setOverlap} />
            <Failure error={rotating.error} />
            <Group justify="flex-end">
              <Button variant="default" onClick={close}>
                Keep
              </Button>
              <Button type="submit" loading={rotating.isPending}>
                Rotate
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Dialog>
  );
}
