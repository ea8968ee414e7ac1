import { Text } from '@mantine/core';
import type { EventEndpoint } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { client } from '../../api.ts';
import { RotateDialog } from '../../ui/RotateDialog.tsx';
import { nameOf } from './endpoint.ts';
import { RevealSecret } from './RevealSecret.tsx';

/** Replaces the secret of an endpoint and shows the new one once. */
export default function RotateEndpoint({ endpoint, close }: { endpoint: EventEndpoint; close: () => void }) {
  const queries = useQueryClient();
  const title = `Rotate the secret of ${nameOf(endpoint)}`;
  const rotate = async (seconds: number): Promise<EventEndpoint> => {
    const next = await client.eventEndpoints.rotateSecret(endpoint.uid, { overlap_seconds: seconds });
    await queries.invalidateQueries({ queryKey: ['endpoints'] });
    return next;
  };
  return (
    <RotateDialog
      title={title}
      close={close}
      rotate={rotate}
      shown={(rotated) => <RevealSecret endpoint={rotated} title={title} rotated close={close} />}
    >
      <Text size="sm">
        While both are valid, each message has a signature of both. Replace the secret of the receiver within this time.
      </Text>
    </RotateDialog>
  );
}
