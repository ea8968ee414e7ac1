import { SimpleGrid, Text, Textarea, TextInput } from '@mantine/core';
import type { DispatchRequest, Factory } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { client } from '../../api.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';

/** Dispatches work to a factory and goes to the run's page. */
export default function DispatchDialog({ factory, close }: { factory: Factory; close: () => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState({ prompt: '', title: '', ticket_ref: '', ticket_url: '' });
  const field = (name: keyof typeof draft) => ({
    value: draft[name],
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setDraft((before) => ({ ...before, [name]: value }));
    },
  });
  const submit = async (): Promise<void> => {
    const given = Object.entries(draft).filter(([name, value]) => name !== 'prompt' && value.trim() !== '');
    const request: DispatchRequest = { prompt: draft.prompt, ...Object.fromEntries(given.map(([name, value]) => [name, value.trim()])) };
    const { run_id } = await client.factories.runs.create(factory.uid, request);
    void queries.invalidateQueries({ queryKey: ['runs'] });
    await navigate({ to: '/runs/$runId', params: { runId: run_id } });
  };
  return (
    <FormDialog
      title={`Dispatch work to ${factory.name}`}
      close={close}
      action="Dispatch"
      submit={submit}
      incomplete={draft.prompt.trim() === ''}
      size="lg"
    >
      <Text size="sm" c="dimmed">
        The foreman gets the work and assigns it.
      </Text>
      <Textarea
        label="Prompt"
        placeholder="What should the factory do?"
        required
        data-autofocus
        autosize
        minRows={4}
        maxRows={14}
        {...field('prompt')}
      />
      <TextInput label="Title" placeholder="From the prompt" {...field('title')} />
      <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="sm">
        <TextInput label="Ticket" description="Its system and its ID" placeholder="linear:PAY-42" {...field('ticket_ref')} />
        <TextInput label="Ticket URL" description="A link to the ticket" placeholder="https://…" {...field('ticket_url')} />
      </SimpleGrid>
    </FormDialog>
  );
}
