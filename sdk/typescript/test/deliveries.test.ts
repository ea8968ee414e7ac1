import { expect, test } from 'vitest';
import { useServer } from './server.js';

const server = useServer();

test('a delivery that started nothing says why', async () => {
  const client = server().client();
  const { uid } = await client.factories.create({ name: 'explained' });
  const hook = await client.webhooks.create(uid, { name: 'orders' });
  const wanted = { type: ['order.refunded'] };
  const triggers = [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [hook.uid], payload: wanted } }];
  await client.automations.create(uid, { name: 'refund', prompt: 'Refund it.', triggers });
  const headers = { Authorization: `Bearer ${hook.secret}` };
  const sent = await fetch(hook.ingress_url, { method: 'POST', body: '{"type": "order.created"}', headers });
  expect(sent.status).toBe(202);

  const [delivery] = (await client.deliveries.list(uid, hook.uid)).items;
  const why = {
    operator: 'in',
    actual: ['order.created'],
    expected: ['order.refunded'],
    reason: '`type` is `order.created`; expects `order.refunded`',
  };
  expect(delivery?.matches[0]).toMatchObject({ check: 'payload', failed_at: '/type', ...why });
  const { checks } = await client.automations.testFilter(uid, { filter: wanted, delivery_id: delivery?.delivery_id ?? '' });
  expect(checks.at(-1)).toMatchObject({ check: 'payload', passed: false, path: '/type', ...why });
});
