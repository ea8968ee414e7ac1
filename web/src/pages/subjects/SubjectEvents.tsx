import { Anchor, Text } from '@mantine/core';
import type { Subject, SubjectEvent } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { sessionQuery } from '../../api.ts';
import { logOfConnection, logOfWebhook } from '../../deliverylog.ts';
import { may } from '../../layout/nav.ts';
import { forgesQuery, webhookQuery } from '../../queries.ts';
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
  const forges = useQuery({ ...forgesQuery, staleTime: 60_000, enabled: may(session?.scopes, 'forges:manage') && webhook !== undefined });
  const forge = forges.data?.forges.find(({ uid }) => uid === webhook);
  const manages = may(session?.scopes, 'factories:manage') && factory !== undefined && webhook !== undefined && !forge;
  const { data: hook, error } = useQuery({
    ...webhookQuery(factory ?? '', webhook ?? ''),
    staleTime: 60_000,
    enabled: manages && !forges.isLoading,
  });
  const name = forge?.name ?? hook?.name ?? webhook;
  const log = forge ? logOfConnection(forge.uid) : manages && !error ? logOfWebhook(factory, webhook) : undefined;
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
        <div className="clip" title={name}>
          {name}
        </div>
      ),
    },
    {
      header: 'Delivery',
      width: 130,
      cell: ({ kind, delivery_id }) =>
        kind !== 'delivery' ? (
          (wordOfKind[kind] ?? kind)
        ) : log && delivery_id ? (
          <Anchor component={Link} {...log.pageOf(delivery_id)} inherit>
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
