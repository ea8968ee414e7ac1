import { Button, Group } from '@mantine/core';

export interface RowAction {
  /** The word on the button. */
  label: string;
  act: () => void;
  disabled?: boolean;
}

/** The actions of a row. For screen readers, each button also names the row. */
export function RowActions({ of, actions }: { of: string; actions: RowAction[] }) {
  return (
    <Group gap={4} justify="flex-end" wrap="nowrap">
      {actions.map(({ label, act, disabled }) => (
        <Button
          key={label}
          flex="none"
          size="compact-xs"
          variant="default"
          aria-label={`${label} ${of}`}
          disabled={disabled ?? false}
          onClick={act}
        >
          {label}
        </Button>
      ))}
    </Group>
  );
}
