import { Anchor, Button, Text } from '@mantine/core';
import type { Delivery } from '@penstock/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { DeliveryLog } from '../../deliverylog.ts';
import { formatCount } from '../../format.ts';
import { Failure } from '../../ui/Failure.tsx';

interface ReplayProps {
  delivery: Delivery;
  log: DeliveryLog;
  /** The name of the delivery for screen readers, in a list of several. */
  of?: string;
}

/** Replays a delivery with the current automations and shows the result. */
export function Replay({ delivery, log, of }: ReplayProps) {
  const queries = useQueryClient();
  const replaying = useMutation({
    mutationFn: () => log.replay(delivery.delivery_id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['deliveries', log.uid] }),
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
          <Anchor component={Link} {...log.pageOf(made.delivery_id)} inherit>
            {made.delivery_id}
          </Anchor>
          : {made.runs.length === 0 ? 'no run' : formatCount(made.runs.length, 'run')} started.
        </Text>
      )}
      <Failure error={replaying.error} />
    </>
  );
}
