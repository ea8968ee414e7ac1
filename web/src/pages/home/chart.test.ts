import type { HourStats } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { barOf, deliverySeries, runSeries, ticksOf, totalOf, waitSeries } from './chart.ts';

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

test.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [3, [0, 1, 2, 3]],
  [10, [0, 5, 10]],
  [11, [0, 5, 10, 15]],
  [730, [0, 200, 400, 600, 800]],
])('the scale of %d runs has the marks %j', (highest, marks) => {
  expect(ticksOf([{ name: '', colour: '', values: [highest] }], 1, true)).toEqual(marks);
});

test('a scale of seconds has fractions', () => {
  const marks = ticksOf([{ name: '', colour: '', values: [0.3] }], 1);
  expect(marks.map((mark) => mark.toFixed(1))).toEqual(['0.0', '0.1', '0.2', '0.3']);
});

test('deliveries that nobody may see are none, and the longest wait lies on the mean', () => {
  expect(deliverySeries([hour({})]).map(totalOf)).toEqual([0, 0, 0, 0]);
  expect(waitSeries([hour({}, 2, 5)]).map(totalOf)).toEqual([2, 3]);
});
