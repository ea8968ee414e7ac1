import { expect, test } from './world.ts';

/** Reports what a worker keeps for an environment. */
async function report(url: string, key: string, environment: string, without: string[] = []): Promise<string[]> {
  const layer = {
    environment_uid: environment,
    state: 'ready',
    mode: 'lazy',
    bytes: 412_000_000,
    files: 38_211,
    duration_ms: 94_120,
    built_at: '2026-01-31T12:00:00Z',
    uses: 12,
    heads: [{ url: 'https://github.com/acme/shop.git', commit: '9fceb02d0ae598e95dc970b74767f19372d61af8' }],
  };
  const reason = 'The setup left the secret NPM_TOKEN in the file work/shop/.npmrc. <b>Not bold</b>';
  const layers = [
    { ...layer, uid: 'first' },
    { ...layer, uid: 'second', parents: ['first'], uses: 0 },
    { ...layer, uid: 'third', state: 'failed', reason, bytes: 0, heads: [{ url: 'javascript:alert(1)', commit: '1' }] },
  ].filter(({ uid }) => !without.includes(uid));
  const response = await fetch(`${url}/api/v1/worker/layers`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ folder: 'f0', worker_host: 'build-1', layers }),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { retired: string[] | null }).retired ?? [];
}

test('an environment shows what workers keep for it, and deletes it with what was made from it', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.environments.create({
    name: 'shop',
    description: 'The shop and its API',
    github_repos: [{ owner: 'acme', repo: 'shop' }],
    setup_commands: ['npm ci'],
  });
  const { key = '' } = await server.api.keys.create({ name: 'build', scopes: ['worker'] });
  await world.signIn('/environments');
  await page.getByRole('link', { name: 'shop', exact: true }).click();
  await page.getByText('No prepared workspaces').waitFor();
  await report(server.url, key, uid);
  const table = page.getByRole('table', { name: 'Prepared workspaces' });
  await expect.poll(() => table.getByRole('row').count()).toBe(4);
  await table.getByText('work/shop/.npmrc. <b>Not bold</b>').waitFor();
  expect(await table.getByText('shop 9fceb02d').count()).toBe(2);
  expect(await table.getByRole('link').count(), 'no URL of a worker is a link').toBe(0);
  await world.look('environment');

  await page.getByRole('button', { name: 'Delete prepared workspace first', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete prepared workspace on build-1?' });
  await dialog.getByText('nor what was made from it').waitFor();
  await dialog.getByRole('button', { name: 'Delete prepared workspace' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await table.getByText('It was made from first, which was deleted.').waitFor();
  expect(await table.getByText('Retired').count()).toBe(2);
  expect(await table.getByRole('button').count(), 'what is retired cannot be deleted again').toBe(1);
  await world.look('environment-retired');
  expect(await report(server.url, key, uid)).toEqual(['first', 'second']);
  await report(server.url, key, uid, ['first', 'second']);
  await expect.poll(() => table.getByRole('row').count()).toBe(2);

  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  const form = page.getByRole('dialog', { name: 'Edit shop' });
  await form.getByLabel('What the setup leaves').selectOption('lazy');
  await form.getByLabel('Inputs').fill('**/package-lock.json\ngo.sum\n');
  await form.getByRole('button', { name: 'Add an update command' }).click();
  await form.getByLabel('Update command 1', { exact: true }).fill('npm install');
  await form.getByLabel('Secrets of the setup').fill('NPM_TOKEN');
  await world.look('environment-form');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.waitFor({ state: 'hidden' });
  expect((await server.api.environments.get(uid)).config.prebuild).toEqual({
    mode: 'lazy',
    inputs: ['**/package-lock.json', 'go.sum'],
    update_commands: ['npm install'],
    secrets: ['NPM_TOKEN'],
  });
});

test('a key that reads only is shown what workers keep, and is offered no deletion', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.environments.create({ name: 'read' });
  const { key = '' } = await server.api.keys.create({ name: 'reader', scopes: ['runs:read'] });
  const { key: worker = '' } = await server.api.keys.create({ name: 'build-2', scopes: ['worker'] });
  await report(server.url, worker, uid);
  await world.signIn(`/environments/${uid}`, page, key);
  const table = page.getByRole('table', { name: 'Prepared workspaces' });
  await table.getByText('Ready').first().waitFor();
  expect(await table.getByRole('button').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Delete', exact: true }).count()).toBe(0);
});
