import { Penstock } from '@penstock/sdk';
import { choose, expect, test } from './world.ts';

test('a secret is stored, gets another value, and is deleted, and nothing shows a value', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/secrets');
  await page.getByRole('heading', { name: 'No secrets yet' }).waitFor();
  await world.look('secrets-empty');
  await page.getByRole('button', { name: 'New secret' }).first().click();
  await page.getByLabel('Name').fill('not a name');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('alert').getByText('Name: must be at most 128 letters').first().waitFor();
  await world.look('secrets-new');
  await page.getByLabel('Name').fill('DEPLOY_TOKEN');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const row = page.getByRole('row', { name: /DEPLOY_TOKEN/ });
  await row.getByText('Pending').waitFor();

  await page.getByRole('button', { name: 'Set value DEPLOY_TOKEN' }).click();
  await page.getByLabel('Value', { exact: true }).fill('a-value-of-mine');
  await page.getByRole('button', { name: 'Set value', exact: true }).click();
  await row.getByText('Set', { exact: true }).waitFor();
  expect(await page.content()).not.toContain('a-value-of-mine');

  const schedule = await server.api.schedules.create({
    name: 'nightly',
    cron_schedule: '0 0 29 2 *',
    prompt: 'x',
    agent_config: { secrets: ['DEPLOY_TOKEN'] },
  });
  await row.getByText('schedule nightly').waitFor();
  await world.look('secrets');
  await page.getByRole('button', { name: 'Delete DEPLOY_TOKEN' }).click();
  await page.getByRole('dialog').getByText('Still in use: schedule nightly').waitFor();
  expect(await page.getByRole('button', { name: 'Delete secret' }).isDisabled()).toBe(true);
  await server.api.schedules.delete(schedule.id);
  await page.getByRole('button', { name: 'Delete secret' }).click();
  await page.getByRole('heading', { name: 'No secrets yet' }).waitFor();
  expect((await server.api.secrets.list()).secrets).toEqual([]);
});

