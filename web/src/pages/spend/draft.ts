import type { Budget, CreateBudgetRequest, UpdateBudgetRequest } from '@penstock/sdk';

/** The fields of the form for a budget. Numbers are as they were typed. */
export interface BudgetDraft {
  scope: CreateBudgetRequest['scope'];
  scopeUid: string | null;
  period: CreateBudgetRequest['period'];
  timeZone: string;
  cap: number | string;
  action: NonNullable<CreateBudgetRequest['action']>;
  notifyAt: string;
}

export function draftOf(budget?: Budget): BudgetDraft {
  return {
    scope: (budget?.scope ?? 'team') as BudgetDraft['scope'],
    scopeUid: budget?.scope_uid ?? null,
    period: (budget?.period ?? 'month') as BudgetDraft['period'],
    timeZone: budget?.time_zone ?? 'UTC',
    cap: budget?.max_cost_usd ?? '',
    action: (budget?.action ?? 'pause') as BudgetDraft['action'],
    notifyAt: (budget?.notify_at ?? [0.8]).map((share) => String(Math.round(share * 10_000) / 100)).join(', '),
  };
}

/** Reads percentages such as "50, 80 %". Returns undefined for other texts. */
export function sharesOf(text: string): number[] | undefined {
  const words = text.split(/[\s,%]+/).filter(Boolean);
  const shares = words.map((word) => Math.round(Number(word) * 100) / 10_000);
  return shares.every((share) => share > 0 && share <= 1) ? shares : undefined;
}

export function isComplete(draft: BudgetDraft): boolean {
  return (
    draft.cap !== '' &&
    Number(draft.cap) >= 0 &&
    sharesOf(draft.notifyAt) !== undefined &&
    draft.timeZone.trim() !== '' &&
    (draft.scope === 'team' || !!draft.scopeUid?.trim())
  );
}

export function changeOf(draft: BudgetDraft) {
  return {
    period: draft.period,
    time_zone: draft.timeZone.trim(),
    max_cost_usd: Number(draft.cap),
    action: draft.action,
    notify_at: sharesOf(draft.notifyAt) ?? [],
  } satisfies UpdateBudgetRequest;
}

export function requestOf(draft: BudgetDraft): CreateBudgetRequest {
  const { scope, scopeUid } = draft;
  return { scope, ...(scope === 'team' ? {} : { scope_uid: scopeUid?.trim() ?? '' }), ...changeOf(draft) };
}
