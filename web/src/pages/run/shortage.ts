import type { BudgetShortage } from '@penstock/sdk';
import { formatCost, formatNumber } from '../../format.ts';

/** Why a budget has no room for the next call, and what continues the run. */
export function sentenceOf(s: BudgetShortage): string {
  const [spent, cap, needed] =
    s.cap_tokens !== undefined
      ? [`${formatNumber(s.spent_tokens ?? 0)} tokens`, formatNumber(s.cap_tokens), formatNumber(s.needed_tokens ?? 0)]
      : [formatCost(s.spent_usd ?? 0), formatCost(s.cap_usd ?? 0), formatCost(s.needed_usd ?? 0)];
  return `${spent} of ${cap} are spent or reserved, and the next model call can use up to ${needed}. The run continues once the budget has room for that call.`;
}

/** A cap with room for the next call: twice the present one, or more. */
export function enoughFor(s: BudgetShortage): number {
  if (s.cap_tokens !== undefined) {
    return Math.max(2 * s.cap_tokens, (s.spent_tokens ?? 0) + (s.needed_tokens ?? 0));
  }
  const enough = Math.max(2 * (s.cap_usd ?? 0), (s.spent_usd ?? 0) + (s.needed_usd ?? 0));
  return Math.ceil(enough * 100) / 100;
}
