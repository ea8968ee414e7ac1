import { readFile } from 'node:fs/promises';
import { expect, hold, test } from './world.ts';

/** A prompt that has the offline model do a bit of everything, and then ask. */
const everything = String.raw`Look around
demo: think I begin with a plan
demo: plan Look; Change the file; Ask
demo: run echo hello; exit 3
demo: write notes.md # Notes\n\n- first\n- second
demo: write notes.md # Notes\n\n- first\n- third\n\n<script>window.hacked = 1</script>
demo: search third
demo: artifact notes.md
demo: say **Done**: see [the docs](https://example.com/docs) or [this](javascript:alert(1)).
demo: ask Which one?`;

test('a run is watched live to its question, answered, and ends', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: everything, metadata: { ticket: 'OPS-1' } });
  await world.signIn(`/runs/${run_id}`);
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await transcript.getByText('Blocked', { exact: true }).waitFor();
  await transcript.getByText('echo hello; exit 3', { exact: true }).waitFor();
  await transcript.getByText(/^exit 3 ·/).waitFor();
  await transcript.getByText('Done', { exact: true }).waitFor();
  await expect(transcript.getByRole('link', { name: 'the docs' }).getAttribute('rel')).resolves.toContain('noopener');
  expect(await transcript.getByRole('link', { name: 'this' }).count()).toBe(0);
  const about = page.getByRole('complementary', { name: 'About the run' });
  await about.getByText('Change the file').waitFor();
  await about.getByText('Preparing').waitFor();
  await about.getByRole('link', { name: 'OPS-1' }).waitFor();
  await world.look('run');

  const question = page.getByRole('group', { name: 'The agent needs your answer' });
  await question.getByText('Which one?').waitFor();
  expect(await page.getByLabel('Follow-up').count(), 'there is one field').toBe(0);
  await question.getByLabel('Your answer').fill('The second one\ndemo: say Good choice');
  await question.getByRole('button', { name: 'Answer' }).click();
  await transcript.getByText('Good choice', { exact: true }).waitFor();
  await transcript.getByText('Succeeded', { exact: true }).waitFor();
  expect(await page.getByLabel('Follow-up').inputValue()).toBe('');

  await page.getByLabel('Follow-up').fill('demo: say Once more');
  await page.getByLabel('Follow-up').press('Control+Enter');
  await transcript.getByText('Once more', { exact: true }).waitFor();
  await about.getByText('Execution').waitFor();
});

test('the transcript takes the height that the page leaves', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: String.raw`demo: ask Which one?\nThe first, or the second?` });
  await world.signIn(`/runs/${run_id}`);
  await page.getByRole('group', { name: 'The agent needs your answer' }).waitFor();
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await transcript.getByText('Which one?\nThe first, or the second?').first().waitFor();
  const heights = async (): Promise<number[]> => {
    const box = await transcript.boundingBox();
    const page_ = await page.evaluate(() => document.documentElement.scrollHeight - window.innerHeight);
    return [Math.round(box?.height ?? 0), page_];
  };
  const [before = 0, more] = await heights();
  expect(more, 'the page does not scroll').toBe(0);
  await page.setViewportSize({ width: 1280, height: 1100 });
  await expect.poll(heights).toEqual([before + 300, 0]);
});

test('a page shows no state that its run had before', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: 'demo: ask Which one?' });
  await expect.poll(async () => (await server.api.runs.get(run_id)).state).toBe('BLOCKED');
  // The log comes in two parts, and the first one ends while the agent still works.
  let working = '';
  for await (const event of server.api.runs.events(run_id)) {
    if (event.event === 'state' && event.data.state === 'BLOCKED') {
      break;
    }
    working += `id: ${event.id}\nevent: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`;
  }
  expect(working).toContain('INPROGRESS');
  let asked = 0;
  await page.route(`**/runs/${run_id}/events*`, (route) =>
    asked++ === 0 ? route.fulfill({ status: 200, contentType: 'text/event-stream', body: working }) : undefined,
  );
  await world.signIn(`/runs/${run_id}`);
  await expect.poll(() => asked).toBeGreaterThan(1); // the first part is read
  await page.getByRole('group', { name: 'The agent needs your answer' }).waitFor();
  expect(await page.getByLabel('Follow-up').count()).toBe(0);
});

