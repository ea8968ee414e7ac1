import { createHmac, randomUUID } from 'node:crypto';
import { Forge } from './forge.ts';
import { Server } from './server.ts';
import { choose, expect, test as plain, type World } from './world.ts';

const test = plain.extend<{ forge: Forge; server: Server }>({
  forge: [
    // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of what a fixture needs
    async ({}, use) => {
      const forge = await Forge.start();
      await use(forge);
      forge.end();
    },
    { scope: 'file' },
  ],
  server: [
    async ({ forge }, use) => {
      const server = await Server.start('--private-network', '127.0.0.0/8', '--ca-file', forge.certificate);
      await use(server);
      await server.end();
    },
    { scope: 'file' },
  ],
});

const bot = ['write:repository', 'write:issue', 'read:user'];

test('a forge is connected, checked, given another token and deleted', async ({ world, forge }) => {
  const { page, server } = world;
  forge.tokens.set('f1rst', ['write:repository', 'read:user']).set('sec0nd', bot).set('reader', ['read:repository']);
  await world.signIn('/');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Forges' }).click();
  await page.getByRole('heading', { name: 'No connections to forges' }).waitFor();
  await world.look('forges-none');
  await page.getByRole('button', { name: 'Connect' }).last().click();

  const dialog = page.getByRole('dialog');
  const refused = dialog.getByText('the forge refuses it (401)', { exact: true }); // below the field
  const connect = dialog.getByRole('button', { name: 'Connect' });
  await dialog.getByLabel('Name').fill('acme');
  await dialog.getByLabel(/^Token/).fill('wr0ng');
  expect(await connect.isDisabled(), 'GitHub needs no URL').toBe(false);
  await choose(dialog.getByRole('combobox', { name: 'Provider' }), { name: 'Gitea or Forgejo' });
  expect(await connect.isDisabled(), 'the URL is missing').toBe(true);
  await dialog.getByLabel('URL').fill(forge.url);
  await dialog.getByLabel('Repositories').fill('acme/*, shop');
  await connect.click();
  await dialog.getByText('shop: must be owner/name, or owner/* for all of an owner', { exact: true }).waitFor();
  await dialog.getByLabel('Repositories').fill('acme/*');
  await connect.click();
  await refused.waitFor();
  expect((await server.api.forges.list()).forges).toEqual([]);
  await world.look('forge-connect');
  await dialog.getByLabel(/^Token/).fill('f1rst');
  await connect.click();
  await dialog.getByRole('button', { name: 'I have copied it' }).click();
  await dialog.waitFor({ state: 'detached' });
  const row = page.getByRole('table', { name: 'Connections' }).getByRole('row', { name: 'acme' });
  await row.getByText('Degraded').waitFor();
  await row.getByText('write:issue: the token lacks the permission write:issue').waitFor();
  await row.getByText('penstock-bot').waitFor();
  expect(await page.content()).not.toMatch(/wr0ng|f1rst/);
  await world.look('forges');

  await row.getByRole('link', { name: 'acme' }).click();
  const listed = page.getByRole('table', { name: 'Repositories' });
  await listed.getByRole('row', { name: /^acme\/shop main Private Read and write/ }).waitFor();
  await listed.getByRole('row', { name: /acme\/till main Private Read \(archived\)/ }).waitFor();
  expect(await listed.getByText('tools/lint').count()).toBe(0);
  await page.getByRole('button', { name: 'Check' }).click();
  const checks = page.getByRole('table', { name: 'Checks' });
  await checks.getByRole('row', { name: /^write:repository Passed/ }).waitFor();
  await checks.getByRole('row', { name: /^write:issue Failed/ }).waitFor();
  await page.getByRole('status').getByText('1 of 3 checks failed.').waitFor();
  await world.look('forge');

  await page.getByRole('button', { name: 'Replace token' }).click();
  expect(await dialog.getByRole('button', { name: 'Replace' }).isDisabled()).toBe(true);
  await dialog.getByLabel('New token').fill('wr0ng');
  await dialog.getByRole('button', { name: 'Replace' }).click();
  await refused.waitFor();
  await world.look('forge-replace-token');
  await dialog.getByLabel('New token').fill('sec0nd');
  await dialog.getByLabel('Read token').fill('reader');
  await dialog.getByRole('button', { name: 'Replace' }).click();
  await page.getByRole('heading', { name: 'acme Connected' }).waitFor();
  await page.getByText('a token that can only read').waitFor();
  expect(await checks.count(), 'the checks of the old token').toBe(0);
  await page.getByRole('button', { name: 'Check' }).click();
  await checks.getByRole('row', { name: /^read_token reads only Passed/ }).waitFor();
  await page.getByRole('status').getByText('The connection has all that it needs.').waitFor();
  expect(await page.content()).not.toMatch(/wr0ng|f1rst|sec0nd/);

  await page.getByRole('button', { name: 'Choose repositories' }).click();
  expect(await dialog.getByLabel('Repositories').inputValue()).toBe('acme/*');
  await dialog.getByLabel('Repositories').fill('');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await listed.getByRole('row', { name: /tools\/lint main Public Read/ }).waitFor();
  await page.getByText('all that the bot can read').waitFor();

  await page.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByText(/Runs that name the connection fail/).waitFor();
  await world.look('forge-delete');
  await dialog.getByRole('button', { name: 'Delete connection' }).click();
  await page.getByRole('heading', { name: 'No connections to forges' }).waitFor();
  expect((await server.api.forges.list()).forges).toEqual([]);
});

