import { Group, Switch, Text } from '@mantine/core';
import type { Factory, UpdateWebhookRequest, Webhook } from '@penstock/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { client } from '../../api.ts';
import { tellInLine } from '../../ui/Failure.tsx';

/**
 * Switches a webhook off and on. Of a factory that comes from a repository `enabled` is the files' to say: there it is suspended and
 * resumed instead, which no file knows of.
 */
export function TakesDeliveries({ webhook, factory, bare = false }: { webhook: Webhook; factory: Factory | undefined; bare?: boolean }) {
  const queries = useQueryClient();
  const files = factory?.source === 'repository';
  const takes = webhook.enabled && !webhook.suspended && !webhook.pending_secret;
  const switching = useMutation({
    mutationFn: (on: boolean) => {
      const body: UpdateWebhookRequest = on
        ? { ...(files || webhook.enabled ? {} : { enabled: true }), ...(webhook.suspended ? { suspended: false } : {}) }
        : files
          ? { suspended: true }
          : { enabled: false };
      return client.webhooks.update(factory?.uid ?? '', webhook.uid, body);
    },
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['webhooks'] }),
        queries.invalidateQueries({ queryKey: ['webhook', webhook.uid] }),
      ]),
  });
  const stuck = files && !webhook.enabled;
  const why = stuck ? 'Switched off in the files of its repository' : webhook.pending_secret ? 'Waits for its secret' : undefined;
  return (
    <Group gap="xs" wrap="nowrap">
      <Switch
        size="sm"
        checked={switching.isPending ? switching.variables : takes}
        disabled={!factory || webhook.pending_secret || stuck}
        title={why ?? (files ? 'Suspends it; its files stay as they are' : '')}
        {...(bare ? { 'aria-label': `${webhook.label} takes deliveries` } : { label: 'Takes deliveries' })}
        onChange={(event) => switching.mutate(event.currentTarget.checked)}
      />
      {switching.error && (
        <Text size="xs" c="var(--bad)" role="alert" className="plain">
          {tellInLine(switching.error)}
        </Text>
      )}
    </Group>
  );
}
