import { choose, expect, test, type World } from './world.ts';

/** An automation whose deliveries are about {{repo}}#{{pr}}, and how to deliver about one. */
async function about({ server: { api } }: World, name: string, prompt: string, rules = {}) {
  const { uid } = await api.factories.create({ name });
  const hook = await api.webhooks.create(uid, { name: 'forge' });
  const triggers = [{ provider: 'webhook', event: 'received', filter: { webhook_ids: ['forge'] } }];
  const automation = await api.automations.create(uid, { name: 'review', prompt, triggers, subject: '{{repo}}#{{pr}}', ...rules });
  const send = async (pr: number, n: number): Promise<void> => {
    const response = await fetch(hook.ingress_url, {
      method: 'POST',
      body: JSON.stringify({ repo: 'acme/shop', pr, n }),
      headers: { Authorization: `Bearer ${hook.secret}` },
    });
    expect(response.status).toBe(202);
  };
  return { uid, hook, auid: automation.uid, send };
}

test('deliveries about one subject have one run, and each page links to the others', async ({ world }) => {
  const { page, server } = world;
  const { api } = server;
  // The agent asks, so that its run stays the one that works on the subject.
  const { uid, hook, auid, send } = await about(world, 'one', 'demo: ask Which one?');
  await send(7, 1);
  const runOf = async () => (await api.runs.list({ subject: 'acme/shop#7' })).items[0];
  await expect.poll(async () => (await runOf())?.state).toBe('BLOCKED');
  await send(7, 2);
  await send(8, 1);
  const { run_id } = (await runOf()) ?? { run_id: '' };

  // The list of runs has the subject, which is a filter, also with a # in it.
  await world.signIn('/runs');
  await page.getByRole('row', { name: /acme\/shop#8/ }).waitFor();
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await choose(page.getByRole('combobox', { name: 'Filter by' }), { name: 'Subject' });
  await page.getByRole('textbox', { name: 'Subject' }).fill('acme/shop#7');
  await page.keyboard.press('Enter');
  await page.waitForURL('**subject=acme%2Fshop%237');
  await expect.poll(() => page.getByRole('row', { name: /acme\/shop#8/ }).count()).toBe(0);
  expect(await page.getByTitle('acme/shop#7', { exact: true }).count()).toBe(1);
  await world.look('runs-subject');

  // The run has its subject, and the events with their fates.
  await page
    .getByRole('row', { name: /acme\/shop#7/ })
    .getByRole('link')
    .first()
    .click();
  await page.waitForURL(`**/runs/${run_id}`);
  const facts = page.getByRole('complementary', { name: 'About the run' });
  await facts.getByText(/It ends when: /).waitFor();
  const reached = page.getByRole('region', { name: 'Events' });
  await reached.getByText('Waiting', { exact: true }).waitFor();
  await reached.getByText('Started', { exact: true }).waitFor();
  await world.look('run-events');

  await facts.getByRole('link', { name: 'acme/shop#7' }).click();
  const events = page.getByRole('table', { name: 'Events' });
  await events.waitFor(); // the page before has that heading, too
  await page.getByRole('heading', { name: 'acme/shop#7' }).waitFor();
  await page.getByText('Blocked', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'review' }).waitFor();
  expect(await events.getByRole('row').count()).toBe(3);
  await world.look('subject');
  // A delivery that comes while the page is open appears on it.
  await send(7, 3);
  await expect.poll(() => events.getByRole('row').count()).toBe(4);
  await events.getByRole('link', { name: 'View delivery' }).last().click();
  await page.waitForURL(`**/factory/${uid}/webhooks/${hook.uid}/deliveries/*`);
  const match = page.getByRole('listitem').filter({ hasText: 'review' });
  await match.getByText('Started', { exact: true }).waitFor();
  await match.getByRole('link', { name: 'acme/shop#7' }).waitFor();
  expect(await match.getByRole('link', { name: 'View run' }).getAttribute('href')).toBe(`/runs/${run_id}`);
  await world.look('delivery-subject');

  // The log has the fate of each.
  await page.goto(`${server.url}/factory/${uid}/webhooks/${hook.uid}`);
  const log = page.getByRole('list', { name: 'Deliveries' });
  await expect.poll(() => log.getByText('review waiting').count()).toBe(2);
  await expect.poll(() => log.getByText('review started').count()).toBe(2);
  await world.look('deliveries-subject');

  // The list, from the automation.
  await page.goto(`${server.url}/factory/${uid}/automations/${auid}`);
  await page.getByRole('link', { name: 'View subjects' }).click();
  const list = page.getByRole('table', { name: 'Subjects' });
  await list.getByRole('link', { name: 'acme/shop#8' }).waitFor();
  await list
    .getByRole('row', { name: /acme\/shop#7/ })
    .getByText('3 (2 waiting)')
    .waitFor();
  await list.getByRole('link', { name: 'review' }).first().waitFor();
  await world.look('subjects');
  await page.getByRole('textbox', { name: 'Subject' }).fill('acme/shop#8');
  await page.keyboard.press('Enter');
  await expect.poll(() => list.getByRole('link', { name: 'acme/shop#7' }).count()).toBe(0);
  await page.getByRole('textbox', { name: 'Subject' }).fill('acme/shop#9');
  await page.keyboard.press('Enter');
  await page.getByText('No such subjects.').waitFor();
});

test('a run links to the run that it continues', async ({ world }) => {
  const { page, server } = world;
  const { send } = await about(world, 'continues', 'demo: error it broke');
  const runs = async () => (await server.api.runs.list({ subject: 'acme/shop#21', sort_by: 'created_at', sort_order: 'asc' })).items;
  await send(21, 1);
  await expect.poll(async () => (await runs())[0]?.state).toMatch(/^(FAILED|ERROR)$/);
  await send(21, 2);
  await expect.poll(async () => (await runs()).length).toBe(2);
  const [first, second] = await runs();
  await world.signIn(`/runs/${second?.run_id}`);
  const continued = page
    .getByRole('complementary', { name: 'About the run' })
    .getByRole('definition')
    .filter({ hasText: first?.title ?? '' });
  await continued.locator(`a[href="/runs/${first?.run_id}"]`).click();
  await page.waitForURL(`**/runs/${first?.run_id}`);
});

test('the rules of a subject are edited, errors are at their field, and an emptied field is cleared', async ({ world }) => {
  const { page, server } = world;
  const { uid, auid } = await about(world, 'rules', 'x', { quiet: '10s' });
  const rules = async () => server.api.automations.get(uid, auid);
  await world.signIn(`/factory/${uid}/automations/${auid}`);
  const quiet = page.getByRole('textbox', { name: 'Quiet' });
  const section = page.locator('summary', { hasText: 'One run for each subject' });
  expect(await page.getByText(/^It also sets/).count()).toBe(0);
  await expect.poll(() => quiet.inputValue()).toBe('10s');
  expect(await page.getByRole('textbox', { name: 'Keep' }).getAttribute('placeholder')).toBe('14d');
  await world.look('automation-subject');

  await page.getByRole('textbox', { name: 'Keep' }).fill('soon');
  await section.click();
  await expect.poll(() => quiet.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Save' }).click();
  // The section opens for the error.
  const keep = page.getByRole('textbox', { name: 'Keep' });
  await keep.waitFor();
  await expect.poll(() => keep.getAttribute('aria-invalid')).toBe('true');
  await world.look('automation-subject-error');

  await keep.fill('2d');
  await quiet.fill('');
  await choose(page.getByRole('combobox', { name: 'While its run works, events' }), { name: 'Follow one by one' });
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(async () => (await rules()).when_busy).toBe('queue');
  const { subject, keep: kept, quiet: cleared, prompt } = await rules();
  expect({ subject, kept, cleared, prompt }).toEqual({ subject: '{{repo}}#{{pr}}', kept: '2d', cleared: undefined, prompt: 'x' });
});

test('what continues and what closes a subject is edited, and an error of one is shown', async ({ world }) => {
  const { page, server } = world;
  const { uid, auid } = await about(world, 'ends', 'x', { closes_run: true });
  const rules = async () => server.api.automations.get(uid, auid);
  await world.signIn(`/factory/${uid}/automations/${auid}`);
  const save = page.getByRole('button', { name: 'Save' });
  const one = (name: string) => page.getByRole('group', { name });
  for (const name of ['Continues on', 'Closed by']) {
    await page.getByRole('button', { name: `Add “${name}”` }).click();
    await choose(one(`${name} 1`).getByRole('combobox', { name: 'When' }), { name: /^GitHub/i });
    await choose(one(`${name} 1`).getByRole('combobox', { name: 'Event' }), { name: /pull request closed/i }, 'closed');
  }
  await choose(page.getByRole('combobox', { name: 'While its run works, events' }), { name: 'Start a run of their own' });
  await save.click();
  await page.getByText('needs another when_busy than parallel').first().waitFor();
  await world.look('automation-closes-error');
  await choose(page.getByRole('combobox', { name: 'While its run works, events' }), { name: 'Follow one by one' });
  await page.getByRole('checkbox', { name: 'Closing also cancels the run' }).uncheck();
  await save.click();
  const closed = [{ provider: 'github', event: 'pull_request_closed' }];
  await expect.poll(async () => (await rules()).closes).toEqual(closed);
  const { continue_on, closes_run, subject } = await rules();
  expect({ continue_on, closes_run, subject }).toEqual({ continue_on: closed, closes_run: false, subject: '{{repo}}#{{pr}}' });
  await world.look('automation-closes');
  await one('Continues on 1').getByRole('button', { name: 'Remove' }).click();
  await save.click();
  await expect.poll(async () => (await rules()).continue_on).toBeUndefined();
});

test('a new run about a subject reaches the run that works on it', async ({ world }) => {
  const { page, server } = world;
  const first = await server.api.runs.create({ prompt: 'demo: ask Which one?', subject: 'acme/shop#9' });
  await expect.poll(async () => (await server.api.runs.get(first.run_id)).state).toBe('BLOCKED');
  await world.signIn('/runs');
  await page.getByRole('button', { name: 'New run' }).click();
  const form = page.getByRole('dialog');
  await form.getByRole('textbox', { name: 'Prompt' }).fill('Look once more.');
  await form.getByRole('textbox', { name: 'Subject' }).fill('acme/shop#9');
  await form.getByRole('combobox', { name: 'While its run works' }).waitFor();
  await world.look('new-run-subject');
  await form.getByRole('button', { name: /^(Run|Start|Create)/ }).click();
  await page.waitForURL(`**/runs/${first.run_id}`);
  expect((await server.api.runs.list({ subject: 'acme/shop#9' })).items).toHaveLength(1);
});

test('a list that cannot be read is no empty list', async ({ world }) => {
  const { page } = world;
  await world.signIn('/runs');
  await page.route('**/api/v1/subjects**', (route) => route.fulfill({ status: 500, json: { title: 'Internal error', status: 500 } }));
  await page.goto(`${world.server.url}/subjects`);
  await page.getByRole('alert').waitFor();
  expect(await page.getByText('No subjects yet').count()).toBe(0);
});
