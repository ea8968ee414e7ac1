import { Forge } from './forge.ts';
import { Server } from './server.ts';
import { expect, test as plain } from './world.ts';

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
  await dialog.getByRole('combobox', { name: 'Provider' }).click();
  await page.getByRole('option', { name: 'Gitea or Forgejo' }).click();
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