test('every part of a run has its place', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: everything, config: { model_id: 'demo/offline' } });
  const child = await server.api.runs.create({ prompt: 'demo: say x', title: 'A child', parent_run_id: run_id });
  await server.api.runs.create({ prompt: 'demo: say x', title: 'A grandchild', parent_run_id: child.run_id });
  await world.signIn(`/runs/${run_id}?tab=timeline`);
  await page
    .getByRole('list', { name: 'Phases' })
    .getByText(/^Working/)
    .waitFor();
  await page.getByText('Run blocked').waitFor();
  const children = page.getByRole('complementary').getByRole('listitem').filter({ hasText: 'A child' });
  await children.getByText('Succeeded').first().waitFor();
  await children.getByRole('list').getByRole('link', { name: 'A grandchild' }).waitFor();
  await world.look('run-timeline');

  await page.getByRole('tab', { name: 'Configuration' }).click();
  const row = page.getByRole('row', { name: /^model_id/ });
  await row.getByText('the request').waitFor();
  await world.look('run-config');

  await page.getByRole('tab', { name: 'Artifacts (1)' }).click();
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('<script>window.hacked = 1</script>').waitFor();
  await world.look('run-artifacts');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
  expect((await download).suggestedFilename()).toBe('notes.md');
  expect(await readFile(await (await download).path(), 'utf8')).toContain('<script>window.hacked = 1</script>');
  await page.getByRole('button', { name: 'Copy as cURL' }).click();
  await expect(page.getByRole('region', { name: 'watch the run live' }).textContent()).resolves.toContain(
    `curl -N ${server.url}/api/v1/agent/runs/${run_id}/events`,
  );
  await page.getByRole('tab', { name: 'Transcript' }).click();
  await page.getByText('Ran echo hello; exit 3').click();
  await page.getByRole('region', { name: 'Result' }).getByText('hello').first().waitFor();
  await world.look('run-curl');
  await page.getByRole('button', { name: 'Copy the run’s ID' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(run_id);
  await page.getByRole('complementary').getByRole('link', { name: 'A child' }).click();
  await page.getByRole('complementary').getByRole('link', { name: 'Look around' }).click();
  await page.getByRole('heading', { name: 'Look around' }).waitFor();
});

test('what an agent, a title or a message says is shown as text', async ({ world }) => {
  const { page, server } = world;
  const attack = `<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script><svg onload="window.hacked=1">`;
  const { run_id } = await server.api.runs.create({
    title: `Title ${attack}`,
    prompt: `Say it ${attack}\ndemo: say **it** ${attack}\ndemo: plan ${attack}\ndemo: run echo '${attack}'\ndemo: ask ${attack}`,
    metadata: { 'x.y': attack },
  });
  await world.signIn(`/runs/${run_id}`);
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await transcript.getByText('Blocked', { exact: true }).waitFor();
  await page.getByRole('heading', { name: `Title ${attack}` }).waitFor();
  await page.getByRole('complementary').getByRole('link', { name: attack }).waitFor();
  await page.goto(`${server.url}/runs?q=Title`);
  await page.getByRole('link', { name: `Title ${attack}` }).waitFor();
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
  expect(await page.locator('main img').count()).toBe(0);
});

test('a reload in the middle of a stream, a second tab and a restart of the server lose nothing', async ({ world }) => {
  const { page, server } = world;
  const steps = Array.from({ length: 6 }, (_, i) => `demo: say Step ${i + 1}`).join('\n');
  const { run_id } = await server.api.runs.create({
    prompt: `Wait\ndemo: run while [ ! -e go ]; do sleep 0.05; done\n${steps}\ndemo: ask Enough?`,
  });
  await world.signIn(`/runs/${run_id}`);
  await page.getByText(/^while/).waitFor();
  await page.reload();
  await page.getByText(/^while/).waitFor();
  await server.api.runs.cancel(run_id);
  await page.getByRole('region', { name: 'Transcript' }).getByText('Cancelled', { exact: true }).waitFor();

  const other = await world.newPage();
  await other.goto(page.url());
  await other.getByRole('region', { name: 'Transcript' }).getByText('Cancelled', { exact: true }).waitFor();
  await server.down();
  await other.getByText('Reconnecting…').waitFor();
  await server.up();
  await expect.poll(() => other.getByText('Reconnecting…').count()).toBe(0);
  await other.getByLabel('Follow-up').fill(`Go on\n${steps}`);
  await other.getByRole('button', { name: 'Send' }).click();
  await other.getByText('Step 6', { exact: true }).waitFor();
  await page.bringToFront();
  await page.getByText('Step 6', { exact: true }).waitFor();
  for (const tab of [page, other]) {
    expect(await tab.getByText('Step 3', { exact: true }).count()).toBe(1);
  }
});

