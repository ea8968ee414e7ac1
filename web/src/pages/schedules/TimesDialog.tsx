import { Anchor, Text } from '@mantine/core';
import type { Occurrence } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { formatAbsolute } from '../../format.ts';
import { live } from '../../live.ts';
import { occurrencesQuery } from '../../queries.ts';
import { wordOfFate } from '../../states.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Status } from '../../ui/Status.tsx';
import { Strip } from '../../ui/Strip.tsx';
import { Time } from '../../ui/Time.tsx';

const columns: Column<Occurrence>[] = [
  { header: 'Time', width: 150, main: true, cell: ({ due_at }) => <Time at={due_at} /> },
  {
    header: 'What became of it',
    cell: ({ fate, reason, run_ids }) => {
      const { word, tone } = wordOfFate(fate);
      return (
        <>
          <Status tone={tone}>{word}</Status>{' '}
          {run_ids.map((runId) => (
            <Anchor key={runId} component={Link} to="/runs/$runId" params={{ runId } as never} size="sm">
              View run
            </Anchor>
          ))}
          {reason && (
            <Text size="xs" c="dimmed" className="plain">
              {reason}
            </Text>
          )}
        </>
      );
    },
  },
];

/** The last 50 times of a schedule, or of an automation with clocks of its own, and what became of each. */
export function TimesDialog({ name, of, close }: { name: string; of: Parameters<typeof occurrencesQuery>[0]; close: () => void }) {
  const times = useQuery({ ...occurrencesQuery(of), ...live(10) });
  const list = times.data?.items;
  return (
    <Dialog title={`Times of ${name}`} size="lg" close={close}>
      <Failure error={times.error} retry={() => void times.refetch()} />
      {list && list.length > 0 && <Strip label={`Last ${list.length} times`} items={list.toReversed().map(barOf)} />}
      {(list || !times.error) && (
        <DataTable
          label="Times"
          columns={columns}
          rows={list}
          rowKey={({ occurrence_uid }) => occurrence_uid}
          empty={<Text p="sm">None has come yet.</Text>}
        />
      )}
    </Dialog>
  );
}

function barOf({ occurrence_uid, fate, reason, due_at, run_ids: [run] }: Occurrence) {
  const { word, tone } = wordOfFate(fate);
  return { key: occurrence_uid, run, tone, name: [word, formatAbsolute(due_at), reason].filter(Boolean).join(' · ') };
}
