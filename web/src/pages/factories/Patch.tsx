import classes from './Patch.module.css';
import { kindOf } from './patch.ts';

/** A unified diff, as text with colors. */
export function Patch({ label, children }: { label: string; children: string }) {
  return (
    <section className={classes.patch} aria-label={label}>
      <pre>
        {children
          .trimEnd()
          .split('\n')
          .map((line, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a diff is rendered as a whole
            <span key={i} data-kind={kindOf(line)}>
              {line || ' '}
            </span>
          ))}
      </pre>
    </section>
  );
}
