import { Text } from '@mantine/core';
import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Confirm } from './Confirm.tsx';

export interface DeleteDialogProps {
  /** The kind of resource, such as "webhook". */
  noun: string;
  name: string;
  /** The verb, if it is not "Delete", such as "Revoke". */
  verb?: string;
  /** The other effects of the deletion. */
  children: ReactNode;
  /** Deletes it. The dialog shows an error and stays open. */
  remove: () => Promise<unknown>;
  /** The queries that the deletion changes. */
  stale?: QueryKey;
  /** Called after the deletion, for example to leave the page. */
  done?: () => Promise<unknown>;
  /** Whether the user can undo the deletion. */
  undoable?: boolean;
  /** Whether it cannot be deleted. children says why. */
  blocked?: boolean;
  close: () => void;
}

/** Asks before a deletion, with the same words everywhere. */
export function DeleteDialog({ noun, name, verb = 'Delete', children, remove, stale, done, undoable, blocked, close }: DeleteDialogProps) {
  const queries = useQueryClient();
  const act = async (): Promise<void> => {
    await remove();
    if (stale) {
      await queries.invalidateQueries({ queryKey: stale });
    }
    await done?.();
  };
  return (
    <Confirm title={`${verb} ${noun} ${name}?`} action={`${verb} ${noun}`} blocked={blocked} act={act} close={close}>
      <Text>{children}</Text>
      {!undoable && !blocked && <Text mt="xs">You cannot undo this.</Text>}
    </Confirm>
  );
}
