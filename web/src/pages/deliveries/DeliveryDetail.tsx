import { Anchor, Button, Group, Stack, Text, Title } from '@mantine/core';
import type { Delivery } from '@penstock/sdk';
import { Link } from '@tanstack/react-router';
import type { DeliveryLog } from '../../deliverylog.ts';
import { formatAbsolute, formatNumber } from '../../format.ts';
import { Fact } from '../run/Facts.tsx';
import classes from './DeliveryDetail.module.css';
import { Explanation } from './Explanation.tsx';
import { Matches } from './Matches.tsx';
import { identityOf, isReplayable, reasonOf } from './outcome.ts';
import { Payload } from './Payload.tsx';
import { Replay } from './Replay.tsx';

/** Shows a delivery. Its headers, payload and names are untrusted, and are shown as text only. */
export function DeliveryDetail({ delivery, log, linked = false }: { delivery: Delivery; log: DeliveryLog; linked?: boolean }) {
  const accepted = delivery.outcome === 'accepted';
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
            <Anchor component={Link} {...log.pageOf(delivery.duplicate_of)} inherit>
              {delivery.duplicate_of}
            </Anchor>
          )}
        </Fact>
        <Fact name="Replay of">
          {delivery.replay_of && (
            <Anchor component={Link} {...log.pageOf(delivery.replay_of)} inherit>
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
          <Matches delivery={delivery} log={log} />
        </section>
      )}
      <Headers headers={delivery.headers} />
      {accepted && <Payload delivery={delivery} log={log} />}
      <Group gap="xs">
        {isReplayable(delivery) && <Replay delivery={delivery} log={log} />}
        {linked && (
          <Button component={Link} {...log.pageOf(delivery.delivery_id)} variant="subtle" size="xs">
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
