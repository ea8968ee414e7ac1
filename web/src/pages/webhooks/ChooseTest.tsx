import { Select, Text, Textarea, TextInput } from '@mantine/core';
import type { Webhook } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { automationSchemaQuery } from '../../queries.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { providersOf } from '../automations/triggers.ts';
import type { TestRequest } from './SendTest.tsx';

interface ChooseTestProps {
  webhook: Webhook;
  factory: string;
  send: (request: TestRequest) => Promise<unknown>;
  close: () => void;
}

/** Chooses what a test delivery has: the last real payload, a pasted one, or a sample of an event. */
export default function ChooseTest({ webhook, factory, send, close }: ChooseTestProps) {
  const [what, setWhat] = useState('last');
  const [text, setText] = useState('');
  const [name, setName] = useState('');
  const schema = useQuery(automationSchemaQuery);
  const named = webhook.signature_scheme === 'github';
  const events = providersOf(schema.data).find((one) => one.name === webhook.signature_scheme)?.events ?? [];
  const submit = async (): Promise<unknown> => {
    if (what === 'pasted') {
      JSON.parse(text); // its error says where the text is not JSON
      return send({ payload: text, ...(named && name.trim() ? { github_event: name.trim() } : {}) });
    }
    if (what !== 'last') {
      return send({ event: what });
    }
    const { items } = await client.deliveries.list(factory, webhook.uid, { limit: 1, outcome: 'accepted' });
    const [last] = items;
    if (!last) {
      throw new Error('The webhook has accepted no delivery yet.');
    }
    return send({ delivery_id: last.delivery_id });
  };
  return (
    <FormDialog
      title={`Test ${webhook.label}`}
      close={close}
      action="Send test"
      submit={submit}
      incomplete={what === 'pasted' && text.trim() === ''}
      error={schema.error}
      size="lg"
    >
      <Text size="sm">
        Penstock signs the delivery as its sender would, and sends it through all checks. Automations that match start runs.
      </Text>
      <Select
        label="Payload"
        allowDeselect={false}
        searchable
        data={[
          { value: 'last', label: 'The last accepted delivery' },
          { value: 'pasted', label: 'A payload to paste' },
          ...(events.length > 0 ? [{ group: 'A sample of an event', items: events.map((event) => ({ value: event, label: event })) }] : []),
        ]}
        value={what}
        onChange={(value) => setWhat(value ?? 'last')}
      />
      {what === 'pasted' && (
        <>
          {named && (
            <TextInput
              label="X-GitHub-Event"
              description="Without a name, the delivery is a ping, which fires no trigger of GitHub."
              placeholder="pull_request"
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
          )}
          <Textarea
            label="JSON"
            required
            autosize
            minRows={6}
            maxRows={16}
            spellCheck={false}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </>
      )}
    </FormDialog>
  );
}
