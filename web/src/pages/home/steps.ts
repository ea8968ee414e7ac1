import type { Factory, ModelInfo } from '@penstock/sdk';

export type StepName = 'model' | 'run' | 'factory' | 'webhook' | 'automation';

export interface Step {
  name: StepName;
  done: boolean;
}

/** The first steps of a team, in order, and which are done. */
export function stepsOf(models: readonly ModelInfo[], ran: boolean, factories: readonly Factory[]): Step[] {
  return [
    { name: 'model', done: models.some(({ id, disable_reason }) => !id.startsWith('demo/') && !disable_reason) },
    { name: 'run', done: ran },
    { name: 'factory', done: factories.length > 0 },
    { name: 'webhook', done: factories.some(({ webhooks_count }) => webhooks_count > 0) },
    { name: 'automation', done: factories.some(({ automations_count }) => automations_count > 0) },
  ];
}
