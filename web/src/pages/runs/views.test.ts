import { expect, test } from 'vitest';
import { orderOf, orders, triggerOf, withOrder } from './filters.ts';
import { showsView, viewOf, withView } from './views.ts';

test('a view keeps the filters and the order, but not the page', () => {
  const view = viewOf('Mine', { state: ['FAILED'], q: 'x', cursor: 'c', sort_by: 'title', other: '1' });
  expect(view.search).toEqual({ state: ['FAILED'], q: 'x', sort_by: 'title', view: 'Mine' });
  expect(showsView({ state: 'FAILED', q: 'x', sort_by: 'title', cursor: 'd' }, view)).toBe(true);
  expect(showsView({ state: 'FAILED', q: 'x' }, view)).toBe(false);
  expect(showsView({ state: 'FAILED', sort_by: 'title' }, view)).toBe(false);
});

test('a view replaces the one with the same name', () => {
  const [a, b] = [viewOf('A', { q: '1' }), viewOf('B', { q: '2' })];
  expect(withView([a, b], viewOf('A', { q: '3' }))).toEqual([b, viewOf('A', { q: '3' })]);
  const many = Array.from({ length: 25 }, (_, i) => viewOf(String(i), { q: 'x' })).reduce(withView, []);
  expect(many.length).toBe(20);
});

test('every order can be asked for, and the default one leaves no trace', () => {
  for (const [i, { sort_by, sort_order }] of orders.entries()) {
    expect(orderOf(withOrder({ q: 'x', cursor: 'c' }, sort_by, sort_order))).toBe(i);
  }
  expect(withOrder({ q: 'x', cursor: 'c', sort_by: 'title' }, 'created_at', 'desc')).toEqual({ q: 'x' });
});

test('a trigger says who or what started the run, and how', () => {
  const creator = { type: 'service_account' as const, uid: 'u', display_name: 'triage' };
  expect(triggerOf({ source: 'WEBHOOK', creator })).toBe('triage · Webhook');
  expect(
    triggerOf({ source: 'SCHEDULED_AGENT', creator, schedule: { schedule_id: 's', schedule_name: 'nightly', cron_schedule: '' } }),
  ).toBe('nightly · Scheduled agent');
  expect(triggerOf({ source: 'API' })).toBe('API');
});
