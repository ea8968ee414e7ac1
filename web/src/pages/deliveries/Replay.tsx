import { Anchor, Button, Text } from '@mantine/core';
import type { Delivery } from '@penstock/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { client } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { Failure } from '../../ui/Failure.tsx';

interface ReplayProps {
  delivery: Delivery;
  factory: string;
  /** The name of the delivery for screen readers, in a list of several. */
  of?: string;
}

/** Replays a delivery with the current automations and shows the result. */
export function Replay({ delivery, factory, of }: ReplayProps) {
  const queries = useQueryClient();
  const replaying = useMutation({
    mutationFn: () => client.deliveries.replay(factory, delivery.webhook_uid, delivery.delivery_id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['deliveries', delivery.webhook_uid] }),
  });
  const made = replaying.data;
  return (
    <>
      <Button
        size="xs"
        variant="default"
        {...(of ? { 'aria-label': `Replay ${of}` } : {})}
        loading={replaying.isPending}
        title="Evaluates the delivery again with the current automations"
        onClick={() => replaying.mutate()}
      >
        Replay
      </Button>
      {made && (
        <Text size="sm" role="status">
          Replayed as{' '}
          <Anchor
            component={Link}
            to="/factory/$uid/webhooks/$wuid/deliveries/$did"
            params={{ uid: factory, wuid: made.webhook_uid, did: made.delivery_id } as never}
            inherit
          >
            {made.delivery_id}
          </Anchor>
          : {made.runs.length === 0 ? 'no run' : formatCount(made.runs.length, 'run')} started.
        </Text>
      )}
      <Failure error={replaying.error} />
    </>
  );
}
