import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Code } from './Code.tsx';
import { Dialog } from './Dialog.tsx';

/** Says that something is shown only once. */
export function OnlyOnce({ children }: { children: ReactNode }) {
  return (
    <Alert variant="default" p="xs" role="status" styles={{ root: { borderColor: 'var(--warn)' } }}>
      {children}
    </Alert>
  );
}

/** A value to copy, below its name. */
export function Named({ name, children }: { name: string; children: string }) {
  return (
    <div>
      <Text size="sm" fw={600}>
        {name}
      </Text>
      <Code label={name}>{children}</Code>
    </div>
  );
}

interface RevealDialogProps {
  title: string;
  /** Whether it has a secret to copy. */
  secret: boolean;
  /** The link to what was created. */
  next?: ReactNode;
  close: () => void;
  children: ReactNode;
}

/** Shows what the server does not show again. Escape does not close it. */
export function RevealDialog({ title, secret, next, close, children }: RevealDialogProps) {
  return (
    <Dialog title={title} close={close} size="lg" stays>
      <Stack gap="sm">
        {children}
        <Group justify="flex-end">
          {next}
          <Button onClick={close}>{secret ? 'I have copied it' : 'Close'}</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