test('a follow-up that was not delivered is sent again', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: 'Wait\ndemo: run while [ ! -e go ]; do sleep 0.05; done' });
  await world.signIn(`/runs/${run_id}`);
  await page.getByText(/^while/).waitFor();
  await server.api.runs.followUp(run_id, { message: 'demo: say Here I am' });
  await server.api.runs.cancel(run_id);
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await transcript.getByText('Not delivered', { exact: true }).waitFor();
  await world.look('run-undelivered');
  await transcript.getByRole('button', { name: 'Send again' }).click();
  await transcript.getByText('Here I am', { exact: true }).waitFor();
  await transcript.getByText('Succeeded', { exact: true }).waitFor();
});

test('a run that waits takes a follow-up, too, and tells what it waits for', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: 'x', title: 'Waits', config: { worker_host: 'nowhere' } });
  await world.signIn(`/runs/${run_id}`);
  await page
    .getByRole('status')
    .getByText(/nowhere/)
    .waitFor();
  await page.getByText('The agent gets it after its first turn.').waitFor();
  const prompt = page.getByRole('region', { name: 'Transcript' }).getByRole('article');
  await prompt.getByText('x', { exact: true }).waitFor();
  expect(await prompt.count()).toBe(1);
  await page.getByLabel('Follow-up').fill('And this');
  await page.getByRole('button', { name: 'Send' }).click();
  await expect.poll(() => page.getByLabel('Follow-up').inputValue()).toBe('');
  await page.getByRole('tab', { name: 'Timeline' }).click();
  await page.getByText('Followup received').waitFor();
  await page.getByRole('complementary').getByText(/^\d+$/).waitFor();
});

test('a follow-up is kept while another tab is looked at, and sent once', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: 'demo: ask Which one?' });
  await world.signIn(`/runs/${run_id}`);
  const followUp = page.getByRole('textbox', { name: 'Your answer' });
  await followUp.fill('demo: say The second');
  await page.getByRole('tab', { name: 'Timeline' }).click();
  await page.getByRole('list', { name: 'Phases' }).waitFor();
  await page.getByRole('tab', { name: 'Transcript' }).click();
  expect(await followUp.inputValue()).toBe('demo: say The second');

  const held = await hold(page, '**/followups');
  await followUp.press('Control+Enter');
  await page.locator('button[type=submit][data-loading]').waitFor();
  await followUp.press('Control+Enter');
  await followUp.fill('And then');
  held.release();
  await page.getByRole('region', { name: 'Transcript' }).getByText('The second', { exact: true }).waitFor();
  expect(held.requests()).toBe(1);
  expect(await page.getByLabel('Follow-up').inputValue()).toBe('And then');
});

