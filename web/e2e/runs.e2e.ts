import type { Route } from 'playwright-core';
import { expect, test } from './world.ts';

test('the first visit teaches how to start', async ({ world }) => {
  const { page } = world;
  await world.signIn();
  await page.getByRole('heading', { name: 'No runs yet' }).waitFor();
  await expect(page.getByRole('region', { name: 'create a run with curl' }).textContent()).resolves.toContain(
    `${world.server.url}/api/v1/agent/runs`,
  );
  await world.look('runs-empty');
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole('button', { name: 'Navigation' }).click();
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Workers' }).waitFor();
  await world.look('navigation');
});

test('a run is composed, and its page is where one gets to', async ({ world }) => {
  const { page } = world;
  await world.signIn();
  await page.getByRole('button', { name: 'New run' }).first().click();
  await page.getByLabel('Prompt').fill('Say hello\ndemo: say Hello to you');
  await page.getByRole('button', { name: 'Copy as cURL' }).click();
  await expect(page.getByRole('region', { name: 'create this run with curl' }).textContent()).resolves.toContain('demo: say Hello to you');
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('demo: say Hello to you');
  await world.look('new-run');
  await page.getByLabel('Prompt').press('Control+Enter');
  await page.waitForURL('**/runs/*-*');
  await page.getByRole('heading', { name: 'Say hello' }).waitFor();
  await page.getByText('Hello to you', { exact: true }).waitFor();
  await page.getByText('Succeeded').first().waitFor();
  const { items } = await world.server.api.runs.list();
  expect(items.map(({ source, title }) => ({ source, title }))).toEqual([{ source: 'WEB_APP', title: 'Say hello' }]);
});

test('a run that is asked for twice is started once', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/runs');
  const held: Route[] = [];
  await page.route(`${server.url}/api/v1/agent/runs`, (route) => void held.push(route)); // the POST; what is read has a query
  await page.getByRole('button', { name: 'New run' }).first().click();
  await page.getByLabel('Prompt').fill('Only once\ndemo: say Once');
  await page.getByLabel('Prompt').press('Control+Enter');
  await page.locator('button[type=submit][data-loading]').waitFor();
  await page.getByLabel('Prompt').press('Control+Enter');
  await Promise.all(held.map((route) => route.continue()));
  await page.getByRole('heading', { name: 'Only once' }).waitFor();
  expect(held.length).toBe(1);
});

test('the list is live, and the address carries its filter', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/runs?q=needle');
  await page.getByText('No runs match').waitFor();
  await server.api.runs.create({ prompt: 'Find the needle\ndemo: say found' });
  await page.getByRole('link', { name: 'Find the needle' }).waitFor();
  await page
    .getByRole('row', { name: /needle/ })
    .getByText('Succeeded')
    .waitFor();

  await page.getByRole('link', { name: 'Failed', exact: true }).click();
  await page.waitForURL('**/runs?task_status=failed');
  await page.getByText('No runs match').waitFor();
  await server.api.runs.create({ prompt: 'Break\ndemo: error it broke', metadata: { ticket: 'OPS-1' } });
  await page.getByRole('link', { name: 'Break' }).waitFor();
  await page.goto(`${server.url}/runs?metadata%5Bticket%5D=OPS-1&state=FAILED&state=ERROR`);
  await page.getByRole('link', { name: 'Break' }).waitFor();
  expect(await page.getByRole('link', { name: 'needle' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Remove filter Status: Error' }).click();
  await page.waitForURL((url) => !url.search.includes('ERROR'));
  await page.getByRole('button', { name: 'Filters' }).click();
  await page.getByRole('combobox', { name: 'Model' }).waitFor();
  await world.look('runs-filters');
});

test('each quick filter shows its runs, newest first', async ({ world }) => {
  const { page, server } = world;
  const { agents, uid } = await server.api.factories.create({ name: 'quick' });
  const [foreman] = agents;
  const { key = '' } = await server.api.keys.create({ name: 'foreman', scopes: ['runs:write'], agent_uid: foreman?.uid ?? '' });
  const theirs = await fetch(`${server.url}/api/v1/agent/runs`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ prompt: 'demo: error it broke', title: 'Quick of an agent' }),
  });
  expect(theirs.status).toBe(200);
  await server.api.runs.create({ prompt: 'demo: ask What?', title: 'Quick and blocked' });
  await world.signIn('/runs');
  const titles = (): Promise<string[]> => page.getByRole('table', { name: 'Runs' }).getByRole('link').allTextContents();
  const show = async (name: string): Promise<void> => {
    await page.getByRole('navigation', { name: 'Quick filters' }).getByRole('link', { name, exact: true }).click();
  };
  await page.getByRole('link', { name: 'Quick and blocked' }).waitFor();
  await expect
    .poll(async () => (await titles()).filter((title) => /^Quick/.test(title)))
    .toEqual(['Quick and blocked', 'Quick of an agent']);
  await show('Mine');
  await page.getByText(/^Creator: .* \(you\)$/).waitFor();
  await expect.poll(titles).not.toContain('Quick of an agent');
  expect(await titles()).toContain('Quick and blocked');
  await show('Active');
  await expect.poll(titles).toContain('Quick and blocked');
  await expect.poll(titles).not.toContain('Quick of an agent');
  await show('Failed');
  await expect.poll(titles).toContain('Quick of an agent');
  expect(await titles()).not.toContain('Quick and blocked');
  await show('Scheduled');
  await page.waitForURL('**/runs?source=SCHEDULED_AGENT');
  await page.getByText('No runs match').waitFor();
  await show('All');
  await page.getByRole('link', { name: 'Quick and blocked' }).waitFor();
  await world.look('runs');
  await server.api.factories.delete(uid);
});

