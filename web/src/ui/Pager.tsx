import { Button, Group } from '@mantine/core';
import { useRef } from 'react';

export interface PagerProps {
  /** Of the page that is shown; undefined for the first one. */
  cursor: string | undefined;
  /** Of the page after it; undefined on the last one. */
  next: string | undefined;
  /** Shows the page of a cursor; undefined is the first one. */
  go: (cursor: string | undefined) => void;
}

/**
 * Steps through keyset pages. A cursor says after which row a page begins, so what is new does not push rows from page to page. The way
 * is remembered while the list is open, and the browser's own buttons go it, too; after a reload the way back leads to the first.
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
