import { useLocalStorage } from '@mantine/hooks';
import type { RunItem } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { live, useNow } from '../../live.ts';
import { automationsQuery, budgetsQuery, runsQuery, statsQuery, webhooksQuery, workersQuery } from '../../queries.ts';
import { useEach } from '../webhooks/useEach.ts';
import { ofAutomations, ofBudgets, ofFactories, ofWebhooks, ofWorkers, type Problem } from './problems.ts';

/** The seconds between requests for what changes less often than runs. */
const slowly = 60;

/** The failed runs that this browser still remembers as dismissed. */
const mostDismissed = 200;

export interface Attention {
  /** Whether all first requests have ended. */
  ready: boolean;
  blocked: RunItem[];
  /** Whether more runs are blocked. */
  moreBlocked: boolean;
  failed: RunItem[];
  active: RunItem[];
  problems: Problem[];
  dismiss: (run: RunItem) => void;
}

/** What needs a decision, from what the session may read. */
export function useAttention(): Attention {
  const { data: session } = useQuery(sessionQuery);
  const hour = useNow(3600);
  const since = new Date(hour - 24 * 3_600_000).toISOString();
  const [dismissed, setDismissed] = useLocalStorage<string[]>({
    key: 'penstock.dismissed',
    defaultValue: [],
    getInitialValueInEffect: false,
  });
  const blocked = useQuery({ ...runsQuery({ state: ['BLOCKED'], sort_by: 'updated_at', limit: 10 }), ...live(5) });
  const active = useQuery({ ...runsQuery({ state: ['QUEUED', 'CLAIMED', 'PENDING', 'INPROGRESS'], limit: 50 }), ...live(5) });
  const failed = useQuery({ ...runsQuery({ task_status: 'failed', updated_after: since, sort_by: 'updated_at', limit: 20 }), ...live(15) });
  const stats = useQuery({ ...statsQuery(24), ...live(15) });
  const workers = useQuery({ ...workersQuery, ...live(15) });
  const budgets = useQuery({ ...budgetsQuery, ...live(slowly) });
  const reads = may(session?.scopes, 'factories:read');
  const manages = may(session?.scopes, 'factories:manage');
  const automations = useEach(undefined, (one) => one.automations_count, automationsQuery, { live: slowly, enabled: reads });
  const webhooks = useEach(undefined, (one) => one.webhooks_count, webhooksQuery, { live: slowly, enabled: manages });
  const settled = [blocked, active, failed, stats, workers, budgets].every(({ isPending }) => !isPending);
  const capacity = stats.data?.capacity;
  return {
    ready:
      settled &&
      (!reads || automations.rows !== undefined || automations.error !== null) &&
      (!manages || webhooks.rows !== undefined || webhooks.error !== null),
    blocked: blocked.data?.items ?? [],
    moreBlocked: blocked.data?.hasNextPage() ?? false,
    failed: failed.data?.items.filter(({ run_id }) => !dismissed.includes(run_id)) ?? [],
    active: active.data?.items ?? [],
    problems: [
      ...(capacity
        ? ofWorkers(active.data?.items.filter(({ state }) => state === 'QUEUED') ?? [], workers.data?.workers ?? [], capacity)
        : []),
      ...ofBudgets(budgets.data?.budgets ?? []),
      ...ofFactories((reads && automations.factories) || []),
      ...ofWebhooks(webhooks.rows ?? []),
      ...ofAutomations(automations.rows ?? []),
    ],
    dismiss: ({ run_id }) => setDismissed((before) => [run_id, ...before].slice(0, mostDismissed)),
  };
}
