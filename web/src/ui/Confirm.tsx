import { Button, Group, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Dialog } from './Dialog.tsx';
import { Failure } from './Failure.tsx';

export interface ConfirmProps {
  opened: boolean;
  close: () => void;
  title: string;
  /** What will happen, and what cannot be taken back. */
  children: ReactNode;
  /** The word on the button, such as "Delete". */
  action: string;
  /** Does it. What it throws is shown, and the dialog stays. */
  act: () => Promise<unknown>;
}

/** Asks before something that cannot be taken back. */
export function Confirm({ opened, close, title, children, action, act }: ConfirmProps) {
  const acting = useMutation({ mutationFn: act, onSuccess: close });
  const leave = (): void => {
    acting.reset();
    close();
  };
  if (!opened) {
    return null; // at once: what it asks about has no name any more
  }
  return (
    <Dialog title={title} close={leave}>
      <Stack>
        <div>{children}</div>
        <Failure error={acting.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={leave} data-autofocus>
            Keep
          </Button>
          <Button color="red.8" loading={acting.isPending} onClick={() => acting.mutate()}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
