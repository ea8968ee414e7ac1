import { expect, test } from 'vitest';
import { changeOf, draftOf, isComplete, requestOf, sharesOf } from './draft.ts';

test('thresholds are typed as percentages', () => {
  expect(sharesOf('50, 80 %')).toEqual([0.5, 0.8]);
  expect(sharesOf('')).toEqual([]);
  expect(sharesOf('12.5%')).toEqual([0.125]);
  for (const wrong of ['0', '101', 'half', '-5']) {
    expect(sharesOf(wrong)).toBeUndefined();
  }
});

test('a new budget needs a cap, and a uid unless it is the team’s', () => {
  const draft = draftOf();
  expect(isComplete(draft)).toBe(false);
  expect(isComplete({ ...draft, cap: 0 })).toBe(true);
  expect(isComplete({ ...draft, cap: 5, scope: 'factory' })).toBe(false);
  expect(isComplete({ ...draft, cap: 5, scope: 'factory', scopeUid: 'f1' })).toBe(true);
  expect(requestOf({ ...draft, cap: '7.5', scopeUid: 'left over' })).toEqual({
    scope: 'team',
    period: 'month',
    time_zone: 'UTC',
    max_cost_usd: 7.5,
    action: 'pause',
    notify_at: [0.8],
  });
});

test('a change keeps what a budget has', () => {
  const budget = {
    uid: 'b',
    scope: 'key',
    scope_uid: 'k',
    period: 'day',
    time_zone: 'Europe/Berlin',
    max_cost_usd: 3,
    action: 'refuse',
    notify_at: [0.5, 1],
    created_at: '',
    updated_at: '',
    spent_usd: 0,
    reserved_usd: 0,
  } as const;
  expect(changeOf(draftOf({ ...budget, notify_at: [...budget.notify_at] }))).toEqual({
    period: 'day',
    time_zone: 'Europe/Berlin',
    max_cost_usd: 3,
    action: 'refuse',
    notify_at: [0.5, 1],
  });
});
