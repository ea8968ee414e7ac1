import { Button, Group, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Dialog } from './Dialog.tsx';
import { Failure } from './Failure.tsx';

export interface ConfirmProps {
  close: () => void;
  title: string;
  /** What will happen. */
  children: ReactNode;
  /** The label of the button, such as "Leave". */
  action: string;
  /** Whether it cannot be done. children says why. */
  blocked?: boolean | undefined;
  /** Called on confirmation. The dialog shows an error and stays open. */
  act: () => Promise<unknown>;
}

/** Asks for confirmation. The focus starts on the safe choice. To delete something, use {@link DeleteDialog}. */
export function Confirm({ close, title, children, action, blocked = false, act }: ConfirmProps) {
  const acting = useMutation({ mutationFn: act, onSuccess: close });
  return (
    <Dialog title={title} close={close}>
      <Stack>
        <div>{children}</div>
        <Failure error={acting.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            Go back
          </Button>
          <Button color="red.8" disabled={blocked} loading={acting.isPending} onClick={() => acting.mutate()}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
