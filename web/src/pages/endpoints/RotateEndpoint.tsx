import { Select, Text } from '@mantine/core';
import type { EventEndpoint } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { overlaps } from '../webhooks/overlaps.ts';
import { nameOf } from './endpoint.ts';
import { RevealSecret } from './RevealSecret.tsx';

/** Replaces the secret of an endpoint and shows the new one once. */
export default function RotateEndpoint({ endpoint, close }: { endpoint: EventEndpoint; close: () => void }) {
  const queries = useQueryClient();
  const [overlap, setOverlap] = useState<string | null>('86400');
  const [rotated, setRotated] = useState<EventEndpoint>();
  const title = `Rotate the secret of ${nameOf(endpoint)}`;
  if (rotated) {
    return <RevealSecret endpoint={rotated} title={title} rotated close={close} />;
  }
  const submit = async (): Promise<void> => {
    const next = await client.eventEndpoints.rotateSecret(endpoint.uid, { overlap_seconds: Number(overlap) });
    await queries.invalidateQueries({ queryKey: ['endpoints'] });
    setRotated(next);
  };
  return (
    <FormDialog
      title={title}
      close={close}
      action="Rotate"
      submit={submit}
      done={() => {}} // the secret is shown
      size="lg"
    >
      <Text size="sm">
        While both are valid, each message has a signature of both. Replace the secret of the receiver within this time.
      </Text>
      <Select label="The old secret" data={overlaps} value={overlap} allowDeselect={false} onChange={setOverlap} />
    </FormDialog>
  );
}
