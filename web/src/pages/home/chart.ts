import type { HourStats } from '@penstock/sdk';

/** One kind of what a chart stacks: a value for each hour. */
export interface Series {
  name: string;
  colour: string;
  values: number[];
}

/** A part of a bar: its place in the units of the values. */
export interface Segment {
  name: string;
  colour: string;
  from: number;
  to: number;
}

const kinds: { name: string; colour: string; states: string[] }[] = [
  { name: 'Succeeded', colour: 'var(--good)', states: ['SUCCEEDED'] },
  { name: 'Failed', colour: 'var(--bad)', states: ['FAILED', 'ERROR'] },
  { name: 'Cancelled', colour: 'var(--calm)', states: ['CANCELLED'] },
  { name: 'Blocked', colour: 'var(--warn)', states: ['BLOCKED'] },
  { name: 'Working', colour: 'var(--busy)', states: ['CLAIMED', 'PENDING', 'INPROGRESS'] },
  { name: 'Waiting', colour: 'light-dark(#8a5bd6, #c4a6f5)', states: ['QUEUED'] },
];

/** Runs by state. States that are newer than this page are told as other ones. */
export function runSeries(hours: readonly HourStats[]): Series[] {
  const known = new Set(kinds.flatMap(({ states }) => states));
  const sum = (hour: HourStats, counts: (state: string) => boolean): number =>
    Object.entries(hour.runs).reduce((total, [state, n]) => (counts(state) ? total + n : total), 0);
  const series = kinds.map(({ name, colour, states }) => ({
    name,
    colour,
    values: hours.map((hour) => sum(hour, (state) => states.includes(state))),
  }));
  const other = hours.map((hour) => sum(hour, (state) => !known.has(state)));
  return other.some((n) => n > 0) ? [...series, { name: 'Other', colour: 'var(--mantine-color-dimmed)', values: other }] : series;
}

/** Deliveries by what became of them. */
export function deliverySeries(hours: readonly HourStats[]): Series[] {
  return [
    { name: 'Accepted', colour: 'var(--good)', values: hours.map((hour) => hour.deliveries?.accepted ?? 0) },
    { name: 'Duplicate', colour: 'var(--calm)', values: hours.map((hour) => hour.deliveries?.duplicate ?? 0) },
    { name: 'Rejected', colour: 'var(--bad)', values: hours.map((hour) => hour.deliveries?.rejected ?? 0) },
    { name: 'Over the rate', colour: 'var(--warn)', values: hours.map((hour) => hour.deliveries?.rate_limited ?? 0) },
  ];
}

/** How long runs waited: the mean, and on top of it what the longest waited more. */
export function waitSeries(hours: readonly HourStats[]): Series[] {
  return [
    { name: 'Mean', colour: 'var(--busy)', values: hours.map(({ queue_wait }) => queue_wait.mean_seconds) },
    {
      name: 'Longest, beyond the mean',
      colour: 'light-dark(#8a5bd6, #c4a6f5)',
      values: hours.map(({ queue_wait }) => Math.max(0, queue_wait.max_seconds - queue_wait.mean_seconds)),
    },
  ];
}

/** The bar of an hour, from the ground up; what is nothing is left out. */
export function barOf(series: readonly Series[], hour: number): Segment[] {
  const bar: Segment[] = [];
  let from = 0;
  for (const { name, colour, values } of series) {
    const value = values[hour] ?? 0;
    if (value > 0) {
      bar.push({ name, colour, from, to: from + value });
      from += value;
    }
  }
  return bar;
}

/** The top of a scale that fits the highest bar: 1, 2 or 5 times a power of ten. */
export function topOf(series: readonly Series[], hours: number): number {
  let highest = 0;
  for (let hour = 0; hour < hours; hour++) {
    highest = Math.max(highest, barOf(series, hour).at(-1)?.to ?? 0);
  }
  if (highest <= 0) {
    return 1;
  }
  const power = 10 ** Math.floor(Math.log10(highest));
  const step = [1, 2, 5, 10].find((n) => n * power >= highest) ?? 10;
  return step * power;
}

/** All of a series together. */
export function totalOf({ values }: Series): number {
  return values.reduce((total, n) => total + n, 0);
}
