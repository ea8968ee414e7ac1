import { Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { AppliedTime } from '../../ui/AppliedInput.tsx';
import { SearchBox } from '../../ui/SearchBox.tsx';
import type { Narrowing } from './outcome.ts';

interface LogFiltersProps {
  value: Narrowing;
  change: (value: Narrowing) => void;
  /** The buttons beside the filters. */
  children: ReactNode;
}

/** Searches the payloads of the log, and limits its dates. */
export function LogFilters({ value, change, children }: LogFiltersProps) {
  const set = (name: keyof Narrowing, next: string): void => {
    const { [name]: _, ...rest } = value;
    change(next ? { ...rest, [name]: next } : rest);
  };
  return (
    <Group gap="xs" align="end" role="search" aria-label="Deliveries">
      <SearchBox
        size="xs"
        flex="1 1 220px"
        label="Search"
        placeholder="Text in the payload"
        value={value.search ?? ''}
        change={(next) => set('search', next)}
      />
      <AppliedTime size="xs" label="Received after" value={value.received_after ?? ''} apply={(next) => set('received_after', next)} />
      <AppliedTime size="xs" label="Received before" value={value.received_before ?? ''} apply={(next) => set('received_before', next)} />
      {children}
    </Group>
  );
}
