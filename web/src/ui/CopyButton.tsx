import { ActionIcon } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Icon } from './Icon.tsx';

/** Copies a text. Its label tells screen readers when the text was copied. */
export function CopyButton({ value, label }: { value: string; label: string }) {
  const { copy, copied } = useClipboard({ timeout: 1500 });
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="sm"
      c="dimmed"
      style={{ verticalAlign: 'middle' }}
      title={label}
      aria-label={copied ? 'Copied' : label}
      onClick={() => copy(value)}
    >
      <Icon name={copied ? 'check' : 'copy'} />
    </ActionIcon>
  );
}
