import { Button, Group, Text } from '@mantine/core';
import { type Delivery, type ListDeliveriesQuery, NotFoundError } from '@penstock/sdk';
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { DeliveryLog } from '../../deliverylog.ts';
import { formatAbsolute, formatCount } from '../../format.ts';
import { BulkConfirm } from '../../ui/BulkConfirm.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { isReplayable } from './outcome.ts';

/** The most deliveries of one replay, and the most pages that are read for them. A page of a search can be empty. */
const [mostDeliveries, mostPages] = [200, 20];

interface BulkReplayProps {
  log: DeliveryLog;
  /** The selected deliveries. */
  selected: Delivery[];
  /** The filter of the log, if one is set. */
  filter: ListDeliveriesQuery | undefined;
  /** Clears the selection. */
  clear: () => void;
}

/** Replays the selected deliveries, or all that match the filter, oldest first. */
export function BulkReplay({ log, selected, filter, clear }: BulkReplayProps) {
  const [asked, ask] = useState<Delivery[]>();
  const [result, setResult] = useState<string>();
  const counts = useRef({ replayed: 0, runs: 0, gone: 0 });
  const begin = (deliveries: Delivery[]): void => {
    counts.current = { replayed: 0, runs: 0, gone: 0 };
    setResult(undefined);
    ask(deliveries.toSorted((a, b) => a.received_at.localeCompare(b.received_at)));
  };
  const finding = useMutation({
    mutationFn: () => matching(log, filter ?? {}),
    onSuccess: (found) => (found.length > 0 ? begin(found) : setResult('No delivery to replay.')),
  });
  const replay = async ({ delivery_id }: Delivery): Promise<void> => {
    try {
      const { runs } = await log.replay(delivery_id);
      counts.current.replayed++;
      counts.current.runs += runs.length;
    } catch (error) {
      if (!(error instanceof NotFoundError)) {
        throw error;
      }
      counts.current.gone++;
    }
  };
  const done = (): void => {
    const { replayed, runs, gone } = counts.current;
    const lost = gone > 0 ? ` The payload of ${formatCount(gone, 'delivery', 'deliveries')} is no longer stored.` : '';
    setResult(
      `${formatCount(replayed, 'delivery', 'deliveries')} replayed, ${runs === 0 ? 'no run' : formatCount(runs, 'run')} started.${lost}`,
    );
    clear();
  };
  return (
    <Group role="group" aria-label="Replay deliveries" gap="sm" mih={30}>
      {selected.length > 0 && (
        <>
          <Text size="sm">{selected.length} selected</Text>
          <Button size="xs" variant="default" onClick={() => begin(selected)}>
            Replay selected
          </Button>
          <Button size="xs" variant="subtle" onClick={clear}>
            Clear selection
          </Button>
        </>
      )}
      {filter && selected.length === 0 && (
        <Button
          size="xs"
          variant="default"
          loading={finding.isPending}
          title="Replays every delivery that the filter shows, also those on other pages. Replays are left out."
          onClick={() => finding.mutate()}
        >
          Replay all that match
        </Button>
      )}
      {result && (
        <Text size="sm" role="status">
          {result}
        </Text>
      )}
      <Failure error={finding.error} />
      {asked && (
        <BulkConfirm
          action={`Replay ${formatCount(asked.length, 'delivery', 'deliveries')}`}
          warning={`The current automations evaluate each again, oldest first.${asked.length === mostDeliveries ? ` These are the newest ${mostDeliveries} that match.` : ''}`}
          items={asked}
          keyOf={({ delivery_id }) => delivery_id}
          labelOf={({ received_at, event_type, summary }) => [formatAbsolute(received_at), event_type, summary].filter(Boolean).join(' · ')}
          act={replay}
          together={1}
          stale={['deliveries', log.uid]}
          done={done}
          close={() => ask(undefined)}
        />
      )}
    </Group>
  );
}

/** The newest deliveries of a filter that can be replayed and are no replays themselves. */
async function matching(log: DeliveryLog, filter: ListDeliveriesQuery): Promise<Delivery[]> {
  const found: Delivery[] = [];
  let pages = 0;
  for await (const page of (await log.list({ ...filter, limit: 200 })).pages()) {
    found.push(...page.items.filter((one) => isReplayable(one) && !one.replay_of));
    pages++;
    if (found.length >= mostDeliveries || pages === mostPages) {
      break;
    }
  }
  return found.slice(0, mostDeliveries);
}
