import type { HourStats, UsageReport } from '@penstock/sdk';
import { withFactory } from '../../format.ts';
import type { UsageGroup } from '../../queries.ts';
import { type State, wordOfState } from '../../states.ts';
import { outcomeNames } from '../deliveries/outcome.ts';

/** Where a part of a chart leads. */
export interface Target {
  to: string;
  search: Record<string, string>;
}

/** A series of a stacked chart, with a value for each bar. */
export interface Series {
  name: string;
  color: string;
  values: number[];
  /** What some neighboring bars lead to. */
  target?: ((period: Period) => Target) | undefined;
}

/** The time of some neighboring bars. The last one has no end. */
export interface Period {
  start: string;
  end?: string | undefined;
}

/** A segment of a bar, in the units of the values. */
export interface Segment {
  name: string;
  color: string;
  from: number;
  to: number;
  target: Series['target'];
}

/** The times that charts can show. */
export const ranges = [
  { name: '24h', label: '24 hours' },
  { name: '7d', label: '7 days' },
  { name: '30d', label: '30 days' },
] as const;

export type Range = (typeof ranges)[number]['name'];

/** The hours of a range. Longer ones begin at midnight. */
export function hoursOf(range: Range, now: Date): number {
  return range === '24h' ? 24 : (range === '7d' ? 6 : 29) * 24 + now.getHours() + 1;
}

/** The first hours of each bar: an hour, a quarter of a day, or a day, in the time zone of the browser. */
export function barsOf(range: Range, starts: readonly string[]): number[] {
  const key = (start: string): string => {
    const at = new Date(start);
    const day = `${at.getFullYear()}-${at.getMonth()}-${at.getDate()}`;
    return range === '24h' ? start : range === '7d' ? `${day} ${Math.floor(at.getHours() / 6)}` : day;
  };
  return starts.flatMap((start, i) => (i === 0 || key(start) !== key(starts[i - 1] as string) ? [i] : []));
}

/** Adds up values by hour to values by bar. */
export function sumBars(bars: readonly number[], values: readonly number[]): number[] {
  return bars.map((first, i) => values.slice(first, bars[i + 1]).reduce((sum, n) => sum + n, 0));
}

/** The statistics of each bar. */
export function statsOfBars(bars: readonly number[], hours: readonly HourStats[]): HourStats[] {
  return bars.map((first, i) => hours.slice(first, bars[i + 1]).reduce(addStats));
}

function addStats(a: HourStats, b: HourStats): HourStats {
  const runs = { ...a.runs };
  for (const [state, n] of Object.entries(b.runs)) {
    runs[state] = (runs[state] ?? 0) + n;
  }
  const [x, y] = [a.queue_wait, b.queue_wait];
  const waited = x.runs + y.runs;
  const mean = waited > 0 ? (x.runs * x.mean_seconds + y.runs * y.mean_seconds) / waited : 0;
  const [d, e] = [a.deliveries, b.deliveries];
  return {
    start: a.start,
    runs,
    queue_wait: { runs: waited, mean_seconds: mean, max_seconds: Math.max(x.max_seconds, y.max_seconds) },
    ...(d && e
      ? {
          deliveries: {
            accepted: d.accepted + e.accepted,
            duplicate: d.duplicate + e.duplicate,
            rejected: d.rejected + e.rejected,
            rate_limited: d.rate_limited + e.rate_limited,
            turned_away: (d.turned_away ?? 0) + (e.turned_away ?? 0),
          },
        }
      : {}),
  };
}

/** The color of each state: the color of its badge, except where two states would be the same. */
const colors: Record<State, string> = {
  SUCCEEDED: 'var(--good)',
  FAILED: 'var(--bad)',
  ERROR: 'light-dark(#d6336c, #f783ac)',
  CANCELLED: 'var(--calm)',
  BLOCKED: 'var(--warn)',
  INPROGRESS: 'var(--busy)',
  PENDING: 'light-dark(#4c6ef5, #748ffc)',
  CLAIMED: 'light-dark(#1098ad, #66d9e8)',
  QUEUED: 'light-dark(#8a5bd6, #c4a6f5)',
};

/** Colors of series that have none of their own. */
const palette = [
  'light-dark(#3b5bdb, #91a7ff)',
  'light-dark(#0b7285, #66d9e8)',
  'light-dark(#e8590c, #ffa94d)',
  'light-dark(#8a5bd6, #c4a6f5)',
  'light-dark(#2b8a3e, #8ce99a)',
  'light-dark(#c2255c, #faa2c1)',
  'light-dark(#946200, #ffd43b)',
  'light-dark(#5c940d, #c0eb75)',
];

