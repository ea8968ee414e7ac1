import { Button, Group, Text, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { Dispatch, FormEvent, ReactNode, SetStateAction } from 'react';
import { Failure } from './Failure.tsx';
import classes from './MessageForm.module.css';

export interface MessageFormProps {
  label: string;
  placeholder: string;
  hint: ReactNode;
  action: string;
  send: (text: string) => Promise<void>;
  /** The draft of the message. */
  message: string;
  setMessage: Dispatch<SetStateAction<string>>;
  /** The height of the empty field. Default: 2 lines. */
  lines?: number;
}

/** A field for a message. It is empty as soon as the message is sent. */
export function MessageForm({ label, placeholder, hint, action, send, message, setMessage, lines = 2 }: MessageFormProps) {
  const sending = useMutation({
    mutationFn: send,
    onMutate: () => setMessage(''),
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
        aria-label={label}
        placeholder={placeholder}
        autosize
        minRows={lines}
        maxRows={8}
        value={message}
        onChange={(event) => setMessage(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && submit()}
      />
      <Group justify="space-between" gap="xs">
        <Text size="sm" component="div" className={classes.hint ?? ''}>
          {hint}
        </Text>
        <Button type="submit" size="xs" loading={sending.isPending} disabled={message.trim() === ''}>
          {action}
        </Button>
      </Group>
      <Failure error={sending.error} />
    </form>
  );
}
