import type { Factory, ModelInfo } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { stepsOf } from './steps.ts';

const model = (id: string, disable_reason?: string): ModelInfo => ({ id, ...(disable_reason ? { disable_reason } : {}) }) as ModelInfo;
const done = (...args: Parameters<typeof stepsOf>): string[] => stepsOf(...args).flatMap((step) => (step.done ? [step.name] : []));

test('a step is done once there is what it creates', () => {
  expect(done([model('demo/offline'), model('openai/gpt', 'ADMIN_DISABLED')], false, [])).toEqual([]);
  expect(done([model('openai/gpt')], true, [])).toEqual(['model', 'run']);
  const factory = (webhooks_count: number, automations_count: number): Factory => ({ webhooks_count, automations_count }) as Factory;
  expect(done([], false, [factory(0, 0)])).toEqual(['factory']);
  expect(done([], false, [factory(1, 0), factory(0, 2)])).toEqual(['factory', 'webhook', 'automation']);
});
