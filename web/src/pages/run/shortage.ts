import type { BudgetShortage } from '@penstock/sdk';
import { formatCost, formatNumber } from '../../format.ts';

/** The run whose own budget it is: the blocked run, or one above it. undefined if the budget is a shared one. */
export function runOf({ budget_uid, budget_name }: BudgetShortage): string | undefined {
  return budget_name === undefined && budget_uid.includes('-') ? budget_uid : undefined; // UIDs have no hyphen
}

/** What has no room for the next call of a run. */
export function titleOf(s: BudgetShortage, runId: string): string {
  if (s.budget_uid === runId) {
    return 'The budget of this run has no room';
  }
  return runOf(s) ? 'The budget of a run above this one has no room' : `The ${s.budget_name ?? 'budget that this run shares'} has no room`;
}

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
