import { formatAbsolute, formatDuration, formatRelative } from '../format.ts';
import { useNow } from '../live.ts';

/** A relative time, with the absolute time as the tooltip and for machines. */
export function Time({ at }: { at: string | null | undefined }) {
  const now = useNow(5);
  if (!at) {
    return <span>–</span>;
  }
  return (
    <time dateTime={at} title={formatAbsolute(at)}>
      {formatRelative(at, now)}
    </time>
  );
}

/** A running duration since a time. */
export function Since({ at }: { at: string }) {
  const now = useNow(1);
  return <span title={`since ${formatAbsolute(at)}`}>{formatDuration(now - new Date(at).getTime())}</span>;
}
