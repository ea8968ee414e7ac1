import { expect, test, type World } from './world.ts';

/** What a person on call asks, each with something to find. */
async function trouble({ server }: World) {
  const { api } = server;
  const { uid } = await api.factories.create({ name: 'shop' });
  const orders = await api.webhooks.create(uid, { name: 'orders' });
  const strangers = await api.webhooks.create(uid, { name: 'strangers' });
  const filter = { webhook_ids: ['orders'], payload: { type: ['order.refunded'] } };
  await api.automations.create(uid, { name: 'refund', prompt: 'x', triggers: [{ provider: 'webhook', event: 'received', filter }] });
  const send = async (url: string, secret: string | undefined): Promise<number> =>
    (await fetch(url, { method: 'POST', body: '{"type": "order.created"}', headers: { Authorization: `Bearer ${secret}` } })).status;
  expect(await send(orders.ingress_url, orders.secret)).toBe(202);
  expect(await send(strangers.ingress_url, 'an-unknown-secret')).toBe(401);
  const { run_id: failed } = await api.runs.create({ prompt: 'demo: error the build broke', title: 'Build the shop' });
  const { run_id: blocked } = await api.runs.create({ prompt: 'demo: ask Which region?', title: 'Move the shop' });
  const { run_id: changed } = await api.runs.create({ prompt: 'demo: say changed', title: 'Change the shop' });
  for (const [run, state] of [
    [failed, 'FAILED'],
    [blocked, 'BLOCKED'],
    [changed, 'SUCCEEDED'],
  ] as const) {
    await expect.poll(async () => (await api.runs.get(run)).state).toBe(state);
  }
  return { changed };
}

test('the first five questions of a person on call are answered on Home, or one click away', async ({ world }) => {
  const { page } = world;
  const { changed } = await trouble(world);
  await world.signIn('/');
  const attention = page.getByRole('region', { name: 'Needs attention' });
  await attention.waitFor();

  // What is broken? A run, and a webhook that only rejects.
  const broken = attention.getByRole('listitem');
  await broken.filter({ hasText: 'Build the shop' }).getByText('the build broke').waitFor();
  await broken.filter({ hasText: 'strangers' }).getByText('Only rejects').waitFor();

  // What waits for me? A question, with a field for the answer.
  const question = attention.getByRole('group', { name: 'Move the shop' });
  await question.getByText('Which region?').waitFor();
  await question.getByRole('textbox').waitFor();

  // What did it cost this week? The sum is on the page, and its parts are one click away.
  const cost = page.getByRole('link', { name: /in 7 days$/ });
  expect(await cost.textContent()).toMatch(/^\$\d/);
  await world.look('on-call');
  await cost.click();
  await page.waitForURL('**/spend?days=7');
  await page.getByRole('heading', { name: 'Spend', level: 1 }).waitFor();

  // Why did this not fire?
  await page.goto(`${world.server.url}/`);
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Webhooks' }).click();
  const last = page.getByRole('region', { name: 'Last deliveries' });
  await last.getByText('type is order.created; expects order.refunded').waitFor();
  await world.look('webhooks-last');

  // What did the agent change?
  await page.goto(`${world.server.url}/`);
  await page.getByRole('link', { name: 'Changes of Change the shop' }).click();
  await page.waitForURL(`**/runs/${changed}?tab=changes`);
  await page.getByRole('tab', { name: 'Changes', selected: true }).waitFor();
  await page.getByText('No changes').first().waitFor();
});
