import type { Automation, Budget, ConnectedWorker, Factory, RunItem, Webhook } from '@penstock/sdk';
import { expect, test } from 'vitest';
import type { Of } from '../webhooks/useEach.ts';
import { ofAutomations, ofBudgets, ofFactories, ofWebhooks, ofWorkers, type Problem } from './problems.ts';

const factory = { uid: 'f', name: 'payments', definition: { status: 'applied', revision: 1 } } as Factory;
const words = (problems: Problem[]): string[] => problems.map(({ word, name }) => `${word}: ${name}`);

test('a webhook is a problem if it only rejects, not if nothing came', () => {
  const webhook = (name: string, accepted: number, rejected: number, more: object = {}): Of<Webhook> =>
    ({ uid: name, name, label: name, enabled: true, counts: { accepted, rejected }, factory, ...more }) as Of<Webhook>;
  const list = [
    webhook('quiet', 0, 0),
    webhook('mixed', 1, 9),
    webhook('wrong', 0, 1),
    webhook('off', 0, 1, { enabled: false }),
    webhook('new', 0, 0, { pending_secret: true }),
    webhook('stopped', 5, 0, { suspended: true }),
    webhook('left', 0, 0, { enabled: false, counts: { accepted: 0, rejected: 0, turned_away: 3 } }),
  ];
  const problems = ofWebhooks(list);
  expect(words(problems)).toEqual(['Only rejects: wrong', 'Secret missing: new', 'Suspended: stopped', 'Disabled: left']);
  expect(problems.map(({ detail }) => detail).slice(2)).toEqual([
    'It rejects deliveries until it is resumed.',
    'Its sender still sends. It turned away 3 deliveries in the last 24 hours.',
  ]);
});

test('an automation is a problem if it is enabled and cannot fire', () => {
  const automation = (name: string, enabled: boolean, problems?: object[]): Of<Automation> =>
    ({ uid: name, name, enabled, problems, factory }) as Of<Automation>;
  const why = [{ pointer: '/agent', detail: 'not found' }];
  expect(words(ofAutomations([automation('a', true, why), automation('b', false, why), automation('c', true)]))).toEqual(['Can’t fire: a']);
});

test('a factory is a problem if its repository or its commit is', () => {
  const of = (name: string, definition: object): Factory => ({ ...factory, uid: name, name, definition }) as Factory;
  const list = [factory, of('gone', { status: 'applied', problem: 'no access' }), of('broken', { status: 'invalid', detail: 'x' })];
  expect(words(ofFactories(list))).toEqual(['Unreachable: gone', 'Rejected: broken']);
});

test('a worker is a problem if runs wait for it', () => {
  const run = (worker_host?: string): RunItem => ({ agent_config: { worker_host } }) as RunItem;
  const workers = [{ worker_host: 'here' }] as ConnectedWorker[];
  const capacity = { slots: 4, busy: 0, server_slots: 4, server_busy: 0, queued: 3 };
  expect(words(ofWorkers([run('here'), run('away'), run('away'), run()], workers, capacity))).toEqual(['Not connected: away']);
  expect(words(ofWorkers([run()], [], { ...capacity, slots: 0 }))).toEqual(['No worker: No worker is connected']);
});

test('a budget is a problem from its first notice on', () => {
  const budget = (uid: string, spent_usd: number, notify_at: number[] = []): Budget =>
    ({ uid, scope: 'team', period: 'day', max_cost_usd: 10, spent_usd, notify_at }) as unknown as Budget;
  expect(words(ofBudgets([budget('a', 5), budget('b', 8), budget('c', 10), budget('d', 5, [0.5, 0.9])]))).toEqual([
    'Budget near: team',
    'Budget spent: team',
    'Budget near: team',
  ]);
});
