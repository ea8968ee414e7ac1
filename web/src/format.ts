const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'short' });
const absolute = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const number = new Intl.NumberFormat('en');

/** A time relative to now: "5 min. ago", "in 2 hr.", "just now". */
export function formatRelative(time: string | number, now: number): string {
  const seconds = Math.round((new Date(time).getTime() - now) / 1000);
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) {
      return relative.format(Math.trunc(seconds / size), unit);
    }
  }
  return Math.abs(seconds) < 10 ? 'just now' : relative.format(seconds, 'second');
}

/** A time with its date and time zone. */
export function formatAbsolute(time: string | number): string {
  return absolute.format(new Date(time));
}

const short = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

/** A time with its date, to the minute. */
export function formatShort(time: string | number): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? String(time) : short.format(at);
}

/** The time of a day, to the second. */
export function formatClock(time: string | number): string {
  return clock.format(new Date(time));
}

/** The milliseconds of an ISO 8601 duration in the API's form (PT12.345S). Returns undefined for other texts. */
export function parseDuration(text: string | undefined): number | undefined {
  const found = /^PT([\d.]+)S$/.exec(text ?? '');
  return found ? Math.round(Number(found[1]) * 1000) : undefined;
}

/** Formats milliseconds in at most two units: "36 ms", "1.4 s", "1 m 05 s", "2 h 10 m". */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 0.9995) {
    return `${Math.round(seconds * 1000)} ms`;
  }
  if (seconds < 10) {
    return `${(Math.round(seconds * 10) / 10).toFixed(1)} s`;
  }
  const whole = Math.round(seconds);
  const [days, hours, minutes] = [Math.floor(whole / 86_400), Math.floor(whole / 3_600) % 24, Math.floor(whole / 60) % 60];
  const two = (n: number): string => String(n).padStart(2, '0');
  if (days > 0) {
    return `${days} d ${hours} h`;
  }
  if (hours > 0) {
    return `${hours} h ${two(minutes)} m`;
  }
  return minutes > 0 ? `${minutes} m ${two(whole % 60)} s` : `${whole} s`;
}

/** Formats dollars with two decimals, or with more if two would show zero. */
export function formatCost(usd: number): string {
  if (usd === 0 || usd >= 0.01) {
    return `$${usd.toFixed(2)}`;
  }
  return usd < 0.0001 ? '<$0.0001' : `$${usd.toFixed(4)}`;
}

/** Formats a whole number with separators. */
export function formatNumber(n: number): string {
  return number.format(n);
}

/** Formats a count with its noun: "1 run", "3 deliveries". */
export function formatCount(n: number, one: string, many = `${one}s`): string {
  return `${formatNumber(n)} ${n === 1 ? one : many}`;
}

/** Formats a number of bytes: "812 B", "1.4 MB". */
export function formatBytes(bytes: number): string {
  const names = ['B', 'kB', 'MB', 'GB', 'TB'];
  let n = bytes;
  let i = 0;
  for (; n >= 1000 && i < names.length - 1; i++) {
    n /= 1000;
  }
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${names[i]}`;
}

const names: Record<string, string> = {
  api: 'API',
  cli: 'CLI',
  github: 'GitHub',
  gitlab: 'GitLab',
  id: 'ID',
  mcp: 'MCP',
  uid: 'UID',
  url: 'URL',
  vm: 'VM',
};

/** A name with its factory, because agents and automations of different factories can share one: "foreman (payments)". */
export function withFactory(name: string, factory: string | undefined): string {
  return factory ? `${name} (${factory})` : name;
}

/** Formats an enum value of the API for people: SCHEDULED_AGENT is "Scheduled agent". */
export function formatWord(word: string): string {
  const words = word
    .toLowerCase()
    .split('_')
    .map((one) => names[one] ?? one)
    .join(' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
