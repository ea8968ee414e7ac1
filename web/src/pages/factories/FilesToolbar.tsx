import { Button, Group, Text } from '@mantine/core';

/** A dialog of the editor of files. */
export type FilesDialog = 'plan' | 'new' | 'delete' | 'discard';

interface FilesToolbarProps {
  /** The revision on which the edits are based. */
  revision: number;
  /** The number of files that differ from it. */
  changed: number;
  /** Whether the selected file can be deleted. */
  deletable: boolean;
  open: (dialog: FilesDialog) => void;
}

/** The actions on the files, and the number of changed files. */
export function FilesToolbar({ revision, changed, deletable, open }: FilesToolbarProps) {
  return (
    <Group justify="space-between">
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={() => open('new')}>
          New file
        </Button>
        <Button size="xs" variant="default" disabled={!deletable} onClick={() => open('delete')}>
          Delete file
        </Button>
      </Group>
      <Group gap="xs">
        <Text size="sm" c="dimmed" role="status">
          {changed === 0 ? `Revision ${revision}` : `${changed} changed since revision ${revision}`}
        </Text>
        <Button size="xs" variant="default" disabled={changed === 0} onClick={() => open('discard')}>
          Discard
        </Button>
        <Button size="xs" disabled={changed === 0} onClick={() => open('plan')}>
          Plan…
        </Button>
      </Group>
    </Group>
  );
}
