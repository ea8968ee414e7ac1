import { List, Text } from '@mantine/core';
import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Confirm } from './Confirm.tsx';

export interface BulkConfirmProps<T> {
  /** The label of the button, such as "Cancel 3 runs". The title asks it. */
  action: string;
  /** What will happen. */
  warning: string;
  items: readonly T[];
  keyOf: (item: T) => string;
  labelOf: (item: T) => string;
  act: (item: T) => Promise<unknown>;
  /** The number of concurrent requests. 1 keeps the order. */
  together: number;
  /** The queries that change. */
  stale: QueryKey;
  /** Called once every item is done. */
  done: () => void;
  close: () => void;
}

/** Confirms an action on several items. After an error, a second click continues with the items that are not done yet. */
export function BulkConfirm<T>({ action, warning, items, keyOf, labelOf, act, together, stale, done, close }: BulkConfirmProps<T>) {
  const queries = useQueryClient();
  const [left] = useState(() => [...items]);
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      try {
        await act(item);
      } catch (error) {
        left.unshift(item);
        throw error;
      }
    }
  };
  const actOnAll = async (): Promise<void> => {
    try {
      await Promise.all(Array.from({ length: together }, worker));
    } finally {
      await queries.invalidateQueries({ queryKey: stale });
    }
    done();
  };
  return (
    <Confirm title={`${action}?`} action={action} act={actOnAll} close={close}>
      <Text mb="xs">{warning}</Text>
      <List size="sm" mah={240} style={{ overflow: 'auto' }}>
        {items.map((item) => (
          <List.Item key={keyOf(item)}>{labelOf(item)}</List.Item>
        ))}
      </List>
    </Confirm>
  );
}
