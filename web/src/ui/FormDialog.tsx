import { Button, Group, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { Dialog } from './Dialog.tsx';
import { Failure } from './Failure.tsx';

export interface FormDialogProps {
  title: string;
  close: () => void;
  /** The label of the button, such as "Create". */
  action: string;
  /** Sends the form. The dialog shows an error and stays open. */
  submit: () => Promise<unknown>;
  /** Called after submit, instead of close. */
  done?: () => void;
  /** Whether a required field is empty. */
  incomplete?: boolean;
  /** An error from loading the choices. */
  error?: unknown;
  size?: string;
  /** The fields. A function gets the error of the last request, to show its parts at them. */
  children: ReactNode | ((error: unknown) => ReactNode);
}

/** A form in a dialog. */
export function FormDialog({ title, close, action, submit, done, incomplete, error, size, children }: FormDialogProps) {
  // Nothing keeps what was sent, which can be a secret.
  const sending = useMutation({ mutationFn: submit, onSuccess: done ?? close, gcTime: 0 });
  const send = (event: FormEvent): void => {
    event.preventDefault();
    sending.mutate();
  };
  return (
    <Dialog title={title} close={close} {...(size ? { size } : {})}>
      <form onSubmit={send}>
        <Stack gap="sm">
          {typeof children === 'function' ? children(sending.error) : children}
          <Failure error={sending.error ?? error} />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>
              Close
            </Button>
            <Button type="submit" loading={sending.isPending} disabled={incomplete ?? false}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