test('a connection that was revoked and deleted elsewhere says so', async ({ world, forge }) => {
  const { page, server } = world;
  forge.tokens.set('t0ken', bot);
  const { uid } = await server.api.forges.create({ name: 'acme', provider: 'gitea', url: forge.url, token: 't0ken' });
  await world.signIn(`/forges/${uid}`);
  await page.getByRole('heading', { name: 'acme Connected' }).waitFor();
  await page.getByRole('table', { name: 'Repositories' }).getByText('tools/lint').waitFor();
  forge.tokens.delete('t0ken');
  await page.getByRole('button', { name: 'Check' }).click();
  await page.getByRole('heading', { name: 'acme Revoked' }).waitFor();
  await page.getByText(/Give the connection a new token/).waitFor();
  await page
    .getByRole('alert')
    .getByText(/it refuses the token \(401\)/)
    .waitFor();
  expect(await page.getByRole('banner').getByText('Reconnecting…').count(), 'this server is there').toBe(0);
  await world.look('forge-revoked');
  await server.api.forges.delete(uid);
  await page.getByRole('link', { name: 'Go to Forges' }).click();
  await page.getByRole('heading', { name: 'No connections to forges' }).waitFor();
});

test('only a key with forges:manage sees the connections', async ({ world }) => {
  const { page, server } = world;
  const { key: reader = '' } = await server.api.keys.create({ name: 'reader', scopes: ['runs:read', 'factories:manage'] });
  await world.signIn('/forges', page, reader);
  await expect(page.getByRole('alert').textContent()).resolves.toMatch(/forges:manage/);
  expect(await page.getByRole('button', { name: 'Connect' }).count()).toBe(0);
  expect(await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Forges' }).count()).toBe(0);
  const { key: manager = '' } = await server.api.keys.create({ name: 'manager', scopes: ['forges:manage'] });
  const other = await world.newPage();
  await world.signIn('/forges', other, manager);
  await other.getByRole('button', { name: 'Connect' }).first().click();
  await other.getByRole('dialog').getByLabel('Read token').waitFor();
});

/** Sends an event about an issue as Gitea does, and returns the status. */
async function send(url: string | undefined, secret: string | null | undefined, change = {}): Promise<number> {
  const body = JSON.stringify({
    action: 'opened',
    issue: { number: 7, title: 'It is broken', body: 'Please fix.' },
    repository: { id: 1, full_name: 'acme/shop', private: true },
    sender: { id: 3, login: 'ada' },
    ...change,
  });
  const headers = {
    'Content-Type': 'application/json',
    'X-GitHub-Event': 'issues',
    'X-GitHub-Delivery': randomUUID(),
    'X-Hub-Signature-256': `sha256=${createHmac('sha256', secret ?? '')
      .update(body)
      .digest('hex')}`,
  };
  return (await fetch(url ?? '', { method: 'POST', body, headers })).status;
}

const lint = { repository: { id: 3, full_name: 'tools/lint', private: false } };

/** A factory whose automation works on new issues of a repository. */
async function factoryOf({ server: { api } }: World, name: string, owner: string, repository: string): Promise<string> {
  const { uid } = await api.factories.create({ name });
  await api.factories.definition.apply(uid, {
    files: {
      'factory.yaml': `schemaVersion: v1alpha1\nname: ${name}\nrepositories: [{owner: ${owner}, name: ${repository}}]\nagentDefaults: {model: auto}\n`,
      'agents/lead/agent.md': '---\nagentType: FOREMAN\n---\nLead.\n',
      'automations/fix.md': '---\nsubject: auto\ntriggers: [{provider: github, event: issue_created}]\n---\nFix it.\n',
    },
  });
  return uid;
}

test('a new connection shows its URL and secret once, and its page why an event started a run or none', async ({ world, forge }) => {
  const { page, server } = world;
  forge.tokens.set('t0ken', bot);
  await world.signIn('/forges');
  await page.getByRole('button', { name: 'Connect' }).last().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('events');
  await choose(dialog.getByRole('combobox', { name: 'Provider' }), { name: 'Gitea or Forgejo' });
  await dialog.getByLabel('URL').fill(forge.url);
  await dialog.getByLabel(/^Token/).fill('t0ken');
  await dialog.getByRole('button', { name: 'Connect' }).click();
  await dialog.getByText('The secret is shown only once.').waitFor();
  const url = (await dialog.getByRole('region', { name: 'URL' }).textContent()) ?? '';
  const secret = (await dialog.getByRole('region', { name: 'Secret' }).textContent()) ?? '';
  const [connection] = (await server.api.forges.list()).forges;
  const uid = connection?.uid ?? '';
  expect(url).toBe(`${server.url}/webhooks/f/${uid}`);
  await dialog.getByRole('button', { name: 'Copy: Secret' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret);
  await page.keyboard.press('Escape');
  await world.look('forge-connected');
  await dialog.getByRole('link', { name: 'Open the connection' }).click();
  await page.waitForURL(`**/forges/${uid}`);
  await page.getByText('Waiting for the first delivery…').waitFor();
  await page.getByRole('button', { name: 'Copy the ingress URL' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(url);
  expect(await page.content()).not.toContain(secret);
  await world.look('forge-waiting');

  const entries = page.getByRole('list', { name: 'Deliveries' }).getByRole('listitem');
  expect(await send(url, secret)).toBe(202);
  await entries
    .first()
    .getByText(/^No factory that works on a repository of this connection has an automation/)
    .waitFor();
  const factory = await factoryOf(world, 'Shop', 'acme', 'shop');
  await factoryOf(world, 'Tools', 'tools', 'lint');
  expect(await send(url, secret)).toBe(202);
  expect(await send(url, secret, { ...lint, sender: { id: 9, login: 'mallory' } })).toBe(202);
  expect(await send(url, 'another')).toBe(401);
  await expect.poll(() => entries.count()).toBe(4);
  await entries.first().getByText('Rejected (auth)').waitFor();

  // A refused event says why, and no test of the filter is offered: it would not help.
  await entries
    .nth(1)
    .getByRole('button', { name: /^Accepted/ })
    .click();
  await entries
    .nth(1)
    .getByText('mallory may not write to tools/lint, which is public. Events of others start no runs.', { exact: true })
    .waitFor();
  await entries.nth(1).getByText('of Tools').waitFor();
  expect(await page.getByText('Edit the filter with this delivery').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Send test' }).count()).toBe(0);
  await world.look('forge-deliveries');
  await page.getByRole('link', { name: 'Rejected', exact: true }).click();
  await page.waitForURL(`**/forges/${uid}?outcome=rejected`);
  await expect.poll(() => entries.count()).toBe(1);
  await page.getByRole('link', { name: 'All', exact: true }).click();

  // The page of the delivery is where the run that it has started links to.
  await expect.poll(() => entries.count()).toBe(4);
  await entries
    .nth(2)
    .getByRole('button', { name: /^Accepted/ })
    .click();
  await entries.nth(2).getByRole('link', { name: 'Open this delivery' }).click();
  await page.waitForURL(`**/forges/${uid}/deliveries/*`);
  const [run] = (await server.api.runs.list({ subject: 'github:acme/shop#7' })).items;
  expect(page.url()).toBe(run?.trigger_url);
  await page.reload();
  await page.getByRole('link', { name: 'View run' }).waitFor();
  await page.getByText('It is broken').first().waitFor();
  await page.getByRole('link', { name: 'events', exact: true }).waitFor();
  await world.look('forge-delivery');
  await page.getByRole('button', { name: 'Replay' }).click();
  const replayed = page.getByRole('status').filter({ hasText: 'Replayed as' });
  await replayed.getByRole('link').click();
  await page.getByText('Replay of').waitFor();
  expect((await server.api.forges.deliveries(uid)).items[0]?.replay_of).toBeDefined();

  await page.getByRole('link', { name: 'fix', exact: true }).click();
  await page.waitForURL(`**/factory/${factory}/automations/*`);
  await page.goto(`${server.url}/subjects/${run?.subject_uid}`);
  await page.getByRole('cell', { name: 'events', exact: true }).first().waitFor();
  await page.getByRole('link', { name: 'View delivery' }).last().click();
  await page.waitForURL(`**/forges/${uid}/deliveries/*`);

  // Without the right to read factories, automations have names alone.
  const { key = '' } = await server.api.keys.create({ name: 'forges', scopes: ['forges:manage'] });
  const other = await world.newPage();
  await world.signIn(new URL(run?.trigger_url ?? '').pathname, other, key);
  await other.getByText('fix', { exact: true }).waitFor();
  expect(await other.getByRole('link', { name: 'fix' }).count()).toBe(0);
  // Without the right to read connections, the events of a subject have no links to their deliveries.
  const { key: manager = '' } = await server.api.keys.create({ name: 'manager', scopes: ['runs:read', 'factories:manage'] });
  const third = await world.newPage();
  await world.signIn(`/subjects/${run?.subject_uid}`, third, manager);
  await third.getByTitle(new URL(run?.trigger_url ?? '').pathname.split('/').at(-1) ?? '', { exact: true }).waitFor();
  expect(await third.getByRole('link', { name: 'View delivery' }).count()).toBe(0);
});

test('the secret of a connection is rotated, its log is paged, and an error of the log is no empty log', async ({ world, forge }) => {
  const { page, server } = world;
  forge.tokens.set('t0ken', bot);
  const made = await server.api.forges.create({ name: 'rotating', provider: 'gitea', url: forge.url, token: 't0ken' });
  const url = made.ingress_url;
  let broken = 500;
  await page.route(`**/api/v1/forges/${made.uid}/deliveries?*`, async (route) =>
    broken
      ? route.fulfill({ status: broken, contentType: 'application/problem+json', json: { title: 'Broken', status: broken } })
      : route.continue(),
  );
  await world.signIn(`/forges/${made.uid}`);
  const log = page.getByRole('region', { name: 'Recent deliveries' });
  await log.getByRole('alert').getByText('Broken').waitFor();
  expect(await page.getByText('Waiting for the first delivery…').count()).toBe(0);
  broken = 404; // as for a connection of an earlier version
  await log.getByText(/Rotate its secret/).waitFor();
  broken = 0;

  const dialog = page.getByRole('dialog');
  const rotate = async (overlap: string): Promise<string | null> => {
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await choose(dialog.getByRole('combobox', { name: 'The old secret' }), { name: overlap });
    await world.look('forge-rotate');
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    const secret = await dialog.getByRole('region', { name: 'Secret' }).textContent();
    expect(await dialog.getByRole('region', { name: 'URL' }).textContent()).toBe(url);
    expect(await dialog.getByRole('link', { name: 'Open the connection' }).count()).toBe(0);
    await world.look('forge-rotated');
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await dialog.waitFor({ state: 'detached' });
    return secret;
  };
  const second = await rotate('Stays valid for 1 hour');
  expect([await send(url, made.secret), await send(url, second)]).toEqual([202, 202]);
  const third = await rotate('Stops at once');
  expect([await send(url, second), await send(url, third)]).toEqual([401, 202]);

  for (let i = 0; i < 50; i++) {
    expect(await send(url, third)).toBe(202);
  }
  const list = log.getByRole('list', { name: 'Deliveries' });
  await page.reload();
  await expect.poll(() => list.getByRole('listitem').count()).toBe(50);
  await log.getByRole('button', { name: 'Older' }).click();
  await page.waitForURL(`**/forges/${made.uid}?cursor=*`);
  await expect.poll(() => list.getByRole('listitem').count()).toBe(4);
  await server.api.forges.delete(made.uid);
});
