import { Stack, Text } from '@mantine/core';
import { logOfConnection } from '../../deliverylog.ts';
import { RecentDeliveries } from '../deliveries/RecentDeliveries.tsx';
import { Waiting } from '../webhooks/SendTest.tsx';

/** What the forge has sent to a connection, and why an event started no run. */
export function ConnectionDeliveries({ uid }: { uid: string }) {
  return (
    <RecentDeliveries
      log={logOfConnection(uid)}
      none={
        <Stack py="md" gap="sm" maw={760}>
          <div>
            <Waiting />
          </div>
          <Text size="sm" c="dimmed">
            On the forge, add a webhook with the ingress URL and the secret. Its content type is application/json. An event starts runs of
            each factory that works on its repository. If you do not have the secret, rotate it.
          </Text>
        </Stack>
      }
      missing={
        <Text size="sm" c="dimmed">
          An earlier version of the server has made the connection, so it takes no events yet. Rotate its secret: then it does.
        </Text>
      }
    />
  );
}
