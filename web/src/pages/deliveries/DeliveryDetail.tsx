import { Anchor, Button, Group, Stack, Text, Title } from '@mantine/core';
import type { Delivery } from '@penstock/sdk';
import { Link } from '@tanstack/react-router';
import { formatAbsolute, formatNumber } from '../../format.ts';
import { Fact } from '../run/Facts.tsx';
import classes from './DeliveryDetail.module.css';
import { Explanation } from './Explanation.tsx';
import { Matches } from './Matches.tsx';
import { identityOf, isReplayable, reasonOf } from './outcome.ts';
import { Payload } from './Payload.tsx';
import { Replay } from './Replay.tsx';

/** Shows a delivery. Its headers, payload and names are untrusted, and are shown as text only. */
export function DeliveryDetail({ delivery, factory, linked = false }: { delivery: Delivery; factory: string; linked?: boolean }) {
  const accepted = delivery.outcome === 'accepted';
  const at = (did: string) => ({ uid: factory, wuid: delivery.webhook_uid, did }) as never;
  const to = '/factory/$uid/webhooks/$wuid/deliveries/$did' as const;
  const reason = reasonOf(delivery);
  return (
    <Stack gap="md">
      {reason && <Text size="sm">{reason}</Text>}
      <Explanation delivery={delivery} />
      <dl className={classes.facts}>
        <Fact name="Event">{delivery.event_type}</Fact>
        <Fact name="Received">{formatAbsolute(delivery.received_at)}</Fact>
        <Fact name="From">{delivery.client_ip}</Fact>
        <Fact name="ID">
          <span className="mono">{delivery.delivery_id}</span>
        </Fact>
        <Fact name="HTTP status">{String(delivery.http_status)}</Fact>
        <Fact name="Size">{formatNumber(delivery.size)} B</Fact>
        <Fact name="Delivery ID">{identityOf(delivery)}</Fact>
        <Fact name="SHA-256">{delivery.payload_sha256 && <span className="mono">{delivery.payload_sha256}</span>}</Fact>
        <Fact name="Duplicate of">
          {delivery.duplicate_of && (
            <Anchor component={Link} to={to} params={at(delivery.duplicate_of)} inherit>
              {delivery.duplicate_of}
            </Anchor>
          )}
        </Fact>
        <Fact name="Replay of">
          {delivery.replay_of && (
            <Anchor component={Link} to={to} params={at(delivery.replay_of)} inherit>
              {delivery.replay_of}
            </Anchor>
          )}
        </Fact>
      </dl>
      {isReplayable(delivery) && (
        <section>
          <Title order={3} size="h6">
            Automations
          </Title>
          <Matches delivery={delivery} factory={factory} />
        </section>
      )}
      <Headers headers={delivery.headers} />
      {accepted && <Payload delivery={delivery} factory={factory} />}
      <Group gap="xs">
        {isReplayable(delivery) && <Replay delivery={delivery} factory={factory} />}
        {linked && (
          <Button component={Link} to={to} params={at(delivery.delivery_id)} variant="subtle" size="xs">
            Open this delivery
          </Button>
        )}
      </Group>
    </Stack>
  );
}

function Headers({ headers }: { headers: Record<string, string> }) {
  const entries = Object.entries(headers);
  if (entries.length === 0) {
    return null;
  }
  return (
    <section>
      <Title order={3} size="h6" mb={4}>
        Headers
      </Title>
      <dl className={classes.headers}>
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
