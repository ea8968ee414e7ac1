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
    list.locator('button .mono').evaluateAll((all) => all.map((one) => one.getAttribute('title')));
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
  await expect.poll(async () => (await ids()).slice(1)).toEqual(first.slice(0, -1)); // those of before come after the new one

  expect(await send('another-secret')).toBe(401);
  await page.getByRole('link', { name: 'Rejected', exact: true }).click();
  await page.waitForURL('**?outcome=rejected');
  await list.getByRole('button', { name: /^Rejected \(auth\)/ }).waitFor();
  expect(await list.getByRole('listitem').count()).toBe(1);
  expect(await page.getByRole('button', { name: 'Older' }).count()).toBe(0);
});
