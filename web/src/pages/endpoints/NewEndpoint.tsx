import { Select } from '@mantine/core';
import type { EventEndpoint } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client, sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { type EndpointDraft, EndpointFields, requestOf } from './EndpointFields.tsx';
import { RevealSecret } from './RevealSecret.tsx';
import { type SlackAppDraft, SlackAppFields, slackAppRequestOf } from './SlackAppFields.tsx';

/** Creates an endpoint and shows its secret once. */
export default function NewEndpoint({ close }: { close: () => void }) {
  const queries = useQueryClient();
  const { data: session } = useQuery(sessionQuery);
  const [format, setFormat] = useState<'standard' | 'slack' | 'slack_app'>('standard');
  const [app, setApp] = useState<SlackAppDraft>({ channel: '', token: '', signing: '', users: [] });
  const [draft, setDraft] = useState<EndpointDraft>({ url: '', events: [], factories: [], description: '' });
  const [created, setCreated] = useState<EventEndpoint>();
  const reads = may(session?.scopes, 'runs:read');
  const isApp = format === 'slack_app';
  if (created) {
    return <RevealSecret endpoint={created} title="The new event endpoint" close={close} />;
  }
  const submit = async (): Promise<void> => {
    const url = draft.url.trim();
    const made = await client.eventEndpoints.create({
      ...requestOf(draft),
      ...(url ? { url } : {}),
      format,
      ...(isApp ? slackAppRequestOf(app) : {}),
    });
    await queries.invalidateQueries({ queryKey: ['endpoints'] });
    setCreated(made);
  };
  return (
    <FormDialog
      title="New event endpoint"
      close={close}
      action="Create"
      submit={submit}
      done={() => {}} // the secret is shown
      incomplete={isApp ? app.channel.trim() === '' || app.token.trim() === '' : draft.url.trim() === ''}
      size="lg"
    >
      <EndpointFields draft={draft} set={(change) => setDraft((before) => ({ ...before, ...change }))} api={isApp} />
      <Select
        label="Format"
        description={
          format === 'standard'
            ? 'Signed as Standard Webhooks describe. The format cannot change later.'
            : 'The channel sees titles of runs. The format cannot change later.'
        }
        data={[
          { value: 'standard', label: 'JSON, for programs' },
          { value: 'slack', label: 'Text, for a channel of Slack or Mattermost', disabled: !reads },
          { value: 'slack_app', label: 'Slack app, with which people can answer', disabled: !reads },
        ]}
        allowDeselect={false}
        value={format}
        onChange={(value) => setFormat(value as typeof format)}
      />
      {isApp && (
        <SlackAppFields
          draft={app}
          set={(change) => setApp((before) => ({ ...before, ...change }))}
          steers={may(session?.scopes, 'runs:write')}
        />
      )}
    </FormDialog>
  );
}
