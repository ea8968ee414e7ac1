import type { Locator } from 'playwright-core';
import { expect, test } from './world.ts';

test('home draws what happened, and tells it as tables', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/');
  await page.getByRole('heading', { name: 'No activity in the last 24 hours' }).waitFor();
  const steps = page.getByRole('region', { name: 'First steps' });
  await expect.poll(() => steps.getByRole('listitem').count()).toBe(5);
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
  const legend = (text: string) => runs.getByRole('listitem').filter({ hasText: text });
  await legend('Succeeded 2').waitFor();
  await legend('Failed 1').waitFor();
  const deliveries = page.getByRole('region', { name: 'Deliveries by outcome' });
  await deliveries.getByText('Accepted 1').waitFor();
  await deliveries.getByText('Rejected 1').waitFor();
  await page.getByRole('region', { name: 'Queue time' }).getByText('Runs waited').waitFor();
  await page.getByRole('region', { name: 'Cost by model' }).getByText('$0.00 in all').waitFor();
  await page.getByRole('navigation', { name: 'Cost by' }).getByRole('link', { name: 'Factory' }).click();
  await page.getByRole('region', { name: 'Cost by factory' }).waitFor();
  await world.look('home');
  await runs.getByText('As a table').click();
  expect(await runs.getByRole('row').count(), 'a row for each hour, and the head').toBe(25);
  await world.look('home-table');
  const hours = runs.locator('svg g');
  const said = runs.getByText('Succeeded: 2');
  const shows = async (hour: Locator) => {
    await hour.hover();
    return said.waitFor({ timeout: 2000 }).then(
      () => true,
      () => false,
    );
  };
  // Of the runs, an hour may have passed since.
  await expect.poll(async () => (await shows(hours.last())) || shows(hours.nth(-2))).toBe(true);
  await runs.getByRole('cell').getByRole('link', { name: '2', exact: true }).click();
  await page.waitForURL('**/runs?state=SUCCEEDED&created_after=*');
  await expect.poll(() => page.getByRole('row').getByText('Succeeded').count()).toBe(2);
  for (const [label, least] of [
    ['7 days', 25],
    ['30 days', 30],
  ] as const) {
    await page.goBack();
    await page.getByRole('navigation', { name: 'Time' }).getByRole('link', { name: label }).click();
    await legend('Succeeded 2').waitFor();
    await expect.poll(() => runs.locator('svg g').count()).toBeGreaterThan(least - 5);
    await world.look(`home-${label.replace(' ', '-')}`);
    // The bars of the time before may still be there, and give way to the new ones during the click.
    await expect
      .poll(async () => {
        await runs
          .locator('svg a')
          .first()
          .click({ timeout: 2000 })
          .catch(() => undefined);
        return page.url();
      })
      .toMatch(/\/runs\?state=SUCCEEDED&created_after=/);
    await expect.poll(() => page.getByRole('row').getByText('Succeeded').count()).toBe(2);
  }
  await page.goto(server.url);
  await deliveries.getByText('Rejected 1').waitFor();
  await deliveries.locator('svg a').last().click();
  await page.waitForURL('**/webhooks?outcome=rejected&received_after=*');
  const found = page.getByRole('region', { name: 'Rejected deliveries' });
  await found.getByText('The secret or signature does not match.').waitFor();
  expect(await found.getByRole('listitem').count()).toBe(1);
  await world.look('webhooks-rejected');
  await found.getByRole('link', { name: 'Show all webhooks' }).click();
  await page.waitForURL('**/webhooks');
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
});

test('home shows what needs attention, and lets one decide there', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'orders' });
  const create = (name: string) =>
    server.api.webhooks.create(uid, { name, auth_mode: 'token', secret_name: name.toUpperCase(), secret: 'a-secret-of-some-length' });
  const webhook = await create('wrong');
  const rejected = await fetch(webhook.ingress_url, { method: 'POST', body: '{}', headers: { Authorization: 'Bearer no' } });
  expect(rejected.status).toBe(401);
  const triggers = [{ provider: 'github', event: 'issue_created' }];
  await server.api.automations.create(uid, { name: 'triage', prompt: 'x', triggers });
  const away = await server.api.runs.create({ prompt: 'x', title: 'For a lost worker', config: { worker_host: 'build-box-9' } });
  const broken = await server.api.runs.create({ prompt: 'demo: error it broke', title: 'It breaks' });
  const asking = await server.api.runs.create({ prompt: 'demo: ask Which region?\ndemo: say Thanks', title: 'It asks' });
  await expect.poll(async () => (await server.api.runs.get(asking.run_id)).state).toBe('BLOCKED');
  await expect.poll(async () => (await server.api.runs.get(broken.run_id)).state).toBe('FAILED');

  await world.signIn('/');
  const attention = page.getByRole('region', { name: 'Needs attention' });
  const line = (name: string) => attention.getByRole('listitem').filter({ has: page.getByRole('link', { name, exact: true }) });
  await line('wrong').getByText('Only rejects').waitFor();
  await line('triage').getByText('Can’t fire').waitFor();
  await line('build-box-9').getByText('Not connected').waitFor();
  await line('It breaks').getByText('it broke').waitFor();
  await attention.getByRole('group', { name: 'It asks' }).getByText('Which region?').waitFor();
  await world.look('home-attention');

  await attention.getByRole('textbox', { name: 'Your answer' }).fill('eu-1');
  await attention.getByRole('button', { name: 'Answer' }).click();
  await expect.poll(async () => (await server.api.runs.get(asking.run_id)).state).toBe('SUCCEEDED');
  await expect.poll(() => attention.getByText('Which region?').count()).toBe(0);
  await line('It breaks').getByRole('button', { name: 'Dismiss' }).click();
  await page.reload();
  await line('wrong').waitFor();
  expect(await line('It breaks').count()).toBe(0);
  await page.getByRole('button', { name: 'Cancel run For a lost worker' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel run' }).click();
  await expect.poll(async () => (await server.api.runs.get(away.run_id)).state).toBe('CANCELLED');
  await expect.poll(() => line('build-box-9').count()).toBe(0);
});

test('the first steps are checked off, and can be hidden', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'first' });
  await server.api.webhooks.create(uid, { name: 'in' });
  await world.signIn('/');
  const steps = page.getByRole('region', { name: 'First steps' });
  await steps.getByText('Create a factory (done)').waitFor();
  await steps.getByText('Create a webhook (done)').waitFor();
  await steps.getByRole('link', { name: 'Models of this server' }).click();
  await page.getByRole('heading', { name: 'Settings' }).waitFor();
  await page.goBack();
  await steps.getByRole('button', { name: 'Hide' }).click();
  await steps.waitFor({ state: 'hidden' });
  await page.reload();
  await page.getByRole('region', { name: 'Active runs' }).waitFor();
  expect(await steps.count()).toBe(0);
});
