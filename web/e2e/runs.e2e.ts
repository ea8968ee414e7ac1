import { choose, expect, hold, test } from './world.ts';

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

test('a run can choose a harness that is ready, and the form says why others are not', async ({ world }) => {
  const { page } = world;
  await world.signIn('/runs');
  await page.getByRole('button', { name: 'New run' }).first().click();
  await page.getByLabel('Prompt').fill('Choose\ndemo: say chosen');
  await page.getByRole('combobox', { name: 'Harness' }).click();
  const claude = page.getByRole('option', { name: /^Claude Code/ });
  await expect(claude.textContent()).resolves.toContain('penstock harness install claude');
  expect(await claude.getAttribute('data-combobox-disabled')).toBe('true');
  await world.look('new-run-harness');
  await page.getByRole('option', { name: 'Built-in agent' }).click();
  await choose(page.getByRole('combobox', { name: 'Model' }), { name: /offline/i });
  await page.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL('**/runs/*-*');
  await page.getByText('chosen', { exact: true }).waitFor();
  const { items } = await world.server.api.runs.list({ q: 'Choose' });
  expect(items[0]?.agent_config).toMatchObject({ harness: { type: 'builtin' }, model_id: 'demo/offline' });
});

test('a run that is asked for twice is started once', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/runs');
  const held = await hold(page, `${server.url}/api/v1/agent/runs`); // the POST; what is read has a query
  await page.getByRole('button', { name: 'New run' }).first().click();
  await page.getByLabel('Prompt').fill('Only once\ndemo: say Once');
  await page.getByLabel('Prompt').press('Control+Enter');
  await page.locator('button[type=submit][data-loading]').waitFor();
  await page.getByLabel('Prompt').press('Control+Enter');
  held.release();
  await page.getByRole('heading', { name: 'Only once' }).waitFor();
  expect(held.requests()).toBe(1);
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
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await page.getByRole('option', { name: 'Status group' }).waitFor();
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
  await page.getByRole('link', { name: /^Blocked ?1$/ }).waitFor();
  await page.getByRole('link', { name: /^Blocked/ }).click();
  await expect.poll(titles).toEqual(['Quick and blocked']);
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
  const chips = page.getByRole('group', { name: 'Applied filters' });
  const filterBy = async (name: string): Promise<void> => {
    await chips.getByRole('button', { name: 'Filter', exact: true }).click();
    await choose(chips.getByRole('combobox', { name: 'Filter by' }), { name, exact: true }, name);
  };
  await filterBy('Factory');
  await page.getByRole('option', { name: 'named' }).click();
  await page.keyboard.press('Escape');
  await page.waitForURL(`**/runs?factory_uid=${uid}`);
  await page.getByText('Factory: named').waitFor();
  await expect.poll(() => page.getByRole('table', { name: 'Runs' }).getByRole('link').allTextContents()).toEqual(['Of the factory']);
  await filterBy('Automation');
  await choose(chips.getByRole('combobox', { name: 'Automation' }), { name: 'an-id-that-nobody-has' }, 'an-id-that-nobody-has');
  await page.waitForURL('**automation_id=an-id-that-nobody-has');
  await page.getByText('No runs match').waitFor();

  await page.getByRole('button', { name: 'New run' }).first().click();
  await page.getByRole('textbox', { name: 'Prompt' }).fill('demo: say x');
  await choose(page.getByRole('dialog').getByRole('combobox', { name: 'Agent' }), { name: 'foreman (named)' });
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

test('a filter is added and changed with the keyboard alone, and one that is only passed stays as it is', async ({ world }) => {
  const { page } = world;
  await world.signIn('/runs?created_after=2026-01-02T03:04:05Z');
  const chips = page.getByRole('group', { name: 'Applied filters' });
  const add = chips.getByRole('button', { name: 'Filter', exact: true });
  const isAdd = (): Promise<boolean> => add.evaluate((button) => button === document.activeElement);
  await chips.getByRole('button', { name: /^Created after: / }).press('Enter');
  await chips.getByLabel('Created after', { exact: true }).press('Escape');
  await expect.poll(isAdd).toBe(true);
  expect(new URL(page.url()).searchParams.get('created_after')).toBe('2026-01-02T03:04:05Z');
  await add.press('Enter');
  // Until the list has the focus, it would not get the letters.
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT');
  await page.keyboard.type('Skill');
  const option = page.getByRole('option', { name: 'Skill', exact: true });
  await expect.poll(() => page.getByRole('listbox').getByRole('option').count()).toBe(2); // and Skill reference
  await expect.poll(() => option.getAttribute('data-combobox-selected')).toBe('true');
  await page.keyboard.press('Enter');
  await chips.getByRole('textbox', { name: 'Skill', exact: true }).fill('review');
  await page.keyboard.press('Enter');
  await chips.getByText('Skill: review').waitFor();
  await expect.poll(isAdd).toBe(true);
  await chips.getByRole('button', { name: 'Skill: review', exact: true }).press('Enter');
  await chips.getByRole('textbox', { name: 'Skill', exact: true }).fill('write');
  await page.keyboard.press('Enter');
  await chips.getByText('Skill: write').waitFor();
  await chips.getByRole('button', { name: 'Remove filter Skill: write' }).press('Enter');
  await page.waitForURL((url) => !url.search.includes('skill'));
});

test('what is typed into the list of filters stays when a run appears', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/runs?metadata%5Btest%5D=typed');
  await page.getByRole('group', { name: 'Applied filters' }).getByRole('button', { name: 'Filter', exact: true }).click();
  const choice = page.getByRole('combobox', { name: 'Filter by' });
  await choice.pressSequentially('Ski');
  await server.api.runs.create({ prompt: 'demo: say x', title: 'Appears', metadata: { test: 'typed' } });
  await page.getByRole('table', { name: 'Runs' }).getByRole('link', { name: 'Appears' }).waitFor();
  expect(await choice.inputValue()).toBe('Ski');
});