test('every filter of the API can be set, by name where it is of something that has one', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'named' });
  await server.api.factories.runs.create(uid, { prompt: 'demo: say x', title: 'Of the factory' });
  await world.signIn('/runs');
  await page.getByRole('button', { name: 'Filters' }).click();
  const panel = page.getByRole('group', { name: 'Filters', exact: true });
  await panel.getByRole('combobox', { name: 'Factory' }).click();
  await page.getByRole('option', { name: 'named' }).click();
  await page.waitForURL(`**/runs?factory_uid=${uid}`);
  await page.getByText('Factory: named').waitFor();
  await expect.poll(() => page.getByRole('table', { name: 'Runs' }).getByRole('link').allTextContents()).toEqual(['Of the factory']);
  await panel.getByRole('combobox', { name: 'Automation' }).fill('an-id-that-nobody-has');
  await page.getByRole('option', { name: 'an-id-that-nobody-has' }).click();
  await page.waitForURL('**automation_id=an-id-that-nobody-has');
  await page.getByText('No runs match').waitFor();

  await page.getByRole('button', { name: 'New run' }).first().click();
  await page.getByRole('textbox', { name: 'Prompt' }).fill('demo: say x');
  await page.getByRole('dialog').getByRole('combobox', { name: 'Agent' }).click();
  await page.getByRole('option', { name: 'foreman (named)' }).click();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL('**/runs/*-*');
  await page.getByRole('complementary').getByRole('link', { name: 'named' }).waitFor();

  const asked =
    'state=FAILED&task_status=failed&source=API&name=a&model_id=m&creator=c&executor=e&factory_uid=f&automation_id=a&webhook_uid=w'
      .concat('&schedule_id=s&environment_id=empty-environment&skill=k&ancestor_run_id=01a1fd4a-7345-7000-b691-c4884c92adfe')
      .concat('&execution_location=LOCAL&artifact_type=PLAN&created_after=2026-01-01T00:00:00Z&created_before=2036-01-01T00:00:00Z')
      .concat('&updated_after=2026-01-01T00:00:00Z&metadata[a]=b&q=x&sort_by=title&sort_order=asc');
  const request = page.waitForRequest((one) => one.url().includes('/api/v1/agent/runs?') && one.url().includes('sort_by=title'));
  await page.goto(`${server.url}/runs?${asked}`);
  expect((await (await request).response())?.status()).toBe(200);
  const sent = new URL((await request).url()).searchParams;
  for (const [name, value] of new URLSearchParams(asked)) {
    expect(sent.get(name), name).toBe(value);
  }
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

