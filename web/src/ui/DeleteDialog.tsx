import { Text } from '@mantine/core';
import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Confirm } from './Confirm.tsx';

export interface DeleteDialogProps {
  /** What kind of thing it is, such as "webhook". */
  noun: string;
  name: string;
  /** "Revoke", where that is what it is called. */
  verb?: string;
  /** What else is lost or stops, and what stays. */
  children: ReactNode;
  /** Deletes it. What it throws is shown, and the dialog stays. */
  remove: () => Promise<unknown>;
  /** The queries that are out of date once it is deleted. */
  stale?: QueryKey;
  /** Comes after it was deleted, such as leaving its page. */
  done?: () => Promise<unknown>;
  /** Whether it can be brought back. */
  undoable?: boolean;
  close: () => void;
}

/** Asks before anything is deleted, everywhere in the same words. */
export function DeleteDialog({ noun, name, verb = 'Delete', children, remove, stale, done, undoable, close }: DeleteDialogProps) {
  const queries = useQueryClient();
  const act = async (): Promise<void> => {
    await remove();
    if (stale) {
      await queries.invalidateQueries({ queryKey: stale });
    }
    await done?.();
  };
  return (
    <Confirm title={`${verb} ${noun} ${name}?`} action={`${verb} ${noun}`} act={act} close={close}>
      <Text>{children}</Text>
      {!undoable && <Text mt="xs">You cannot undo this.</Text>}
    </Confirm>
  );
}
