import { Text, TextInput } from '@mantine/core';
import type { EventEndpoint } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { fromLocal } from '../../ui/AppliedInput.tsx';
import { FormDialog } from '../../ui/FormDialog.tsx';

/** Sends all messages since a time once more, such as after the receiver has lost some. */
export default function ReplaySince({ endpoint, close }: { endpoint: EventEndpoint; close: () => void }) {
  const queries = useQueryClient();
  const [since, setSince] = useState('');
  const [messages, setMessages] = useState<number>();
  const submit = async (): Promise<void> => {
    setMessages((await client.eventEndpoints.replay(endpoint.uid, { since: fromLocal(since) })).messages);
    await queries.invalidateQueries({ queryKey: ['endpoints'] });
  };
  return (
    <FormDialog
      title="Replay messages"
      close={close}
      action="Replay"
      submit={submit}
      done={() => {}} // it says how many
      incomplete={fromLocal(since) === '' || messages !== undefined}
    >
      <Text size="sm">Each message has the same id as before, so that the receiver can recognise what it knows.</Text>
      <TextInput
        label="Since"
        description="In the time zone of this browser. Messages are kept for 7 days."
        type="datetime-local"
        data-autofocus
        value={since}
        onChange={(event) => {
          setSince(event.currentTarget.value);
          setMessages(undefined);
        }}
      />
      {messages !== undefined && <Text role="status">{messages === 1 ? '1 message waits' : `${messages} messages wait`} to be sent.</Text>}
    </FormDialog>
  );
}
