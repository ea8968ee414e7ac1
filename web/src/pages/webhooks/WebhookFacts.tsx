import { SimpleGrid, Text } from '@mantine/core';
import type { Webhook } from '@penstock/sdk';
import { Code } from '../../ui/Code.tsx';
import { Time } from '../../ui/Time.tsx';
import { Fact } from '../run/Facts.tsx';
import { Counts } from './Counts.tsx';
import { authenticationOf } from './state.ts';
import { usePreset } from './usePreset.ts';
import classes from './WebhookFacts.module.css';

/** The facts of a webhook, without its secret. */
export function WebhookFacts({ webhook }: { webhook: Webhook }) {
  const { preset } = usePreset(webhook.signature_scheme);
  const id = webhook.delivery_id_header ?? preset?.forms[0]?.id_header;
  return (
    <section aria-label="About the webhook">
      <Code label="URL">{webhook.ingress_url}</Code>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xl" verticalSpacing={0} mt="xs">
        <dl className={classes.facts}>
          <Fact name="Authentication">{authenticationOf(webhook, preset?.sender)}</Fact>
          <Fact name="Delivery ID">
            {id
              ? `the header ${id}`
              : preset?.forms[0]?.id_body
                ? `${preset.forms[0].id_body} in the body`
                : 'X-Penstock-Delivery-Id, or the hash of the body'}
          </Fact>
          <Fact name="Replay guard">
            {webhook.replay_guard ? 'the same signed bytes with another delivery ID are a duplicate' : undefined}
          </Fact>
          <Fact name="Equal bodies">
            {webhook.dedup_body_window === undefined ? undefined : `are duplicates for ${webhook.dedup_body_window}`}
          </Fact>
          <Fact name="Setup requests">{webhook.setup_pings ? 'get 200 until the first verified delivery' : undefined}</Fact>
        </dl>
        <dl className={classes.facts}>
          <Fact name="Secret">
            {webhook.secret_name}
            {webhook.secret_refresh === 'immediate' ? ' (a new value applies at once)' : ''}
            {webhook.outdated_secret ? ' (its new value applies with the next change to the factory)' : ''}
          </Fact>
          <Secrets webhook={webhook} />
          <Fact name="Last 24 hours">
            <Counts counts={webhook.counts} />
          </Fact>
          <Fact name="Last delivery">
            <Time at={webhook.last_delivery_at} />
          </Fact>
        </dl>
      </SimpleGrid>
    </section>
  );
}

/** The valid secrets and their last use. If an old one is still in use, a sender was not updated. */
function Secrets({ webhook }: { webhook: Webhook }) {
  return webhook.secrets.map((secret) => (
    <Fact key={secret.index} name={secret.index === 0 ? 'Last used' : 'Old secret'}>
      {secret.last_used_at ? <Time at={secret.last_used_at} /> : 'never'}
      {secret.expires_at && (
        <Text component="span" inherit c="dimmed">
          , expires <Time at={secret.expires_at} />
        </Text>
      )}
    </Fact>
  ));
}
