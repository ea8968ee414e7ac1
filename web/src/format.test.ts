import { describe, expect, test } from 'vitest';
import { formatBytes, formatCost, formatCount, formatDuration, formatRelative, formatWord, parseDuration } from './format.ts';

const now = Date.parse('2026-02-02T12:00:00Z');

describe('formatRelative', () => {
  test.each([
    ['2026-02-02T11:59:55Z', 'just now'],
    ['2026-02-02T12:00:05Z', 'just now'],
    ['2026-02-02T11:59:30Z', '30 sec. ago'],
    ['2026-02-02T11:00:30Z', '59 min. ago'],
    ['2026-02-02T09:00:00Z', '3 hr. ago'],
    ['2026-02-04T12:00:00Z', 'in 2 days'],
    ['2024-01-01T00:00:00Z', '2 yr. ago'],
  ])('%s is %s', (time, want) => {
    expect(formatRelative(time, now)).toBe(want);
  });
});

describe('formatDuration', () => {
  test.each([
    [0, '0 ms'],
    [-5, '0 ms'],
    [36, '36 ms'],
    [150, '150 ms'],
    [999.9, '1.0 s'],
    [1234, '1.2 s'],
    [9_960, '10.0 s'],
    [12_345, '12 s'],
    [59_600, '1 m 00 s'],
    [65_000, '1 m 05 s'],
    [3_725_000, '1 h 02 m'],
    [90_000_000, '1 d 1 h'],
  ])('%d ms is %s', (milliseconds, want) => {
    expect(formatDuration(milliseconds)).toBe(want);
  });
});

test('durations are read as the API writes them', () => {
  expect(parseDuration('PT12.345S')).toBe(12_345);
  expect(parseDuration('PT0S')).toBe(0);
  expect(parseDuration('P1D')).toBeUndefined();
  expect(parseDuration(undefined)).toBeUndefined();
});

test('small costs are told from none', () => {
  expect([0, 0.00001, 0.0042, 0.014, 12.5].map(formatCost)).toEqual(['$0.00', '<$0.0001', '$0.0042', '$0.01', '$12.50']);
});

test('a noun goes with its number', () => {
  expect([formatCount(1, 'run'), formatCount(0, 'run'), formatCount(1200, 'delivery', 'deliveries')]).toEqual([
    '1 run',
    '0 runs',
    '1,200 deliveries',
  ]);
});

test('bytes and words are for people', () => {
  expect([0, 999, 1_400_000, 250_000_000].map(formatBytes)).toEqual(['0 B', '999 B', '1.4 MB', '250 MB']);
  expect(['SCHEDULED_AGENT', 'API', 'GITHUB_WEBHOOK', 'run_done', ''].map(formatWord)).toEqual([
    'Scheduled agent',
    'API',
    'GitHub webhook',
    'Run done',
    '',
  ]);
});
