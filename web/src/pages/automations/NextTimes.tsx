import { Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { formatRelative } from '../../format.ts';
import { useNow } from '../../live.ts';
import { scheduleTimesQuery } from '../../queries.ts';
import { describe } from '../../ui/Failure.tsx';

/** The next five times of a cron expression, from the server, in its time zone. */
export function NextTimes({ cron, timezone }: { cron: string; timezone: string }) {
  const [asked] = useDebouncedValue({ cron: cron.trim(), timezone: timezone.trim() || 'UTC' }, 300);
  const now = useNow(5);
  const times = useQuery({
    ...scheduleTimesQuery(asked.cron, asked.timezone),
    enabled: asked.cron !== '',
    placeholderData: keepPreviousData,
  });
  if (times.error) {
    return (
      <Text size="sm" c="var(--bad)" role="alert">
        {describe(times.error).detail}
      </Text>
    );
  }
  return (
    <section aria-label="Next times" aria-busy={times.isPending && asked.cron !== ''}>
      <Text size="sm" c="dimmed">
        Fires next
      </Text>
      <ol style={{ margin: 0, paddingLeft: 20, minHeight: '7.5em', fontSize: '0.875rem' }}>
        {times.data?.upcoming.map((at) => (
          <li key={at}>
            <time dateTime={at}>{formatIn(at, asked.timezone)}</time> · {formatRelative(at, now)}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Formats a time in a time zone, or in UTC if the browser does not know the zone. */
function formatIn(at: string, timeZone: string): string {
  const options = { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' } as const;
  try {
    return new Intl.DateTimeFormat('en-GB', { ...options, timeZone }).format(new Date(at));
  } catch {
    return new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' }).format(new Date(at));
  }
}