test('the browser’s way back and the pager agree on where one is', async ({ world }) => {
  const { page, server } = world;
  for (let i = 0; i < 110; i += 10) {
    await Promise.all(Array.from({ length: 10 }, () => server.api.runs.create({ prompt: 'demo: say x', metadata: { test: 'back' } })));
  }
  await world.signIn('/runs?metadata%5Btest%5D=back');
  const cursor = () => new URL(page.url()).searchParams.get('cursor');
  await page.getByRole('button', { name: 'Older' }).click();
  await expect.poll(cursor).not.toBeNull();
  const second = cursor();
  await page.getByRole('button', { name: 'Older' }).click();
  await expect.poll(cursor).not.toBe(second);
  const third = cursor();
  await page.goBack();
  await expect.poll(cursor).toBe(second);
  await page.getByRole('button', { name: 'Older' }).click();
  await expect.poll(cursor).toBe(third);
  await page.getByRole('button', { name: 'Newer' }).click();
  await expect.poll(cursor).toBe(second);
  await page.goBack();
  await expect.poll(cursor).toBe(third);
  await page.goBack();
  await expect.poll(cursor).toBe(second);
  await page.getByRole('button', { name: 'Newer' }).click();
  await expect.poll(cursor).toBeNull();
});

test('what is typed into a search stays as it is typed', async ({ world }) => {
  const { page } = world;
  await world.signIn('/runs');
  const search = page.getByLabel('Search runs');
  await search.pressSequentially('broken ');
  await page.waitForURL('**/runs?q=broken');
  await page.getByText('No runs match').waitFor();
  expect(await search.inputValue()).toBe('broken ');
  expect(await page.locator('[aria-label="Quick filters"] [data-on]').count(), 'not all runs are shown').toBe(0);
  await search.pressSequentially('build');
  await page.waitForURL('**/runs?q=broken+build');
  await page.getByRole('link', { name: 'All', exact: true }).click();
  await expect.poll(() => search.inputValue()).toBe('');
});

test('the Enter key in a filter leaves the focus in it, and a filter that is only passed stays as it is', async ({ world }) => {
  const { page } = world;
  await world.signIn('/runs?created_after=2026-01-02T03:04:05Z');
  await page.getByRole('button', { name: 'Filters' }).click();
  await page.getByLabel('Created after', { exact: true }).focus();
  const skill = page.getByRole('textbox', { name: 'Skill', exact: true });
  await skill.fill('review');
  await skill.press('Enter');
  await page.getByRole('group', { name: 'Applied filters' }).getByText('Skill: review').waitFor();
  expect(await skill.evaluate((field) => field === document.activeElement)).toBe(true);
  expect(new URL(page.url()).searchParams.get('created_after')).toBe('2026-01-02T03:04:05Z');
  await page.getByRole('button', { name: 'Remove filter Skill: review' }).click();
  await expect.poll(() => skill.inputValue()).toBe('');
});

test('a long duration stays on its line', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: 'demo: say x', title: 'Took long' });
  await expect.poll(async () => (await server.api.runs.get(run_id)).state).toBe('SUCCEEDED');
  await page.route(`${server.url}/api/v1/agent/runs?*`, async (route) => {
    const answer = await route.fetch();
    const list = await answer.json();
    await route.fulfill({ response: answer, json: { ...list, runs: list.runs.map((run: object) => ({ ...run, run_time: 'PT86340S' })) } });
  });
  await world.signIn('/runs?q=Took');
  const cell = page.getByRole('cell', { name: '23 h 59 m' });
  await cell.waitFor();
  const { lines, cut } = await cell.evaluate((box) => {
    const range = document.createRange();
    range.selectNodeContents(box);
    return { lines: range.getClientRects().length, cut: box.scrollWidth - box.clientWidth };
  });
  expect(lines).toBe(1);
  expect(cut).toBeLessThanOrEqual(0);
});

test('many runs are cancelled at once', async ({ world }) => {
  const { page, server } = world;
  const ids = await Promise.all(
    ['one', 'two', 'three'].map(
      async (title) => (await server.api.runs.create({ prompt: 'x', title, config: { worker_host: 'nowhere' } })).run_id,
    ),
  );
  await world.signIn('/runs?state=QUEUED');
  await page.getByRole('checkbox', { name: 'Select one' }).check();
  await page.getByRole('checkbox', { name: 'Select two' }).check();
  await world.look('runs-selected');
  await page.getByRole('button', { name: 'Cancel 2 runs' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel 2 runs' }).click();
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
