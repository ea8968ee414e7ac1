import { Button, Group, Text, Textarea } from '@mantine/core';
import type { RunItem } from '@penstock/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Dispatch, FormEvent, SetStateAction } from 'react';
import { client } from '../../api.ts';
import { Failure } from '../../ui/Failure.tsx';
import classes from './FollowUp.module.css';

const hints: Record<string, string> = {
  QUEUED: 'The agent gets it after its first turn.',
  CLAIMED: 'The agent gets it after its first turn.',
  PENDING: 'The agent gets it after its first turn.',
  INPROGRESS: 'The agent gets it at its next turn.',
  BLOCKED: 'Your answer lets the agent continue.',
};

interface FollowUpProps {
  run: RunItem;
  /** The draft of the message. */
  message: string;
  setMessage: Dispatch<SetStateAction<string>>;
}

/** Sends a message to a run: steers it, answers it, or resumes it. */
export function FollowUp({ run, message, setMessage }: FollowUpProps) {
  const queries = useQueryClient();
  const sending = useMutation({
    mutationFn: (text: string) => client.runs.followUp(run.run_id, { message: text }),
    onSuccess: async (_, text) => {
      setMessage((now) => (now === text ? '' : now));
      await queries.invalidateQueries({ queryKey: ['run', run.run_id] });
    },
  });
  const submit = (event?: FormEvent): void => {
    event?.preventDefault();
    if (message.trim() && !sending.isPending) {
      sending.mutate(message);
    }
  };
  return (
    <form onSubmit={submit} className={classes.form}>
      <Textarea
        aria-label="Follow-up"
        placeholder="Message the agent"
        autosize
        minRows={2}
        maxRows={8}
        value={message}
        onChange={(event) => setMessage(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && submit()}
      />
      <Group justify="space-between" gap="xs">
        <Text size="sm" c="dimmed">
          {hints[run.state] ?? 'Resumes this run with its full context.'}
        </Text>
        <Button type="submit" size="xs" loading={sending.isPending} disabled={message.trim() === ''}>
          Send
        </Button>
      </Group>
      <Failure error={sending.error} />
    </form>
  );
}
