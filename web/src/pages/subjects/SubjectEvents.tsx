import { Anchor, Text } from '@mantine/core';
import type { Subject, SubjectEvent } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { webhookQuery } from '../../queries.ts';
import { wordOfFate } from '../../states.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';

const wordOfKind: Record<string, string> = { call: 'API request', dispatch: 'Dispatch' };

interface SubjectEventsProps {
  /** undefined during the first request. */
  subject: Subject | undefined;
  events: SubjectEvent[] | undefined;
}

/** Events about a subject, newest first: when each came, what became of it and why, and its delivery. */
export function SubjectEvents({ subject, events }: SubjectEventsProps) {
  const { data: session } = useQuery(sessionQuery);
  const [factory, webhook] = [subject?.factory_uid, subject?.webhook_uid];
  const manages = may(session?.scopes, 'factories:manage') && factory !== undefined && webhook !== undefined;
  const { data: hook } = useQuery({ ...webhookQuery(factory ?? '', webhook ?? ''), staleTime: 60_000, enabled: manages });
  const columns: Column<SubjectEvent>[] = [
    { header: 'Time', width: 130, main: true, cell: ({ due_at }) => <Time at={due_at} /> },
    {
      header: 'What became of it',
      cell: ({ fate, reason, run_id }) => {
        const { word, tone } = wordOfFate(fate);
        return (
          <>
            <Status tone={tone}>{word}</Status>{' '}
            {run_id && (
              <Anchor component={Link} to="/runs/$runId" params={{ runId: run_id } as never} size="sm">
                View run
              </Anchor>
            )}
            {reason && (
              <Text size="xs" c="dimmed" className="plain">
                {reason}
              </Text>
            )}
          </>
        );
      },
    },
    {
      header: 'Webhook',
      width: 180,
      cell: () => (
        <div className="clip" title={hook?.name ?? webhook}>
          {hook?.name ?? webhook}
        </div>
      ),
    },
    {
      header: 'Delivery',
      width: 130,
      cell: ({ kind, delivery_id }) =>
        kind !== 'delivery' ? (
          (wordOfKind[kind] ?? kind)
        ) : manages && delivery_id ? (
          <Anchor
            component={Link}
            to="/factory/$uid/webhooks/$wuid/deliveries/$did"
            params={{ uid: factory, wuid: webhook, did: delivery_id } as never}
            inherit
          >
            View delivery
          </Anchor>
        ) : (
          <span className="mono clip" title={delivery_id}>
            {delivery_id}
          </span>
        ),
    },
  ];
  return (
    <DataTable
      label="Events"
      columns={columns}
      rows={events}
      rowKey={({ occurrence_uid }) => occurrence_uid}
      empty={
        <Text size="sm" c="dimmed">
          No events.
        </Text>
      }
      expected={3}
    />
  );
}
