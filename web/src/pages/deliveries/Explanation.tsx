import { Text } from '@mantine/core';
import type { Delivery } from '@penstock/sdk';

/** Why a delivery was rejected, as its sender got it, and what the owner of the webhook could change. */
export function Explanation({ delivery: { detail, advice } }: { delivery: Pick<Delivery, 'detail' | 'advice'> }) {
  return (
    <>
      {detail && <Text size="sm">{detail}</Text>}
      {advice && (
        <Text size="sm" c="dimmed">
          {advice}
        </Text>
      )}
    </>
  );
}
