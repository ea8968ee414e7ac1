import { expect, test } from './world.ts';

test('home draws what happened, and tells it as tables', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/');
  await page.getByRole('heading', { name: 'No activity in the last 24 hours' }).waitFor();
  await world.look('home-empty');

  const factory = await server.api.factories.create({ name: 'Payments <script>window.hacked = 1</script>' });
  const webhook = await server.api.webhooks.create(factory.uid, {
    name: 'in',
    auth_mode: 'token',
    secret_name: 'IN',
    secret: 'a-secret-of-some-length',
  });
  const send = (id: string, token: string): Promise<Response> =>
    fetch(webhook.ingress_url, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'Webhook-Id': id },
      body: JSON.stringify({ id }),
    });
  expect((await send('1', 'a-secret-of-some-length')).status).toBe(202);
  expect((await send('2', 'wrong')).status).toBe(401);
  await server.api.runs.create({ prompt: 'demo: say x' });
  await server.api.runs.create({ prompt: 'demo: error it broke' });
  await server.api.factories.runs.create(factory.uid, { prompt: 'demo: say x' });

  const runs = page.getByRole('region', { name: 'Runs by status' });
  await runs.getByText('Succeeded 2').waitFor();
  await runs.getByText('Failed 1').waitFor();
  const deliveries = page.getByRole('region', { name: 'Deliveries by outcome' });
  await deliveries.getByText('Accepted 1').waitFor();
  await deliveries.getByText('Rejected 1').waitFor();
  await page.getByRole('region', { name: 'Queue time' }).getByText('Runs waited').waitFor();
  const costs = page.getByRole('table', { name: 'Cost by factory' });
  await costs.getByRole('link', { name: factory.name }).waitFor();
  await world.look('home');
  await runs.getByText('As a table').click();
  expect(await runs.getByRole('row').count(), 'a row for each hour, and the head').toBe(25);
  await world.look('home-table');
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
});
