import { Select } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { FormDialog } from './FormDialog.tsx';

/** How long a secret that was replaced stays valid, in seconds. */
const overlaps = [
  { value: '0', label: 'Stops at once' },
  { value: '900', label: 'Stays valid for 15 minutes' },
  { value: '3600', label: 'Stays valid for 1 hour' },
  { value: '86400', label: 'Stays valid for 1 day' },
  { value: '604800', label: 'Stays valid for 7 days' },
];

interface RotateDialogProps<T> {
  title: string;
  close: () => void;
  /** Replaces the secret, and keeps the old one valid for so many seconds. */
  rotate: (overlapSeconds: number) => Promise<T>;
  /** The dialog with the new secret, which replaces this one. */
  shown: (rotated: T) => ReactNode;
  /** What changes, and more fields. */
  children: ReactNode;
}

/** Replaces a secret and shows the new one once. */
export function RotateDialog<T>({ title, close, rotate, shown, children }: RotateDialogProps<T>) {
  const [overlap, setOverlap] = useState<string | null>('86400');
  const [rotated, setRotated] = useState<T>();
  if (rotated !== undefined) {
    return shown(rotated);
  }
  return (
    <FormDialog
      title={title}
      close={close}
      action="Rotate"
      submit={async () => setRotated(await rotate(Number(overlap)))}
      done={() => {}} // the secret is shown
      size="lg"
    >
      {children}
      <Select label="The old secret" data={overlaps} value={overlap} allowDeselect={false} onChange={setOverlap} />
    </FormDialog>
  );
}
