import { choose, expect, test } from './world.ts';

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
  await page.getByLabel(/^When/).fill('0 0 29 2 *');
  const times = page.getByRole('dialog').getByRole('status').getByRole('time');
  await expect.poll(() => times.count()).toBe(5);
  await page.getByLabel('Prompt').fill('Check every link');
  await world.look('schedules-new');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const row = page.getByRole('row', { name: /Nightly/ });
  await row.getByRole('switch', { name: 'Nightly enabled', checked: true }).waitFor();
  await row.getByTitle('The next five times').click();
  await expect.poll(() => row.getByRole('time').count()).toBe(6);
  await world.look('schedules');
  await row.getByRole('button', { name: 'All times of Nightly' }).click();
  await page.getByRole('dialog').getByText('None has come yet.').waitFor();
  await world.look('schedules-times-empty');
  await page.keyboard.press('Escape');

  await row.getByRole('switch').press('Space');
  await expect.poll(async () => (await server.api.schedules.list()).schedules[0]?.enabled).toBe(false);
  await row.getByRole('switch', { checked: false }).press('Space');
  await expect.poll(async () => (await server.api.schedules.list()).schedules[0]?.enabled).toBe(true);
  await row.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Prompt').fill('Check every picture');
  await choose(page.getByRole('combobox', { name: 'If a run has not ended' }), { name: 'Start none' });
  await page.getByRole('combobox', { name: 'Time zone' }).fill('Asia/Atlantis');
  await page.getByText(/must be an IANA time zone/).waitFor();
  await page.getByRole('combobox', { name: 'Time zone' }).fill('Asia/Kathmandu'); // which this browser does not list
  await page.getByRole('button', { name: 'Save' }).click();
  await row.getByText('Check every picture').waitFor();
  expect((await server.api.schedules.list()).schedules[0]).toMatchObject({
    overlap: 'skip',
    catch_up: 'once',
    time_zone: 'Asia/Kathmandu',
  });
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

test('a launcher is listed with its runs, and with what their Pods wait for', async ({ world }) => {
  const { page, server } = world;
  const { key = '' } = await server.api.keys.create({ name: 'launcher', scopes: ['worker'] });
  const call = async (path: string, body: unknown) => {
    const response = await fetch(`${server.url}/api/v1/worker/${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status, path).toBeLessThan(300);
    return response.status === 204 ? undefined : response.json();
  };
  const worker_host = 'cluster';
  const launch = async (title: string) => {
    await server.api.runs.create({ prompt: title, title, config: { worker_host } });
    const claim = { worker_id: 'l1', worker_host, harnesses: ['builtin'], capacity: 8, busy: 3, launch: true, wait: 1e9 };
    const { lease } = await call('claim', claim);
    return lease;
  };
  const report = async (lease: unknown, event_type: string, payload: Record<string, string>) => {
    const data = { event_uuid: crypto.randomUUID(), event_type, payload };
    await call('append', { lease, drafts: [{ type: 'timeline', at: new Date().toISOString(), key: event_type, data }] });
  };
  await launch('Bring the changelog up to date');
  const starting = await launch('Find out why the nightly import of all customers takes three times as long as in the spring');
  await report(starting, 'pod_created', { job: 'penstock-2' });
  const waiting = await launch('Fix the flaky test of the login');
  const reason = 'ImagePullBackOff';
  const message = 'The image registry.example.com/team/app:2026-02 cannot be pulled: manifest unknown.';
  await report(waiting, 'pod_waiting', { reason, message });

  await world.signIn('/workers');
  await page
    .getByRole('table', { name: 'Workers', exact: true })
    .getByRole('row', { name: /cluster/ })
    .getByText('Launcher')
    .waitFor();
  const runs = page.getByRole('table', { name: 'Runs of workers' });
  const row = runs.getByRole('row', { name: /flaky test/ });
  await row.getByText('Waiting for a Pod').waitFor();
  await row.getByText(`${reason}: ${message}`).waitFor();
  await runs
    .getByRole('row', { name: /nightly import/ })
    .getByText('Its Pod is starting.')
    .waitFor();
  await runs
    .getByRole('row', { name: /changelog/ })
    .getByText('The launcher creates its Job.')
    .waitFor();
  const adoption = { token: crypto.randomUUID(), worker_host: 'pod-1', sandbox: 'bubblewrap' };
  const { lease } = await call('adopt', { lease: starting, adoption });
  for (const state of ['PENDING', 'INPROGRESS']) {
    await call('append', { lease, drafts: [{ type: 'state', at: new Date().toISOString(), data: { state } }] });
  }
  await runs
    .getByRole('row', { name: /nightly import/ })
    .getByText('Working')
    .waitFor();
  await world.look('workers-launcher');
  await row.getByRole('link').click();
  await page.getByRole('heading', { name: 'Fix the flaky test of the login' }).waitFor();
});
