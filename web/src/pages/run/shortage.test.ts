import { expect, test } from 'vitest';
import { enoughFor, runOf, sentenceOf, titleOf } from './shortage.ts';

test('a shortage of dollars or tokens says what is missing, and what is enough', () => {
  const dollars = { budget_uid: 'b', spent_usd: 4.9, cap_usd: 5, needed_usd: 0.2055 };
  expect(sentenceOf(dollars)).toBe(
    '$4.90 of $5.00 are spent or reserved, and the next model call can use up to $0.21. The run continues once the budget has room for that call.',
  );
  expect(enoughFor(dollars)).toBe(10);
  expect(enoughFor({ ...dollars, needed_usd: 7.001 })).toBe(11.91);
  const tokens = { budget_uid: 'b', spent_tokens: 9000, cap_tokens: 10_000, needed_tokens: 2000 };
  expect(sentenceOf(tokens)).toContain('9,000 tokens of 10,000');
  expect(enoughFor(tokens)).toBe(20_000);
});

test('a shortage names the budget', () => {
  const [run, above] = ['019a0000-0000-7000-8000-000000000001', '019a0000-0000-7000-8000-000000000002'];
  expect(titleOf({ budget_uid: run }, run)).toBe('The budget of this run has no room');
  expect(titleOf({ budget_uid: above }, run)).toBe('The budget of a run above this one has no room');
  expect(runOf({ budget_uid: above })).toBe(above);
  const shared = { budget_uid: 'jHx3PkVgK1bQ2mTz9LwY4c', budget_name: 'monthly budget of the team' };
  expect(titleOf(shared, run)).toBe('The monthly budget of the team has no room');
  expect(runOf(shared)).toBeUndefined();
  const older = { budget_uid: shared.budget_uid }; // was stored without its name
  expect(titleOf(older, run)).toBe('The budget that this run shares has no room');
  expect(runOf(older)).toBeUndefined();
});
