import { expect, test } from './world.ts';

test('the log of a webhook is paged without jumps, and a link keeps its page and outcome', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'paged' });
  const hook = await server.api.webhooks.create(uid, { name: 'many' });
  let sent = 0;
  const send = async (token = hook.secret): Promise<number> => {
    const response = await fetch(hook.ingress_url, {
      method: 'POST',
      body: JSON.stringify({ n: ++sent }),
      headers: { Authorization: `Bearer ${token}`, 'X-Penstock-Delivery-Id': `n-${sent}` },
    });
    return response.status;
  };
  for (let i = 0; i < 52; i++) {
    expect(await send()).toBe(202);
  }
  await world.signIn(`/factory/${uid}/webhooks/${hook.uid}`);
  const list = page.getByRole('list', { name: 'Deliveries' });
  const ids = (): Promise<(string | null)[]> =>
    list.getByRole('checkbox').evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
  await expect.poll(async () => (await ids()).length).toBe(50);
  const first = await ids();
  await page.getByRole('button', { name: 'Older' }).click();
  await page.waitForURL('**cursor=**');
  await expect.poll(async () => (await ids()).length).toBe(2);
  const second = await ids();
  expect(second.filter((id) => first.includes(id))).toEqual([]);

  expect(await send()).toBe(202);
  await page.reload();
  await expect.poll(ids).toEqual(second);
  await page.getByRole('button', { name: 'Newest' }).click();
  await expect.poll(async () => (await ids()).slice(1)).toEqual(first.slice(0, -1)); // the earlier ones come after the new one

  expect(await send('another-secret')).toBe(401);
  await page.getByRole('link', { name: 'Rejected', exact: true }).click();
  await page.waitForURL('**?outcome=rejected');
  await list.getByRole('button', { name: /^Rejected \(auth\)/ }).waitFor();
  expect(await list.getByRole('listitem').count()).toBe(1);
  expect(await page.getByRole('button', { name: 'Older' }).count()).toBe(0);
});

test('the log is searched by its payloads and dates, and what it shows or what is selected is replayed', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'searched' });
  const hook = await server.api.webhooks.create(uid, { name: 'orders' });
  const send = async (body: unknown): Promise<void> => {
    const sent = await fetch(hook.ingress_url, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { Authorization: `Bearer ${hook.secret}` },
    });
    expect(sent.status).toBe(202);
  };
  await send({ type: 'order.paid', order: 'ZRH-1' });
  await send({ type: 'order.refunded', order: 'ZRH-2' });
  await send({ type: 'order.paid', order: 'BSL-3' });
  await world.signIn(`/factory/${uid}/webhooks/${hook.uid}`);
  const entries = page.getByRole('list', { name: 'Deliveries' }).getByRole('listitem');
  await expect.poll(() => entries.count()).toBe(3);
  await entries.nth(1).getByText('order.refunded', { exact: true }).waitFor();
  await entries.nth(1).getByText(/ZRH-2/).waitFor();

  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await entries
    .first()
    .getByText(/^No automation used this webhook/)
    .waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('textbox', { name: 'Search' }).fill('ZRH');
  await page.waitForURL('**search=ZRH');
  await expect.poll(() => entries.count()).toBe(2);
  await page.getByRole('link', { name: 'No run', exact: true }).click();
  await page.waitForURL((url) => url.searchParams.get('no_run') === 'true' && url.searchParams.get('search') === 'ZRH');
  await expect.poll(() => entries.count()).toBe(2);
  await world.look('deliveries-search');

  const triggers = [{ provider: 'webhook', event: 'received', filter: { webhook_ids: ['orders'] } }];
  await server.api.automations.create(uid, { name: 'ship', prompt: 'demo: say shipped', triggers });
  await page.getByRole('button', { name: 'Replay all that match' }).click();
  const dialog = page.getByRole('dialog');
  await expect.poll(() => dialog.getByRole('listitem').count()).toBe(2);
  await dialog.getByText(/order\.refunded/).waitFor();
  await world.look('deliveries-replay');
  await dialog.getByRole('button', { name: 'Replay 2 deliveries' }).click();
  await page.getByText('2 deliveries replayed, 2 runs started.').waitFor();

  await page.getByRole('button', { name: 'Clear the search' }).click();
  await page.getByRole('link', { name: 'All', exact: true }).click();
  await expect.poll(() => entries.count()).toBe(5);
  await entries.last().getByRole('checkbox').check();
  await page.getByText('1 selected').waitFor();
  await page.getByRole('button', { name: 'Replay selected' }).click();
  await dialog.getByRole('button', { name: 'Replay 1 delivery' }).click();
  await page.getByText('1 delivery replayed, 1 run started.').waitFor();
  await expect.poll(() => entries.count()).toBe(6);
  const { items } = await server.api.runs.list({ webhook_uid: hook.uid });
  expect(items).toHaveLength(3);

  await page.getByLabel('Received after').fill('2999-01-01T00:00');
  await page.getByLabel('Received after').press('Enter');
  await page.getByText('No such deliveries.').waitFor();
  await page.getByLabel('Received after').fill('');
  await page.getByLabel('Received before').fill('2999-01-01T00:00');
  await page.getByLabel('Received before').press('Enter');
  await expect.poll(() => entries.count()).toBe(6);
  expect(new URL(page.url()).searchParams.has('received_after')).toBe(false);
});