test('heads sort, and a view keeps filters and order', async ({ world }) => {
  const { page, server } = world;
  for (const title of ['Sort b', 'Sort a', 'Sort c']) {
    await server.api.runs.create({ prompt: 'demo: say x', title, metadata: { test: 'views' } });
  }
  await world.signIn('/runs?metadata%5Btest%5D=views');
  const table = page.getByRole('table', { name: 'Runs' });
  const titles = (): Promise<string[]> => table.getByRole('link').allTextContents();
  await expect.poll(titles).toEqual(['Sort c', 'Sort a', 'Sort b']);
  await table.getByRole('button', { name: 'Run' }).click();
  await expect.poll(titles).toEqual(['Sort a', 'Sort b', 'Sort c']);
  expect(await page.getByRole('columnheader', { name: /^Run/ }).getAttribute('aria-sort')).toBe('ascending');
  await table.getByRole('button', { name: 'Run' }).click();
  await expect.poll(titles).toEqual(['Sort c', 'Sort b', 'Sort a']);
  await page.getByRole('combobox', { name: 'Order' }).selectOption('Last updated first');
  await page.getByRole('columnheader', { name: /^Updated/ }).waitFor();
  await page.getByRole('combobox', { name: 'Order' }).selectOption('Title, A to Z');

  await page.getByRole('button', { name: 'Save view' }).click();
  await page.keyboard.type('My views');
  await page.keyboard.press('Enter');
  await page.waitForURL('**view=My+views');
  await world.look('runs-view');
  await page.getByRole('link', { name: 'All', exact: true }).click();
  await page.reload();
  await page.getByRole('link', { name: 'My views' }).click();
  await expect.poll(titles).toEqual(['Sort a', 'Sort b', 'Sort c']);
  expect(await page.getByRole('button', { name: 'Save view' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Delete view My views' }).click();
  await page.getByRole('button', { name: 'Save view' }).waitFor();
});

test('a long duration stays on its line', async ({ world }) => {
  const { page, server } = world;
  await server.api.runs.create({ prompt: 'x', title: 'Took long', config: { worker_host: 'nowhere' } });
  await page.route(`${server.url}/api/v1/agent/runs?*`, async (route) => {
    const response = await route.fetch();
    const list = await response.json();
    await route.fulfill({
      response: response,
      json: { ...list, runs: list.runs.map((run: object) => ({ ...run, state: 'SUCCEEDED', run_time: 'PT86340S' })) },
    });
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

test('many runs are run again at once', async ({ world }) => {
  const { page, server } = world;
  const prompt = `Twice\n${'x'.repeat(5000)}\ndemo: say Twice`; // the list shortens it
  for (const title of ['Twice one', 'Twice two']) {
    await server.api.runs.create({ prompt, title });
  }
  await world.signIn('/runs?q=Twice');
  await expect.poll(() => page.getByRole('row').getByText('Succeeded').count()).toBe(2);
  await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
  await page.getByRole('button', { name: 'Run 2 runs again' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Run 2 runs again' }).click();
  await expect.poll(() => page.getByRole('row').getByText('Succeeded').count()).toBe(4);
  const { items } = await server.api.runs.list({ q: 'Twice' });
  const prompts = await Promise.all(items.map(async ({ run_id }) => (await server.api.runs.get(run_id)).prompt));
  expect(prompts).toEqual([prompt, prompt, prompt, prompt]);
});

test('the first load of the list stays small', async ({ world }) => {
  const { page, server } = world;
  await world.signIn();
  const scripts = new Set<string>();
  const fonts: number[] = [];
  page.on('request', (request) => request.resourceType() === 'script' && scripts.add(request.url()));
  page.on('response', (response) => {
    if (response.request().resourceType() === 'font') {
      fonts.push(Number(response.headers()['content-length']));
    }
  });
  await page.goto(`${server.url}/runs`);
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
  await page.waitForLoadState('networkidle');
  const sizes = await Promise.all(
    [...scripts].map(async (url) => {
      const response = await fetch(url, { method: 'HEAD', headers: { 'Accept-Encoding': 'gzip' } });
      expect(response.headers.get('Cache-Control')).toContain('immutable');
      return Number(response.headers.get('Content-Length'));
    }),
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  expect(total).toBeGreaterThan(50_000);
  expect(total, 'bytes of script, gzipped').toBeLessThan(250_000);
  expect(fonts.length).toBe(1);
  expect(fonts[0], 'bytes of the font').toBeLessThan(60_000);
});