test('a key is shown once, works, and is refused from the moment on at which it is revoked', async ({ world }) => {
  const { page, server } = world;
  const attack = `<img src=x onerror="window.hacked = 1">`;
  await world.signIn('/keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill(attack);
  await world.look('keys-role');
  await choose(page.getByRole('combobox', { name: 'May do' }), { name: 'Single scopes' });
  await page.getByLabel('runs:read').check();
  await page.getByLabel('factories:read').check();
  await choose(page.getByRole('combobox', { name: 'Expires' }), { name: 'In 30 days' });
  await world.look('keys-new');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const key = (await page.getByRole('region', { name: 'the key', exact: true }).textContent()) ?? '';
  expect(key).toMatch(/^psk_/);
  await world.look('keys-reveal');
  await page.getByRole('button', { name: 'Copy: the key' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key);
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  expect(await page.content()).not.toContain(key);

  const bearer = new Penstock({ baseURL: server.url, apiKey: key });
  expect((await bearer.me.get()).scopes).toEqual(['factories:read', 'runs:read']);
  const row = page.getByRole('row').filter({ hasText: attack });
  await row.getByText('factories:read runs:read').waitFor();
  await world.look('keys');
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  const titles = page.evaluate(async () => {
    const seen: (string | undefined)[] = [];
    for (let title: Element | null = null; title || seen.length === 0; ) {
      await new Promise(requestAnimationFrame);
      title = document.querySelector('[role=dialog] h2');
      if (title) {
        seen.push(title.textContent ?? '');
      }
    }
    return new Set(seen).size;
  });
  await row.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByText('will reject requests').waitFor();
  await page.getByRole('button', { name: 'Go back' }).click();
  expect(await titles, 'the question while it goes').toBe(1);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await row.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('button', { name: 'Revoke key' }).click();
  await row.waitFor({ state: 'detached' });
  await expect(bearer.me.get()).rejects.toMatchObject({ statusCode: 401 });
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
});

test('a user owns a key with a role, and is refused from the moment on at which she is disabled', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/people');
  await page.getByRole('row', { name: /Admin/ }).waitFor();
  await page.getByRole('button', { name: 'New user' }).click();
  await page.getByLabel('Name').fill('Ada Brandt');
  await page.getByLabel('E-mail').fill('ada');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('alert').getByText('must be an address').first().waitFor();
  await page.getByLabel('E-mail').fill('ada@example.com');
  await world.look('people-new');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const row = page.getByRole('row', { name: /Ada Brandt/ });
  await row.getByText('user', { exact: true }).waitFor();

  await page.getByRole('link', { name: 'Keys' }).click();
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('laptop');
  await choose(page.getByRole('combobox', { name: 'Owner' }), { name: 'Ada Brandt' });
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const key = (await page.getByRole('region', { name: 'the key', exact: true }).textContent()) ?? '';
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page
    .getByRole('row', { name: /laptop/ })
    .getByText('Ada Brandt')
    .waitFor();
  const hers = new Penstock({ baseURL: server.url, apiKey: key });
  expect(await hers.me.get()).toMatchObject({ actor: { display_name: 'Ada Brandt' }, grants: [{ role: 'user' }] });

  await page.getByRole('link', { name: 'People' }).click();
  await page.getByRole('button', { name: 'Roles Ada Brandt' }).click();
  await page.getByLabel('Viewer').check();
  await page.getByLabel('User').uncheck();
  await world.look('people-roles');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await row.getByText('viewer', { exact: true }).waitFor();
  await expect(hers.runs.create({ prompt: 'x' })).rejects.toMatchObject({ statusCode: 403 });
  await page.getByRole('button', { name: 'Disable Ada Brandt' }).click();
  await page.getByRole('button', { name: 'Disable', exact: true }).click();
  await row.getByText('Disabled').waitFor();
  await world.look('people');
  await expect(hers.me.get()).rejects.toMatchObject({ statusCode: 401 });

  await page.getByRole('button', { name: 'Disable Admin' }).click();
  await page.getByRole('button', { name: 'Disable', exact: true }).click();
  await page.getByRole('alert').getByText('without an admin').waitFor();
  await page.getByRole('button', { name: 'Go back' }).click();
  await page.getByRole('button', { name: 'Enable Ada Brandt' }).click();
  await row.getByText('Enabled').waitFor();
  expect((await hers.me.get()).scopes).toEqual(['factories:read', 'runs:read']);
});

test('who may only read sees no button that would change something', async ({ world }) => {
  const { page, server } = world;
  const { key = '' } = await server.api.keys.create({ name: 'reader', scopes: ['runs:read', 'factories:read'] });
  await server.api.environments.create({ name: 'linux' });
  await world.signIn('/environments', page, key);
  await page.getByText('linux').waitFor();
  const navigation = page.getByRole('navigation', { name: 'Main' });
  expect(await navigation.getByRole('link', { name: 'Keys' }).count()).toBe(0);
  expect(await navigation.getByRole('link', { name: 'Secrets' }).count()).toBe(0);
  expect(await page.getByRole('button', { name: /New|Edit|Delete/ }).count()).toBe(0);
  await page.goto(`${server.url}/schedules`);
  await page.getByRole('heading', { name: 'No schedules yet' }).waitFor();
  expect(await page.getByRole('button', { name: /New|Edit|Delete/ }).count()).toBe(0);
  await page.goto(`${server.url}/secrets`);
  await expect(page.getByRole('alert').textContent()).resolves.toMatch(/secrets:manage/);
});

test('a page of something that does not exist says so, and leads to the list', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'here' });
  const hook = await server.api.webhooks.create(uid, { name: 'in' });
  const none = '01a1fd4a-7345-7000-b691-c4884c92adfe';
  await world.signIn('/');
  const missing = async (path: string, noun: string, link: string, to: string): Promise<void> => {
    await page.goto(server.url + path);
    const alert = page.getByRole('alert');
    await alert.getByText(`This ${noun} does not exist`).waitFor();
    expect(await page.getByRole('alert').count(), path).toBe(1);
    expect(await page.getByRole('button', { name: 'Try again' }).count(), path).toBe(0);
    await alert.getByRole('link', { name: link }).click();
    await page.waitForURL(`${server.url}${to}`);
  };
  await missing('/factory/AAAAAAAAAAAAAAAAAAAAAA', 'factory', 'Go to Factories', '/factories');
  await missing('/factory/AAAAAAAAAAAAAAAAAAAAAA/files', 'factory', 'Go to Factories', '/factories');
  await missing('/factory/AAAAAAAAAAAAAAAAAAAAAA/history', 'factory', 'Go to Factories', '/factories');
  await missing(`/factory/${uid}/webhooks/${uid}`, 'webhook', 'Go to Webhooks', '/webhooks');
  await missing(`/factory/${uid}/automations/${uid}`, 'automation', 'Go to Automations', '/automations');
  await missing(`/environments/${uid}`, 'environment', 'Go to Environments', '/environments');
  const log = `/factory/${uid}/webhooks/${hook.uid}`;
  await missing(`${log}/deliveries/${none}`, 'delivery', 'Go to the deliveries of the webhook', log);
  await page.goto(`${server.url}${log}/deliveries/${none}`);
  await page.getByText('This delivery does not exist').waitFor();
  await world.look('delivery-missing');
  await page.goto(`${server.url}/factory/AAAAAAAAAAAAAAAAAAAAAA`);
  await page.getByText('This factory does not exist').waitFor();
  await world.look('factory-missing');
  for (const [path, link] of [[`/schedules/${none}`, 'Go to Schedules']] as const) {
    await page.goto(server.url + path);
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    await page.getByRole('link', { name: link }).click();
    await page.waitForURL((url) => url.pathname === path.slice(0, path.lastIndexOf('/')));
  }
});

test('a key that cannot read webhooks is told so, and is offered nothing that it cannot do', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'closed' });
  const hook = await server.api.webhooks.create(uid, { name: 'in' });
  const { key = '' } = await server.api.keys.create({ name: 'looks', scopes: ['runs:read', 'factories:read'] });
  await world.signIn('/webhooks', page, key);
  await page.getByText('Your key cannot read webhooks. It needs the scope factories:manage.').waitFor();
  expect(await page.getByRole('button', { name: /New/ }).count()).toBe(0);
  await world.look('webhooks-forbidden');
  await page.goto(`${server.url}/factory/${uid}/webhooks/${hook.uid}`);
  const alert = page.getByRole('alert');
  await alert.getByText(/factories:manage/).waitFor();
  await alert.getByRole('link', { name: 'Go to Webhooks' }).waitFor();
  expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
  await page.goto(`${server.url}/factory/${uid}/automations/new`);
  await page.getByText('Your key cannot create automations.').waitFor();
  expect(await page.getByRole('button', { name: 'Create' }).count()).toBe(0);
  for (const path of [
    '/runs',
    '/factories',
    '/automations',
    '/schedules',
    '/environments',
    '/spend',
    '/secrets',
    '/keys',
    `/factory/${uid}/files`,
  ]) {
    await page.goto(server.url + path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForFunction(() => document.querySelectorAll('[aria-busy="true"]').length === 0);
    expect(await page.getByRole('button', { name: /^New / }).count(), path).toBe(0);
    expect(await page.getByRole('link', { name: /^New / }).count(), path).toBe(0);
  }
});
