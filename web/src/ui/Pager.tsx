import { Button, Group } from '@mantine/core';
import { useRef } from 'react';

export interface PagerProps {
  /** The cursor of the current page; undefined for the first one. */
  cursor: string | undefined;
  /** The cursor of the next page; undefined on the last one. */
  next: string | undefined;
  /** Goes to the page of a cursor; undefined is the first one. */
  go: (cursor: string | undefined) => void;
}

/**
 * Steps through keyset pages. A cursor marks the row before a page, so new rows do not move rows from page to page. The pager remembers previous
 * pages while the list is open. The browser's buttons also work. After a reload, going back leads to the first page.
 */
export function Pager({ cursor, next, go }: PagerProps) {
  const way = useRef<(string | undefined)[]>([undefined]);
  const at = way.current.indexOf(cursor);
  if (cursor === undefined && next === undefined) {
    return null;
  }
  return (
    <Group component="nav" aria-label="Pages" justify="flex-end" gap="xs">
      {cursor !== undefined && at !== 1 && (
        <Button size="xs" variant="subtle" onClick={() => go(undefined)}>
          Newest
        </Button>
      )}
      <Button size="xs" variant="default" disabled={cursor === undefined} onClick={() => go(way.current[at - 1])}>
        Newer
      </Button>
      <Button
        size="xs"
        variant="default"
        disabled={next === undefined}
        onClick={() => {
          way.current = [...(at < 0 ? [undefined, cursor] : way.current.slice(0, at + 1)), next];
          go(next);
        }}
      >
        Older
      </Button>
    </Group>
  );
}
