import type { EventEndpoint } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { type EndpointDraft, EndpointFields, requestOf } from './EndpointFields.tsx';
import { type SlackAppDraft, SlackAppFields, slackAppRequestOf } from './SlackAppFields.tsx';

/** Changes an endpoint. */
export default function EditEndpoint({ endpoint, close }: { endpoint: EventEndpoint; close: () => void }) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState<EndpointDraft>({
    url: '',
    events: endpoint.events,
    factories: endpoint.factory_uids ?? [],
    description: endpoint.description ?? '',
  });
  const isApp = endpoint.format === 'slack_app';
  const before: SlackAppDraft = { channel: endpoint.channel ?? '', token: '', signing: '', users: endpoint.may_answer ?? [] };
  const [app, setApp] = useState(before);
  const { data: session } = useQuery(sessionQuery);
  const submit = async (): Promise<void> => {
    const url = draft.url.trim();
    await client.eventEndpoints.update(endpoint.uid, {
      ...requestOf(draft),
      ...(url ? { url } : {}),
      ...(isApp ? slackAppRequestOf(app, before) : {}),
    });
    await queries.invalidateQueries({ queryKey: ['endpoints'] });
  };
  return (
    <FormDialog title="Edit event endpoint" close={close} action="Save" submit={submit} size="lg">
      <EndpointFields draft={draft} set={(change) => setDraft((before) => ({ ...before, ...change }))} known />
      {isApp && (
        <SlackAppFields
          draft={app}
          set={(change) => setApp((now) => ({ ...now, ...change }))}
          steers={may(session?.scopes, 'runs:write')}
          known
        />
      )}
    </FormDialog>
  );
}