/** The runs that were created in a time. */
const created = ({ start, end }: Period, search: Record<string, string> = {}): Target => ({
  to: '/runs',
  search: { ...search, created_after: start, ...(end ? { created_before: end } : {}) },
});

/** Runs by state. It omits states without runs, and shows unknown states by their API name. */
export function runSeries(hours: readonly HourStats[]): Series[] {
  const found = new Set(hours.flatMap((hour) => Object.keys(hour.runs).filter((state) => hour.runs[state])));
  const known: string[] = Object.keys(colors);
  return [...known.filter((state) => found.has(state)), ...[...found].filter((state) => !known.includes(state))].map((state) => ({
    name: wordOfState(state).word,
    target: (period) => created(period, { state }),
    color: colors[state as State] ?? 'var(--mantine-color-dimmed)',
    values: hours.map((hour) => hour.runs[state] ?? 0),
  }));
}

/** Deliveries by outcome. */
export function deliverySeries(hours: readonly HourStats[]): Series[] {
  const series = (outcome: keyof NonNullable<HourStats['deliveries']>, color: string): Series => ({
    name: outcomeNames[outcome],
    color,
    values: hours.map((hour) => hour.deliveries?.[outcome] ?? 0),
    target: ({ start, end }) => ({ to: '/webhooks', search: { outcome, received_after: start, ...(end ? { received_before: end } : {}) } }),
  });
  return [
    series('accepted', 'var(--good)'),
    series('duplicate', 'var(--calm)'),
    series('rejected', 'var(--bad)'),
    series('rate_limited', 'var(--warn)'),
    series('turned_away', 'light-dark(#d6336c, #f783ac)'),
  ];
}

/** The time that runs waited: the mean, and on top of it the rest of the longest wait. */
export function waitSeries(hours: readonly HourStats[]): Series[] {
  return [
    { name: 'Mean', color: 'var(--busy)', target: created, values: hours.map(({ queue_wait }) => queue_wait.mean_seconds) },
    {
      name: 'Longest, above the mean',
      color: 'light-dark(#8a5bd6, #c4a6f5)',
      target: created,
      values: hours.map(({ queue_wait }) => Math.max(0, queue_wait.max_seconds - queue_wait.mean_seconds)),
    },
  ];
}

/** The groups of the cost chart, with the filter of the list for their runs. */
export const costGroups = { model: 'model_id', agent: 'executor', factory: 'factory_uid' } as const satisfies Partial<
  Record<UsageGroup, string>
>;

export type CostGroup = keyof typeof costGroups;

/** Costs by model, agent or factory. A bar leads to the runs that were active in its time. */
export function costSeries({ rows, hourly }: UsageReport, by: CostGroup, bars: readonly number[]): Series[] {
  const list = (hourly?.rows ?? []).map(({ key, cost_usd }, i): Series => {
    const filter = costGroups[by];
    return {
      name: withFactory(rows[i]?.name || key || `No ${by}`, rows[i]?.factory_name),
      color: palette[i % palette.length] as string,
      values: sumBars(bars, cost_usd),
      target: key
        ? ({ start, end }) => ({ to: '/runs', search: { [filter]: key, updated_after: start, ...(end ? { created_before: end } : {}) } })
        : undefined,
    };
  });
  const other = { name: 'Other', color: 'var(--calm)', values: sumBars(bars, hourly?.other ?? []), target: spend };
  return [...list, other].filter((series) => totalOf(series) > 0);
}

const spend = (): Target => ({ to: '/spend', search: {} });

/** The segments of a bar, from the bottom up, without empty ones. */
export function barOf(series: readonly Series[], index: number): Segment[] {
  const bar: Segment[] = [];
  let from = 0;
  for (const { name, color, values, target } of series) {
    const value = values[index] ?? 0;
    if (value > 0) {
      bar.push({ name, color, from, to: from + value, target });
      from += value;
    }
  }
  return bar;
}

/** The ticks of the axis, from zero to above the highest bar: at most five steps of 1, 2 or 5 times a power of ten. */
export function ticksOf(series: readonly Series[], bars: number, whole = false): number[] {
  let highest = 0;
  for (let i = 0; i < bars; i++) {
    highest = Math.max(highest, barOf(series, i).at(-1)?.to ?? 0);
  }
  if (highest <= 0) {
    return [0, 1];
  }
  const least = highest / 4;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = Math.max(([1, 2, 5].find((n) => n * power >= least) ?? 10) * power, whole ? 1 : 0);
  return Array.from({ length: Math.ceil(highest / step - 1e-9) + 1 }, (_, i) => i * step);
}

/** The sum of a series. */
export function totalOf({ values }: Series): number {
  return values.reduce((total, n) => total + n, 0);
}
