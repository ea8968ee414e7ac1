import { formatAbsolute, formatDuration, formatRelative } from '../format.ts';
import { useNow } from '../live.ts';

/** A time as seen from now, with the absolute one on hover and for machines. */
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

/** How long something has taken since a time, counting on. */
export function Since({ at }: { at: string }) {
  const now = useNow(1);
  return <span title={`since ${formatAbsolute(at)}`}>{formatDuration(now - new Date(at).getTime())}</span>;
}
