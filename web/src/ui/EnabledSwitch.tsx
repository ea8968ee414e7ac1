import { Group, Switch, Text } from '@mantine/core';
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { tellInLine } from './Failure.tsx';

export interface EnabledSwitchProps {
  /** What is switched: to a screen reader the switch of a row names it. */
  name: string;
  on: boolean;
  disabled: boolean;
  /** Why it is disabled, or what it does beside the obvious. */
  title: string | undefined;
  change: (on: boolean) => Promise<unknown>;
  /** The queries that are out of date after a change. */
  stale: QueryKey[];
  /** Without a label, for a table whose column has it. */
  bare?: boolean;
  /** What the switch cannot say: why something that is on does nothing. */
  children?: ReactNode;
}

/** Enables and disables something, and says whether it is. What went wrong stands beside it. */
export function EnabledSwitch({ name, on, disabled, title, change, stale, bare = false, children }: EnabledSwitchProps) {
  const queries = useQueryClient();
  const switching = useMutation({
    mutationFn: change,
    onSettled: () => Promise.all(stale.map((queryKey) => queries.invalidateQueries({ queryKey }))),
  });
  return (
    <Group gap="xs" wrap="nowrap">
      <Switch
        size="sm"
        checked={switching.isPending ? switching.variables : on}
        disabled={disabled}
        title={title ?? ''}
        {...(bare ? { 'aria-label': `${name} enabled` } : { label: 'Enabled' })}
        onChange={(event) => switching.mutate(event.currentTarget.checked)}
      />
      {children}
      {switching.error && (
        <Text size="xs" c="var(--bad)" role="alert" className="plain">
          {tellInLine(switching.error)}
        </Text>
      )}
    </Group>
  );
}
