import type { EventEndpoint } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { type EndpointDraft, EndpointFields, requestOf } from './EndpointFields.tsx';

/** Changes an endpoint. */
export default function EditEndpoint({ endpoint, close }: { endpoint: EventEndpoint; close: () => void }) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState<EndpointDraft>({
    url: '',
    events: endpoint.events,
    factories: endpoint.factory_uids ?? [],
    description: endpoint.description ?? '',
  });
  const submit = async (): Promise<void> => {
    const url = draft.url.trim();
    await client.eventEndpoints.update(endpoint.uid, { ...requestOf(draft), ...(url ? { url } : {}) });
    await queries.invalidateQueries({ queryKey: ['endpoints'] });
  };
  return (
    <FormDialog title="Edit event endpoint" close={close} action="Save" submit={submit} size="lg">
      <EndpointFields draft={draft} set={(change) => setDraft((before) => ({ ...before, ...change }))} known />
    </FormDialog>
  );
}