test('a message is in the transcript at once, and says what became of it', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: 'Wait\ndemo: run while [ ! -e go ]; do sleep 0.05; done' });
  await world.signIn(`/runs/${run_id}`);
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await transcript.getByText(/^while/).waitFor();
  const held = await hold(page, '**/followups');
  await page.getByLabel('Follow-up').fill('demo: say Hurry');
  await page.getByRole('button', { name: 'Send' }).click();
  const message = transcript.getByRole('article').filter({ hasText: 'demo: say Hurry' });
  await message.getByText('Sending…').waitFor();
  held.release();
  await message.getByText('Queued: delivered after this turn').waitFor();
  await world.look('run-queued');
  server.write(run_id, 'go');
  await message.getByText('Delivered', { exact: true }).waitFor();
  await transcript.getByText('Hurry', { exact: true }).waitFor();
  expect(await message.count()).toBe(1);

  await page.unroute('**/followups');
  await page.route('**/followups', (route) =>
    route.fulfill({ status: 409, contentType: 'application/problem+json', body: '{"title":"Busy"}' }),
  );
  await page.getByLabel('Follow-up').fill('demo: say Again');
  await page.getByRole('button', { name: 'Send' }).click();
  const failed = transcript.getByRole('article').filter({ hasText: 'demo: say Again' });
  await failed.getByText('Not delivered', { exact: true }).waitFor();
  await page.unroute('**/followups');
  await failed.getByRole('button', { name: 'Send again' }).click();
  await transcript.getByText('Again', { exact: true }).waitFor();
  await expect.poll(() => failed.count()).toBe(1);
});

test('a run starts again as it was, or edited', async ({ world }) => {
  const { page, server } = world;
  const request = {
    prompt: 'Say it\ndemo: say First',
    title: 'Original',
    metadata: { ticket: 'OPS-1' },
    config: { model_id: 'demo/offline' },
  };
  const { run_id } = await server.api.runs.create(request);
  await world.signIn(`/runs/${run_id}`);
  await page.getByRole('button', { name: 'Run again' }).click();
  await page.waitForURL((url) => url.pathname.startsWith('/runs/') && !url.pathname.endsWith(run_id));
  const again = await server.api.runs.get(page.url().split('/').at(-1) ?? '');
  const { prompt, title, metadata, agent_config_sources: sources } = again;
  expect({ prompt, title, metadata, model: sources?.model_id }).toEqual({ ...request, config: undefined, model: 'request' });

  await page.getByRole('button', { name: 'Edit and run' }).click();
  const dialog = page.getByRole('dialog', { name: 'Edit and run' });
  expect(await dialog.getByLabel('Prompt').inputValue()).toBe(request.prompt);
  expect(await dialog.getByLabel('Title').inputValue()).toBe('Original');
  await world.look('run-edit');
  await dialog.getByLabel('Title').fill('Edited');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('heading', { name: 'Edited' }).waitFor();
  await page.getByRole('link', { name: 'OPS-1' }).waitFor();
});

test('a transcript is searched, narrowed to its errors and saved', async ({ world }) => {
  const { page, server } = world;
  const polls = Array.from({ length: 5 }, () => 'demo: run echo waiting').join('\n');
  const { run_id } = await server.api.runs.create({ prompt: `Poll\n${polls}\ndemo: run exit 3\ndemo: say Needle found` });
  await world.signIn(`/runs/${run_id}`);
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await transcript.getByText('Succeeded', { exact: true }).waitFor();
  await transcript.getByText('5 times').click();
  await expect.poll(() => transcript.getByText('Ran echo waiting').count()).toBe(6);
  await world.look('run-grouped');
  await page.getByLabel('Search the transcript').fill('needle');
  await page.getByRole('status').getByText('2 lines').waitFor();
  await page.getByLabel('Search the transcript').fill('');
  await page.getByLabel('Errors only').check();
  await page.getByRole('status').getByText('1 line').waitFor();
  await transcript.getByText('exit 3', { exact: true }).waitFor();
  const save = async (form: string): Promise<string> => {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    await page.getByRole('menuitem', { name: form }).click();
    return readFile(await (await download).path(), 'utf8');
  };
  expect(await save('Markdown')).toContain('**Ran exit 3** (failed)');
  expect(JSON.parse(await save('JSON'))).toHaveProperty('steps');
});

test('a run is cancelled after a question', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: 'Wait\ndemo: run sleep 600' });
  await world.signIn(`/runs/${run_id}`);
  await page.getByRole('button', { name: 'Cancel run' }).click();
  await page.getByRole('dialog').getByText('The agent stops').waitFor();
  await world.look('run-cancel');
  await page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  expect((await server.api.runs.get(run_id)).state).not.toBe('CANCELLED');
  await page.getByRole('button', { name: 'Cancel run' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel run' }).click();
  await page.getByRole('region', { name: 'Transcript' }).getByText('Cancelled', { exact: true }).waitFor();
  expect((await server.api.runs.get(run_id)).state).toBe('CANCELLED');
  await expect.poll(() => page.getByRole('button', { name: 'Cancel run' }).count()).toBe(0);
});

