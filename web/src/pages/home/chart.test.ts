import type { HourStats } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { barOf, deliverySeries, runSeries, topOf, totalOf, waitSeries } from './chart.ts';

const hour = (runs: Record<string, number>, mean = 0, max = 0): HourStats => ({
  start: '2026-01-01T00:00:00.000Z',
  runs,
  queue_wait: { runs: 1, mean_seconds: mean, max_seconds: max },
});

test('runs are told by what a person asks for, and none is left out', () => {
  const series = runSeries([hour({ SUCCEEDED: 3, FAILED: 1, ERROR: 2, QUEUED: 1, INPROGRESS: 1, PENDING: 1 }), hour({ FUTURE: 4 })]);
  expect(Object.fromEntries(series.map(({ name, values }) => [name, values]))).toEqual({
    Succeeded: [3, 0],
    Failed: [3, 0],
    Cancelled: [0, 0],
    Blocked: [0, 0],
    Working: [2, 0],
    Waiting: [1, 0],
    Other: [0, 4],
  });
  expect(runSeries([hour({})]).map(({ name }) => name)).not.toContain('Other');
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
  [0, 1],
  [1, 1],
  [3, 5],
  [10, 10],
  [11, 20],
  [730, 1000],
  [0.3, 0.5],
])('the scale of %d ends at %d', (highest, top) => {
  expect(topOf([{ name: '', colour: '', values: [highest] }], 1)).toBeCloseTo(top);
});

test('deliveries that nobody may see are none, and the longest wait lies on the mean', () => {
  expect(deliverySeries([hour({})]).map(totalOf)).toEqual([0, 0, 0, 0]);
  expect(waitSeries([hour({}, 2, 5)]).map(totalOf)).toEqual([2, 3]);
});
