import { Group, Skeleton, Switch, Title } from '@mantine/core';
import { type Delivery, NotFoundError } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { DeliveryLog } from '../../deliverylog.ts';
import { layOut } from '../../json.ts';
import { payloadQuery } from '../../queries.ts';
import { Code } from '../../ui/Code.tsx';
import { Download, type Saved } from '../../ui/Download.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { linesOf } from './lines.ts';
import { placesOf } from './sentence.ts';

/** Shows the payload: formatted, with the lines marked that filters did not match, or raw. */
export function Payload({ delivery, log }: { delivery: Delivery; log: DeliveryLog }) {
  const [raw, setRaw] = useState(false);
  const payload = useQuery(payloadQuery(log, delivery.delivery_id));
  const laidOut = payload.data === undefined ? '' : layOut(payload.data);
  const read = async (): Promise<Saved> => {
    const response = await log.payload(delivery.delivery_id);
    return { content: await response.blob(), name: `${delivery.delivery_id}.json` };
  };
  return (
    <section aria-label="Payload" aria-busy={payload.isPending}>
      <Group justify="space-between" mb={4}>
        <Title order={3} size="h6">
          Payload
        </Title>
        <Group gap="md">
          <Switch size="xs" label="Raw" checked={raw} onChange={(event) => setRaw(event.currentTarget.checked)} />
          <Download read={read} />
        </Group>
      </Group>
      {payload.isPending && <Skeleton height={120} />}
      {payload.data !== undefined && (
        <Code label="payload" marks={raw ? undefined : linesOf(laidOut, placesOf(delivery))}>
          {raw ? payload.data : laidOut}
        </Code>
      )}
      {payload.error instanceof NotFoundError ? 'The payload is no longer stored.' : <Failure error={payload.error} />}
    </section>
  );
}
