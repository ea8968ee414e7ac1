import { expect, test } from './world.ts';

test('an environment is made, edited, used and deleted', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/environments');
  await page.getByRole('heading', { name: 'No environments yet' }).waitFor();
  await page.getByRole('button', { name: 'New environment' }).first().click();
  await page.getByLabel('Name').fill('linux <b>bold</b>');
  await page.getByLabel('Description').fill('Builds');
  await page.getByRole('button', { name: 'Add a repository' }).click();
  await page.getByLabel('Repository 1', { exact: true }).fill('https://git.example.com/acme/shop.git');
  await page.getByLabel('Branch, tag or commit of repository 1').fill('main');
  await page.getByRole('button', { name: 'Add a command' }).click();
  await page.getByLabel('Command 1', { exact: true }).fill('npm ci');
  await world.look('environments-new');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const row = page.getByRole('row', { name: /linux <b>bold<\/b>/ });
  await row.getByText('1 repository, 1 command').waitFor();
  const [made] = (await server.api.environments.list()).environments;
  expect(made?.config).toMatchObject({
    repos: [{ url: 'https://git.example.com/acme/shop.git', ref: 'main' }],
    setup_commands: ['npm ci'],
  });

  await row.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('button', { name: 'Remove repository 1' }).click();
  await page.getByLabel('Command 1', { exact: true }).fill('true');
  await page.getByRole('button', { name: 'Save' }).click();
  await row.getByText('1 command', { exact: true }).waitFor();
  await server.api.runs.create({ prompt: 'demo: say x', title: 'Uses it', config: { environment_id: made?.uid ?? '' } });
  await row.getByRole('link', { name: 'Uses it' }).waitFor();
  await row.getByText('Succeeded').waitFor();
  await world.look('environments');
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete environment' }).click();
  await page.getByRole('heading', { name: 'No environments yet' }).waitFor();
});

test('a schedule tells when it fires while it is typed, is paused, resumed, edited and deleted', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/schedules');
  await page.getByRole('heading', { name: 'No schedules yet' }).waitFor();
  await world.look('schedules-empty');
  await page.getByRole('button', { name: 'New schedule' }).first().click();
  await page.getByLabel('Name').fill('Nightly');
  await page.getByLabel(/^When/).fill('61 3 * * *');
  await page
    .getByText(/minute|61/, { exact: false })
    .first()
    .waitFor();
  await page.locator('[role="dialog"] [aria-invalid="true"]').waitFor();
  await page.getByLabel(/^When/).fill('0 3 * * *');
  const times = page.getByRole('dialog').getByRole('status').getByRole('time');
  await expect.poll(() => times.count()).toBe(5);
  await page.getByLabel('Prompt').fill('Check every link');
  await world.look('schedules-new');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const row = page.getByRole('row', { name: /Nightly/ });
  await row.getByText('Enabled').waitFor();
  await row.getByTitle('The next five times').click();
  await expect.poll(() => row.getByRole('time').count()).toBe(6);
  await world.look('schedules');

  await row.getByRole('button', { name: 'Pause' }).click();
  await row.getByText('Paused').waitFor();
  expect((await server.api.schedules.list()).schedules[0]?.enabled).toBe(false);
  await row.getByRole('button', { name: 'Resume' }).click();
  await row.getByText('Enabled').waitFor();
  await row.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Prompt').fill('Check every picture');
  await page.getByRole('button', { name: 'Save' }).click();
  await row.getByText('Check every picture').waitFor();
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete schedule' }).click();
  await page.getByRole('heading', { name: 'No schedules yet' }).waitFor();
  expect((await server.api.schedules.list()).schedules).toEqual([]);
});

test('workers are listed while they are connected', async ({ world }) => {
  const { page, server } = world;
  const { key = '' } = await server.api.keys.create({ name: 'worker', scopes: ['worker'] });
  await world.signIn('/workers');
  await page.getByRole('heading', { name: 'No workers on other machines' }).waitFor();
  await world.look('workers-empty');
  const claim = {
    worker_id: 'w1',
    worker_host: 'build-box-1',
    version: 'test',
    harnesses: ['builtin'],
    capacity: 4,
    busy: 3,
    wait: 0,
  };
  const response = await fetch(`${server.url}/api/v1/worker/claim`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(claim),
  });
  expect(response.status, await response.text()).toBeLessThan(300);
  await page
    .getByRole('row', { name: /build-box-1/ })
    .getByText('3 of 4')
    .waitFor();
  await world.look('workers');
});
