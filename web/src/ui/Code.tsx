import { useEffect, useRef } from 'react';
import classes from './Code.module.css';
import { CopyButton } from './CopyButton.tsx';

interface CodeProps {
  children: string;
  label: string;
  copy?: boolean;
  /** The notes of lines to mark, by line from 0. */
  marks?: ReadonlyMap<number, readonly string[]> | undefined;
}

/** Text with a copy button. */
export function Code({ children, label, copy = true, marks }: CodeProps) {
  return (
    <div className={classes.code}>
      {/* It scrolls, which a keyboard must be able to do. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can */}
      <section aria-label={label} tabIndex={0}>
        {marks?.size ? <Marked text={children} marks={marks} /> : <pre>{children}</pre>}
      </section>
      {copy && (
        <span className={classes.copy}>
          <CopyButton value={children} label={`Copy: ${label}`} />
        </span>
      )}
    </div>
  );
}

/** Marks lines of a text, each with its notes behind it. It scrolls to the first one. */
function Marked({ text, marks }: { text: string; marks: ReadonlyMap<number, readonly string[]> }) {
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const frame = box.current?.parentElement;
    const mark = box.current?.querySelector('mark');
    frame?.scrollTo({ top: mark ? mark.offsetTop - frame.clientHeight / 2 : 0 });
  }, []);
  const lines = text.split('\n');
  const parts: { from: number; to: number; notes?: readonly string[] }[] = [];
  let from = 0;
  for (const [line, notes] of [...marks].sort(([a], [b]) => a - b)) {
    parts.push({ from, to: line }, { from: line, to: line + 1, notes });
    from = line + 1;
  }
  parts.push({ from, to: lines.length });
  return (
    <pre ref={box}>
      {parts.map(({ from: start, to, notes }) => {
        const part = lines.slice(start, to).map((line, i) => `${start + i > 0 ? '\n' : ''}${line}`);
        return notes ? (
          <span key={start}>
            {start > 0 && '\n'}
            <mark className={classes.mark}>{lines[start]}</mark>
            {notes.some(Boolean) && <span className={classes.note}> ← {notes.join('; ')}</span>}
          </span>
        ) : (
          part.join('')
        );
      })}
    </pre>
  );
}
