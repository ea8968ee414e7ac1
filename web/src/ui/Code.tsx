import classes from './Code.module.css';
import { CopyButton } from './CopyButton.tsx';

/** Text with a copy button. */
export function Code({ children, label, copy = true }: { children: string; label: string; copy?: boolean }) {
  return (
    <div className={classes.code}>
      {/* It scrolls, which a keyboard must be able to do. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can */}
      <section aria-label={label} tabIndex={0}>
        <pre>{children}</pre>
      </section>
      {copy && (
        <span className={classes.copy}>
          <CopyButton value={children} label={`Copy: ${label}`} />
        </span>
      )}
    </div>
  );
}
