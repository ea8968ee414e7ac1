import { Button } from '@mantine/core';
import { useMemo, useState } from 'react';
import classes from './DiffView.module.css';
import { diffLines } from './diff.ts';

/** A changed file. Without old_text, it is new. */
export interface FileChange {
  path: string;
  old_text: string | undefined;
  new_text: string;
}

/** The number of lines that are shown at first. */
const first = 60;

const signs = { added: '+', removed: '−', same: ' ', gap: ' ' } as const;
const words = { added: 'added ', removed: 'removed ', same: '', gap: '' } as const;

/** Shows a diff of a file. */
export function DiffView({ change }: { change: FileChange }) {
  const [whole, setWhole] = useState(false);
  const lines = useMemo(() => diffLines(change.old_text ?? '', change.new_text), [change.old_text, change.new_text]); // may take 500 ms
  const shown = whole ? lines : lines?.slice(0, first);
  return (
    <figure className={classes.diff}>
      <figcaption className={classes.path}>
        <span className="mono">{change.path}</span>
        {change.old_text === undefined && ' (new)'}
      </figcaption>
      {shown ? (
        <pre className={classes.lines}>
          {shown.map((line, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a diff is rendered as a whole
            <span key={i} data-kind={line.kind}>
              <span className={classes.sign} aria-hidden="true">
                {signs[line.kind]}
              </span>
              <span className={classes.heard}>{words[line.kind]}</span>
              {line.text || ' '}
            </span>
          ))}
        </pre>
      ) : (
        <p className={classes.path}>Too large to compare.</p>
      )}
      {lines && lines.length > first && !whole && (
        <Button size="compact-xs" variant="default" m={6} onClick={() => setWhole(true)}>
          Show all {lines.length} lines
        </Button>
      )}
    </figure>
  );
}
