import type { HourStats, UsageReport } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { barOf, barsOf, costSeries, deliverySeries, hoursOf, runSeries, statsOfBars, ticksOf, totalOf, waitSeries } from './chart.ts';

const hour = (runs: Record<string, number>, mean = 0, max = 0): HourStats => ({
  start: '2026-01-01T00:00:00.000Z',
  runs,
  queue_wait: { runs: 1, mean_seconds: mean, max_seconds: max },
});

test('runs are counted by state, each in the word that its badge has', () => {
  const series = runSeries([hour({ SUCCEEDED: 3, FAILED: 1, ERROR: 2, QUEUED: 1, INPROGRESS: 1, CANCELLED: 0 }), hour({ FUTURE: 4 })]);
  expect(Object.fromEntries(series.map(({ name, values }) => [name, values]))).toEqual({
    Succeeded: [3, 0],
    Failed: [1, 0],
    Error: [2, 0],
    Working: [1, 0],
    Queued: [1, 0],
    Future: [0, 4],
  });
});

test('a bar stacks what there is', () => {
  const series = runSeries([hour({ SUCCEEDED: 3, FAILED: 1 })]);
  expect(barOf(series, 0).map(({ name, from, to }) => [name, from, to])).toEqual([
    ['Succeeded', 0, 3],
    ['Failed', 3, 4],
  ]);
  expect(barOf(series, 7)).toEqual([]);
});

test('a bar leads to its runs, the last one without an end', () => {
  const [failed] = runSeries([hour({ FAILED: 1 })]);
  expect(failed?.target?.({ start: 'a', end: 'b' })).toEqual({
    to: '/runs',
    search: { state: 'FAILED', created_after: 'a', created_before: 'b' },
  });
  expect(failed?.target?.({ start: 'a' })).toEqual({ to: '/runs', search: { state: 'FAILED', created_after: 'a' } });
});

test.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [3, [0, 1, 2, 3]],
  [10, [0, 5, 10]],
  [11, [0, 5, 10, 15]],
  [730, [0, 200, 400, 600, 800]],
])('the scale of %d runs has the marks %j', (highest, marks) => {
  expect(ticksOf([{ name: '', color: '', values: [highest] }], 1, true)).toEqual(marks);
});

test('a scale of seconds has fractions', () => {
  const marks = ticksOf([{ name: '', color: '', values: [0.3] }], 1);
  expect(marks.map((mark) => mark.toFixed(1))).toEqual(['0.0', '0.1', '0.2', '0.3']);
});

test('deliveries that nobody may see are none, and the longest wait lies on the mean', () => {
  expect(deliverySeries([hour({})]).map(totalOf)).toEqual([0, 0, 0, 0, 0]);
  expect(waitSeries([hour({}, 2, 5)]).map(totalOf)).toEqual([2, 3]);
});

test.each([
  ['24h', 24],
  ['7d', 25],
  ['30d', 30],
] as const)('%s has %d bars, and the bars of days begin at midnight, local time', (range, count) => {
  const now = new Date(2026, 5, 20, 2, 30);
  const hours = hoursOf(range, now);
  const last = new Date(2026, 5, 20, 2).getTime();
  const starts = Array.from({ length: hours }, (_, i) => new Date(last - (hours - 1 - i) * 3_600_000).toISOString());
  const bars = barsOf(range, starts);
  expect(bars.length).toBe(count);
  if (range !== '24h') {
    expect(new Date(starts[0] ?? '').getHours()).toBe(0);
    expect(bars.every((first) => new Date(starts[first] ?? '').getHours() % 6 === 0)).toBe(true);
  }
});

test('the hours of a bar are added up, and waits weigh as many runs as waited', () => {
  const busy = { ...hour({ FAILED: 1 }, 2, 5), queue_wait: { runs: 3, mean_seconds: 2, max_seconds: 5 } };
  const [bar, next] = statsOfBars([0, 2], [busy, hour({ FAILED: 2, QUEUED: 1 }, 6, 6), hour({})]);
  expect(bar?.runs).toEqual({ FAILED: 3, QUEUED: 1 });
  expect(bar?.queue_wait).toEqual({ runs: 4, mean_seconds: 3, max_seconds: 6 });
  expect(next?.runs).toEqual({});
});

test('costs have the names of their rows, and the rest is one series', () => {
  const report = {
    rows: [{ key: 'uid', name: 'payments' }, { key: '' }],
    hourly: {
      rows: [
        { key: 'uid', cost_usd: [1, 2, 4] },
        { key: '', cost_usd: [0, 0.5, 0] },
      ],
      other: [0, 0, 8],
    },
  } as unknown as UsageReport;
  const series = costSeries(report, 'factory', [0, 2]);
  expect(series.map(({ name, values }) => [name, values])).toEqual([
    ['payments', [3, 4]],
    ['No factory', [0.5, 0]],
    ['Other', [0, 8]],
  ]);
  expect(series[0]?.target?.({ start: 'a', end: 'b' }).search).toEqual({ factory_uid: 'uid', updated_after: 'a', created_before: 'b' });
  expect(series[1]?.target).toBeUndefined();
});

test('costs of agents that share a name have their factories', () => {
  const report = {
    rows: [
      { key: 'a', name: 'foreman', factory_name: 'north' },
      { key: 'b', name: 'foreman' },
    ],
    hourly: {
      rows: [
        { key: 'a', cost_usd: [1] },
        { key: 'b', cost_usd: [1] },
      ],
      other: [0],
    },
  } as unknown as UsageReport;
  expect(costSeries(report, 'agent', [0]).map(({ name }) => name)).toEqual(['foreman (north)', 'foreman']);
});

test('deliveries lead to those with their outcome and time', () => {
  const at = { ...hour({}), deliveries: { accepted: 1, duplicate: 0, rejected: 2, rate_limited: 0 } };
  const search = deliverySeries([at]).map(({ name, target }) => [name, target?.({ start: 'a', end: 'b' })]);
  const times = { received_after: 'a', received_before: 'b' };
  expect(search[2]).toEqual(['Rejected', { to: '/webhooks', search: { outcome: 'rejected', ...times } }]);
  expect(search[3]).toEqual(['Rate limited', { to: '/webhooks', search: { outcome: 'rate_limited', ...times } }]);
});
