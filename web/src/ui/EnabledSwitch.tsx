import { Group, Switch, Text } from '@mantine/core';
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { describeInLine } from './Failure.tsx';

export interface EnabledSwitchProps {
  /** The name of the resource, for screen readers. */
  name: string;
  on: boolean;
  disabled: boolean;
  /** The tooltip: why the switch is disabled, or an extra effect. */
  title: string | undefined;
  change: (on: boolean) => Promise<unknown>;
  /** The queries that the switch changes. */
  stale: QueryKey[];
  /** Hides the label, for a table column that has it. */
  bare?: boolean;
  /** A status beside the switch, such as the reason why an enabled resource does nothing. */
  children?: ReactNode;
}

/** Enables and disables a resource. An error appears beside the switch. */
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
          {describeInLine(switching.error)}
        </Text>
      )}
    </Group>
  );
}
