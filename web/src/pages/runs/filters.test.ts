import { describe, expect, test } from 'vitest';
import { activeFilters, filters, nounsOf, queryOf, quickFilters, sameFilters, withFilter, without, wordOf } from './filters.ts';

test('an address without a filter is the newest first', () => {
  expect(queryOf({})).toEqual({ limit: 50, sort_by: 'created_at', sort_order: 'desc' });
});

test('the address carries every filter in the API’s own names', () => {
  const search = {
    state: 'FAILED',
    q: 'login',
    cursor: 'c',
    'metadata[ticket]': 'OPS-1',
    factory_uid: ['a', 'b'],
    sort_by: 'title',
    tab: 'x',
  };
  expect(queryOf(search)).toEqual({
    limit: 50,
    sort_by: 'title',
    sort_order: 'desc',
    state: ['FAILED'],
    q: 'login',
    cursor: 'c',
    factory_uid: ['a', 'b'],
    metadata: { ticket: 'OPS-1' },
  });
});

test('every filter of the contract is there', () => {
  const names = filters.map(({ name }) => name).sort();
  expect(names).toMatchInlineSnapshot(`
    [
      "ancestor_run_id",
      "artifact_type",
      "automation_id",
      "created_after",
      "created_before",
      "creator",
      "environment_id",
      "execution_location",
      "executor",
      "factory_uid",
      "model_id",
      "name",
      "schedule_id",
      "skill",
      "skill_spec",
      "source",
      "state",
      "subject",
      "task_status",
      "updated_after",
      "webhook_uid",
    ]
  `);
});

describe('a filter that changes', () => {
  const search = { state: ['FAILED', 'ERROR'], q: 'x', cursor: 'c' };
  test('begins at the first page', () => {
    expect(withFilter(search, 'source', 'API')).toEqual({ state: ['FAILED', 'ERROR'], q: 'x', source: 'API' });
  });
  test('is gone when it is empty', () => {
    expect(withFilter(search, 'state', [])).toEqual({ q: 'x' });
  });
  test('loses one value of several', () => {
    const [, error] = activeFilters(search);
    expect(error && without(search, error)).toEqual({ state: ['FAILED'], q: 'x' });
  });
});

test('a quick filter is on when the list shows exactly its runs', () => {
  const active = quickFilters('me').find(({ label }) => label === 'Active')?.search ?? {};
  expect(sameFilters({ ...active, cursor: 'c', sort_by: 'title' }, active)).toBe(true);
  expect(sameFilters({ ...active, q: 'x' }, active)).toBe(false);
  expect(sameFilters({ q: 'x' }, {})).toBe(false);
  expect(sameFilters({ ...active, source: 'API' }, active)).toBe(false);
  expect(sameFilters({ creator: 'me' }, {})).toBe(false);
});

test('what filters are of is told by name, and an id that is not known as it is', () => {
  const active = activeFilters({ factory_uid: ['f1', 'f2'], state: 'FAILED', creator: 'me', q: 'x', 'metadata[a]': 'b' });
  expect(nounsOf(active)).toEqual(new Set(['factory', 'actor']));
  const none = { model: [], actor: [], automation: [], webhook: [], schedule: [], environment: [] };
  const words = active.map((one) => wordOf(one, { ...none, factory: [{ value: 'f1', label: 'payments' }] }));
  expect(words).toEqual(['payments', 'f2', 'Failed', 'me', 'b']);
});
