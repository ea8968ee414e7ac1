import type { Automation, Budget, ConnectedWorker, Factory, RunItem, Stats, Webhook } from '@penstock/sdk';
import { formatCost, formatCount, withFactory } from '../../format.ts';
import type { Tone } from '../../states.ts';
import type { Of } from '../webhooks/useEach.ts';

/** Something that does not work, and where a person can change that. */
export interface Problem {
  key: string;
  tone: Tone;
  /** The kind of problem in a word or two. */
  word: string;
  name: string;
  to: string;
  detail: string;
}

const upper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const plural = (n: number, verb: string): string => (n === 1 ? `${verb}s` : verb);

/** Webhooks that only reject deliveries, or cannot accept any. A disabled one is a problem if deliveries still come. */
export function ofWebhooks(webhooks: readonly Of<Webhook>[]): Problem[] {
  return webhooks.flatMap((webhook): Problem[] => {
    const { counts, enabled, pending_secret, suspended, factory } = webhook;
    const told = { name: webhook.label || webhook.name, to: `/factory/${factory.uid}/webhooks/${webhook.uid}` };
    const lost = counts.turned_away
      ? ` It turned away ${formatCount(counts.turned_away, 'delivery', 'deliveries')} in the last 24 hours.`
      : '';
    const off = (word: string, detail: string): Problem[] => [{ key: webhook.uid, tone: 'warn', word, ...told, detail: detail + lost }];
    if (pending_secret) {
      return off('Secret missing', 'It rejects deliveries until it has its secret.');
    }
    if (enabled && suspended) {
      return off('Suspended', 'It rejects deliveries until it is resumed.');
    }
    if (!enabled && lost) {
      return off('Disabled', 'Its sender still sends.');
    }
    return enabled && counts.accepted === 0 && counts.rejected > 0
      ? [
          {
            key: webhook.uid,
            tone: 'bad',
            word: 'Only rejects',
            ...told,
            detail: `It rejected ${formatCount(counts.rejected, 'delivery', 'deliveries')} in the last 24 hours, and accepted none.`,
          },
        ]
      : [];
  });
}

/** Enabled automations that cannot fire. */
export function ofAutomations(automations: readonly Of<Automation>[]): Problem[] {
  return automations.flatMap(({ uid, name, enabled, problems, factory }) =>
    enabled && problems?.[0]
      ? [
          {
            key: uid,
            tone: 'warn',
            word: 'Can’t fire',
            name,
            to: `/factory/${factory.uid}/automations/${uid}`,
            detail: upper(problems[0].detail),
          },
        ]
      : [],
  );
}

/** Factories whose newest commit was rejected, or whose repository cannot be read. */
export function ofFactories(factories: readonly Factory[]): Problem[] {
  return factories.flatMap(({ uid, name, definition }) => {
    const told = { key: uid, tone: 'bad' as const, name, to: `/factory/${uid}` };
    if (definition.problem) {
      return [{ ...told, word: 'Unreachable', detail: definition.problem }];
    }
    return definition.status === 'invalid'
      ? [{ ...told, word: 'Rejected', detail: definition.detail ?? 'The newest commit was rejected. The revision before it stays active.' }]
      : [];
  });
}

/** Workers that runs wait for and that are not connected. */
export function ofWorkers(queued: readonly RunItem[], workers: readonly ConnectedWorker[], capacity: Stats['capacity']): Problem[] {
  const connected = new Set(workers.map(({ worker_host }) => worker_host));
  const waiting = new Map<string, number>();
  for (const { agent_config } of queued) {
    const host = agent_config?.worker_host;
    if (host && !connected.has(host)) {
      waiting.set(host, (waiting.get(host) ?? 0) + 1);
    }
  }
  const lost = [...waiting].map(([host, runs]): Problem => {
    const detail = `${formatCount(runs, 'queued run')} ${plural(runs, 'wait')} for this host, and no worker on it is connected.`;
    return { key: `worker ${host}`, tone: 'bad', word: 'Not connected', name: host, to: '/workers', detail };
  });
  if (capacity.slots > 0 || capacity.queued === 0) {
    return lost;
  }
  const detail = `${formatCount(capacity.queued, 'run')} ${plural(capacity.queued, 'wait')}.`;
  return [{ key: 'workers', tone: 'bad', word: 'No worker', name: 'No worker is connected', to: '/workers', detail }, ...lost];
}

/** Budgets that are spent, or close to it. */
export function ofBudgets(budgets: readonly Budget[]): Problem[] {
  return budgets.flatMap(({ uid, scope, scope_name, factory_name, period, max_cost_usd: most, spent_usd: spent, notify_at }) => {
    if (spent < most * Math.min(0.8, ...notify_at)) {
      return [];
    }
    const over = spent >= most;
    return [
      {
        key: uid,
        tone: over ? 'bad' : 'warn',
        word: over ? 'Budget spent' : 'Budget near',
        name: withFactory(scope_name ?? scope, factory_name),
        to: '/spend',
        detail: `${formatCost(spent)} of ${formatCost(most)} (${period}).`,
      },
    ];
  });
}
