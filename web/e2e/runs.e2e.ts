import { expect, test } from './world.ts';

test('the first visit teaches how to start', async ({ world }) => {
  const { page } = world;
  await world.signIn();
  await page.getByRole('heading', { name: 'No runs yet' }).waitFor();
  await expect(page.getByRole('region', { name: 'create a run with curl' }).textContent()).resolves.toContain(
    `${world.server.url}/api/v1/agent/runs`,
  );
  await world.look('runs-empty');
});

test('a run is composed, and its page is where one gets to', async ({ world }) => {
  const { page } = world;
  await world.signIn();
  await page.getByRole('button', { name: 'New run' }).first().click();
  await page.getByLabel('Prompt').fill('Say hello\ndemo: say Hello to you');
  await page.getByRole('button', { name: 'The same as curl' }).click();
  await expect(page.getByRole('region', { name: 'the same as curl' }).textContent()).resolves.toContain('demo: say Hello to you');
  await world.look('new-run');
  await page.getByLabel('Prompt').press('Control+Enter');
  await page.waitForURL('**/runs/*-*');
  await page.getByRole('heading', { name: 'Say hello' }).waitFor();
  await page.getByText('Hello to you', { exact: true }).waitFor();
  await page.getByText('Succeeded').first().waitFor();
  const { items } = await world.server.api.runs.list();
  expect(items.map(({ source, title }) => ({ source, title }))).toEqual([{ source: 'WEB_APP', title: 'Say hello' }]);
});

test('the list is live, and the address carries its filter', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/runs?q=needle');
  await page.getByText('No run matches').waitFor();
  await server.api.runs.create({ prompt: 'Find the needle\ndemo: say found' });
  await page.getByRole('link', { name: 'Find the needle' }).waitFor();
  await page
    .getByRole('row', { name: /needle/ })
    .getByText('Succeeded')
    .waitFor();

  await page.getByRole('link', { name: 'Failed', exact: true }).click();
  await page.waitForURL('**/runs?task_status=failed');
  await page.getByText('No run matches').waitFor();
  await server.api.runs.create({ prompt: 'Break\ndemo: error it broke', metadata: { ticket: 'OPS-1' } });
  await page.getByRole('link', { name: 'Break' }).waitFor();
  await page.goto(`${server.url}/runs?metadata%5Bticket%5D=OPS-1&state=FAILED&state=ERROR`);
  await page.getByRole('link', { name: 'Break' }).waitFor();
  expect(await page.getByRole('link', { name: 'needle' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Without State Error' }).click();
  await page.waitForURL((url) => !url.search.includes('ERROR'));
  await page.getByRole('button', { name: 'Filters' }).click();
  await page.getByLabel('Model').waitFor();
  await world.look('runs-filters');
});

test('pages do not jump while new runs come, and a reload stays on its page', async ({ world }) => {
  const { page, server } = world;
  const create = (title: string) => server.api.runs.create({ prompt: 'demo: say x', title, metadata: { test: 'pages' } });
  for (let i = 0; i < 110; i += 10) {
    await Promise.all(Array.from({ length: 10 }, (_, j) => create(`Run ${String(i + j).padStart(3, '0')}`)));
  }
  await world.signIn('/runs?metadata%5Btest%5D=pages');
  const titles = () => page.getByRole('table', { name: 'Runs' }).getByRole('link').allTextContents();
  await expect.poll(async () => (await titles()).length).toBe(50);
  const first = await titles();
  await page.getByRole('button', { name: 'Older' }).click();
  await expect.poll(async () => (await titles()).some((title) => first.includes(title))).toBe(false);
  const second = await titles();
  await create('New one');
  await page.reload();
  await expect.poll(titles).toEqual(second);
  await page.getByRole('button', { name: 'Older' }).click();
  await expect.poll(async () => (await titles()).length).toBe(10);
  await page.getByRole('button', { name: 'Newer' }).click();
  await expect.poll(titles).toEqual(second);
  await page.getByRole('button', { name: 'Newer' }).click();
  await page.getByRole('link', { name: 'New one' }).waitFor();
});

test('many runs are cancelled at once', async ({ world }) => {
  const { page, server } = world;
  const ids = await Promise.all(
    ['one', 'two', 'three'].map(
      async (title) => (await server.api.runs.create({ prompt: 'x', title, config: { worker_host: 'nowhere' } })).run_id,
    ),
  );
  await world.signIn('/runs?state=QUEUED');
  await page.getByRole('checkbox', { name: 'Choose one' }).check();
  await page.getByRole('checkbox', { name: 'Choose two' }).check();
  await world.look('runs-chosen');
  await page.getByRole('button', { name: 'Cancel 2 runs' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the runs' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  const states = await Promise.all(ids.map(async (id) => (await server.api.runs.get(id)).state));
  expect(states).toEqual(['CANCELLED', 'CANCELLED', 'QUEUED']);
  await expect.poll(() => page.getByRole('link', { name: 'two' }).count()).toBe(0);
  await server.api.runs.cancel(ids[2] ?? '');
});

test('the first load of the list stays small', async ({ world }) => {
  const { page, server } = world;
  await world.signIn();
  const scripts = new Set<string>();
  page.on('request', (request) => request.resourceType() === 'script' && scripts.add(request.url()));
  await page.goto(`${server.url}/runs`);
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
  await page.waitForLoadState('networkidle');
  const sizes = await Promise.all(
    [...scripts].map(async (url) => {
      const answer = await fetch(url, { method: 'HEAD', headers: { 'Accept-Encoding': 'gzip' } });
      expect(answer.headers.get('Cache-Control')).toContain('immutable');
      return Number(answer.headers.get('Content-Length'));
    }),
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  expect(total).toBeGreaterThan(50_000);
  expect(total, 'bytes of script, gzipped').toBeLessThan(250_000);
});