test('a run that does not exist is reported with a way back and the request’s id', async ({ world }) => {
  await world.signIn('/runs/01a1fd4a-7345-7000-b691-c4884c92adfe');
  const alert = world.page.getByRole('alert');
  await alert.waitFor();
  await expect(alert.textContent()).resolves.toMatch(/This run does not exist.*Request [0-9a-f-]{36}/);
  expect(await world.page.getByRole('button', { name: 'Try again' }).count(), 'which could not help').toBe(0);
  await world.look('run-missing');
  await alert.getByRole('link', { name: 'Go to Runs' }).click();
  await world.page.waitForURL('**/runs');
  await world.page.goto(`${world.server.url}/nothing/here`);
  await world.page.getByRole('heading', { name: 'Page not found' }).waitFor();
});

test('a follow-up that is over before the page draws has its turn', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: 'demo: run echo one > notes.txt' });
  await expect.poll(async () => (await server.api.runs.get(run_id)).state).toBe('SUCCEEDED');
  await world.signIn(`/runs/${run_id}`);
  const forks = page.getByRole('region', { name: 'Transcript' }).getByRole('button', { name: 'Fork from here' });
  await expect.poll(async () => forks.count()).toBe(1);
  await page.evaluate(() => {
    const draw = window.requestAnimationFrame.bind(window);
    const held: FrameRequestCallback[] = [];
    window.requestAnimationFrame = (callback) => held.push(callback);
    Object.assign(window, {
      release: () => {
        window.requestAnimationFrame = draw;
        held.forEach((callback) => {
          draw(callback);
        });
      },
    });
  });
  await server.api.runs.followUp(run_id, { message: 'demo: run echo two > notes.txt' });
  await expect.poll(async () => (await server.api.runs.checkpoints(run_id)).checkpoints.length).toBe(2);
  await expect.poll(async () => (await server.api.runs.get(run_id)).state).toBe('SUCCEEDED');
  await page.evaluate('release()');
  await expect.poll(async () => forks.count()).toBe(2);
});

test('a turn is forked, the forks are compared, and the run goes back to it', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: 'demo: run echo one > notes.txt' });
  await expect.poll(async () => (await server.api.runs.get(run_id)).state).toBe('SUCCEEDED');
  await world.signIn(`/runs/${run_id}`);
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await page.getByLabel('Follow-up').fill('demo: run echo two > notes.txt');
  await page.getByLabel('Follow-up').press('Control+Enter');
  await expect.poll(async () => transcript.getByRole('button', { name: 'Fork from here' }).count()).toBe(2);
  await world.look('run-turns');

  await transcript.getByRole('button', { name: 'Fork from here' }).first().click();
  const fork = page.getByRole('dialog', { name: 'Fork turn 1' });
  await fork.getByLabel('Prompt').fill('demo: run cat notes.txt');
  await fork.getByLabel('Runs').fill('2');
  await world.look('run-fork');
  await fork.getByRole('button', { name: 'Fork' }).click();
  const forks = page.getByRole('table', { name: 'Forks' });
  await expect.poll(async () => forks.getByText('Succeeded').count()).toBe(2);
  await world.look('forks');
  await forks.getByRole('link').first().click();
  await page.getByRole('complementary', { name: 'About the run' }).getByText('Forked from').waitFor();
  await transcript.getByText(/one/).first().waitFor();

  await page.goto(`${server.url}/runs/${run_id}`);
  await transcript.getByRole('button', { name: 'Back to here' }).first().click();
  const back = page.getByRole('dialog', { name: 'Back to turn 1' });
  await back.getByLabel('Next message').fill('demo: run cat notes.txt; echo three');
  await back.getByRole('button', { name: 'Go back' }).click();
  await transcript.getByText('Back to turn 1').waitFor();
  await transcript.getByText('Superseded').first().waitFor();
  await transcript.getByText('Ran cat notes.txt; echo three').click();
  await transcript
    .getByText(/one\s+three/)
    .first()
    .waitFor();
  await world.look('run-back');
});
