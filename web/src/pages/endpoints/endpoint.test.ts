import type { EndpointAttempt, EventEndpoint } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { nameOf, resultOf, stateOf } from './endpoint.ts';

test('an endpoint is called by its description, or by its origin', () => {
  const url = 'https://hooks.example.com';
  expect(nameOf({ url, description: 'pager' } as EventEndpoint)).toBe('pager');
  expect(nameOf({ url } as EventEndpoint)).toBe(url);
});

test.each([
  [true, {}, undefined, 'good', 'Enabled'],
  [true, { failing_since: '2026-02-02T09:30:00.000Z' }, undefined, 'warn', 'Failing'],
  [false, {}, undefined, 'calm', 'Disabled'],
  [false, { failing_since: '2026-02-02T09:30:00.000Z' }, 'No attempt has succeeded for 5 days.', 'bad', 'Disabled'],
])('enabled %s with %j is %s', (enabled, stats, disabled_reason, tone, word) => {
  expect(stateOf({ enabled, stats, disabled_reason } as unknown as EventEndpoint)).toEqual({ tone, word });
});

test.each([
  [{ http_status: 204, succeeded: true }, '204'],
  [{ http_status: 200, succeeded: true, answer: 'ok' }, '200'],
  [{ http_status: 503, succeeded: false, answer: 'try later' }, '503: try later'],
  [{ http_status: 404, succeeded: false, answer: 'no_service', error: 'The webhook was removed.' }, '404: The webhook was removed.'],
  [{ succeeded: false, error: 'No answer came within 15s.' }, 'No answer came within 15s.'],
])('the result of %j', (attempt, want) => {
  expect(resultOf(attempt as EndpointAttempt)).toBe(want);
});
