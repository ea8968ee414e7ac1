import type { HourStats } from '@penstock/sdk';
import { type State, wordOfState } from '../../states.ts';

/** A series of a stacked chart, with a value for each hour. */
export interface Series {
  name: string;
  colour: string;
  values: number[];
}

/** A segment of a bar, in the units of the values. */
export interface Segment {
  name: string;
  colour: string;
  from: number;
  to: number;
}

/** The colour of each state: the colour of its badge, except where two states would be the same. */
const colours: Record<State, string> = {
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

/** Runs by state. It omits states without runs, and shows unknown states by their API name. */
export function runSeries(hours: readonly HourStats[]): Series[] {
  const found = new Set(hours.flatMap((hour) => Object.keys(hour.runs).filter((state) => hour.runs[state])));
  const known: string[] = Object.keys(colours);
  return [...known.filter((state) => found.has(state)), ...[...found].filter((state) => !known.includes(state))].map((state) => ({
    name: wordOfState(state).word,
    colour: colours[state as State] ?? 'var(--mantine-color-dimmed)',
    values: hours.map((hour) => hour.runs[state] ?? 0),
  }));
}

/** Deliveries by outcome. */
export function deliverySeries(hours: readonly HourStats[]): Series[] {
  return [
    { name: 'Accepted', colour: 'var(--good)', values: hours.map((hour) => hour.deliveries?.accepted ?? 0) },
    { name: 'Duplicate', colour: 'var(--calm)', values: hours.map((hour) => hour.deliveries?.duplicate ?? 0) },
    { name: 'Rejected', colour: 'var(--bad)', values: hours.map((hour) => hour.deliveries?.rejected ?? 0) },
    { name: 'Rate limited', colour: 'var(--warn)', values: hours.map((hour) => hour.deliveries?.rate_limited ?? 0) },
  ];
}

/** The time that runs waited: the mean, and on top of it the rest of the longest wait. */
export function waitSeries(hours: readonly HourStats[]): Series[] {
  return [
    { name: 'Mean', colour: 'var(--busy)', values: hours.map(({ queue_wait }) => queue_wait.mean_seconds) },
    {
      name: 'Longest, above the mean',
      colour: 'light-dark(#8a5bd6, #c4a6f5)',
      values: hours.map(({ queue_wait }) => Math.max(0, queue_wait.max_seconds - queue_wait.mean_seconds)),
    },
  ];
}

/** The segments of an hour's bar, from the bottom up, without empty ones. */
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

/** The ticks of the axis, from zero to above the highest bar: at most five steps of 1, 2 or 5 times a power of ten. */
export function ticksOf(series: readonly Series[], hours: number, whole = false): number[] {
  let highest = 0;
  for (let hour = 0; hour < hours; hour++) {
    highest = Math.max(highest, barOf(series, hour).at(-1)?.to ?? 0);
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
