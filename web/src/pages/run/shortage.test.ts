import { expect, test } from 'vitest';
import { enoughFor, sentenceOf } from './shortage.ts';

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
