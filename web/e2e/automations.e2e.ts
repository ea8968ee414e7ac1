import type { RunItem } from '@penstock/sdk';
import { choose, expect, test } from './world.ts';

test('an automation is made, its filter tested on what came and on a payload, and it fires', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'making' });
  const hook = await server.api.webhooks.create(uid, { name: 'ci' });
  const send = async (body: unknown): Promise<number> => {
    const headers = { Authorization: `Bearer ${hook.secret}`, 'Content-Type': 'application/json' };
    return (await fetch(hook.ingress_url, { method: 'POST', body: JSON.stringify(body), headers })).status;
  };
  expect(await send({ status: 'failed', n: 1 })).toBe(202);
  expect(await send({ status: 'passed', n: 2 })).toBe(202);

  await world.signIn('/automations');
  await page.getByRole('heading', { name: 'No automations yet' }).waitFor();
  await world.look('automations-empty');
  await page.getByRole('link', { name: 'New automation' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).first().fill('Fix red builds');
  await page.getByRole('textbox', { name: 'Prompt' }).fill('Fix it.\ndemo: say fixed');
  const trigger = page.getByRole('group', { name: 'Trigger 1' });
  await trigger.getByText('Choose at least one webhook.').waitFor();
  expect(await page.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
  await choose(trigger.getByRole('combobox', { name: 'Webhooks' }), { name: 'ci' });
  await page.keyboard.press('Escape');
  const filter = trigger.getByRole('textbox', { name: 'Filter' });
  const write = async (text: string): Promise<void> => {
    await filter.fill(''); // what takes the place of colored text would be given its style, which the policy forbids
    await filter.fill(text);
  };
  await write('{"status": ["failed"], "n": []}');
  const marks = trigger.locator('.cm-lint-marker-error');
  await marks.waitFor();
  await trigger.locator('.cm-lintRange-error').hover();
  await page
    .locator('.cm-tooltip-lint')
    .getByText(/must|empty|at least/)
    .first()
    .waitFor();
  await world.look('automation-error');
  await write('{"id": [9007199254740993]}');
  await expect.poll(() => page.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
  await write('{"status": ["failed"');
  await expect.poll(() => page.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
  await write('{"status": ["failed"]}');
  await expect.poll(() => marks.count()).toBe(0);

  const check = trigger.getByRole('group', { name: 'Test filter' });
  const tested = check.getByRole('region', { name: 'Tested deliveries' }).getByRole('listitem');
  await check.getByText('Matches 1 of the last 2 deliveries.').waitFor();
  expect(await tested.count()).toBe(2);
  await tested.nth(0).getByText('Does not match').waitFor();
  await tested.nth(0).getByText('status is passed; expects failed').waitFor();
  await tested.nth(1).getByText('Matches', { exact: true }).waitFor();
  await world.look('automation-test');
  await write('{"status": ["passed"');
  await check.getByText('The filter has an error.').waitFor();
  await write('{"status": ["passed", "failed"]}');
  await check.getByText('Matches 2 of the last 2 deliveries.').waitFor();
  await write('{"n": {"not_in": [1, 3]}}');
  await tested.nth(1).getByText('n is 1; expects none of 1 or 3').waitFor();
  await write('{"status": ["failed"]}');
  await check.getByText('Matches 1 of the last 2 deliveries.').waitFor();
  await check.getByText('Pasted payload').click();
  await check.getByRole('textbox', { name: 'Payload' }).fill('{"status": "failed", "more": true}');
  await check.getByText('Would trigger', { exact: true }).waitFor();
  await check.getByRole('textbox', { name: 'Payload' }).fill('');
  await check.getByRole('textbox', { name: 'Payload' }).fill('{"more": true}');
  await check.getByText('status is absent; expects failed').waitFor();
  await check.getByRole('textbox', { name: 'Payload' }).fill('');
  await check.getByRole('textbox', { name: 'Payload' }).fill('{"status": 9007199254740993}');
  await check.getByText('status is the number 9007199254740993; expects the text "failed"').waitFor();

  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'fix-red-builds' }).waitFor();
  expect(await send({ status: 'failed', n: 3 })).toBe(202);
  await page.getByRole('link', { name: 'View runs' }).click();
  const [run] = (await server.api.runs.list({ webhook_uid: hook.uid })).items;
  await page.getByRole('link', { name: run?.title ?? '' }).waitFor();
});

test('events about one subject reach one run, and the pages say so', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'subjects' });
  const hook = await server.api.webhooks.create(uid, { name: 'forge' });
  const triggers = [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [hook.uid] } }];
  const automation = await server.api.automations.create(uid, { name: 'review', prompt: 'demo: ask ready?', triggers });
  await world.signIn(`/factory/${uid}/automations/${automation.uid}`);
  await page.getByText('One run for each subject').click();
  await page.getByRole('textbox', { name: 'Subject' }).fill('{{repo}}#{{pr}}');
  await page.getByRole('textbox', { name: 'Quiet' }).fill('soon');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('must be a time such as 30s, 5m or 14d').first().waitFor();
  await world.look('automation-subject');
  await page.getByRole('textbox', { name: 'Quiet' }).fill('1s');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(async () => (await server.api.automations.get(uid, automation.uid)).subject).toBe('{{repo}}#{{pr}}');

  const headers = { Authorization: `Bearer ${hook.secret}`, 'Content-Type': 'application/json' };
  const send = async (n: number): Promise<string> => {
    const sent = await fetch(hook.ingress_url, { method: 'POST', body: JSON.stringify({ repo: 'acme/shop', pr: 7, n }), headers });
    return ((await sent.json()) as { delivery_id: string }).delivery_id;
  };
  await send(1);
  await expect.poll(async () => (await server.api.runs.list({ subject: 'acme/shop#7' })).items[0]?.state).toBe('BLOCKED');
  const second = await send(2);
  const [run] = (await server.api.runs.list({ subject: 'acme/shop#7' })).items;
  await page.goto(`${server.url}/runs/${run?.run_id}`);
  const events = page.getByRole('region', { name: 'Events' });
  await expect.poll(() => events.getByRole('listitem').allTextContents()).toHaveLength(2);
  await events.getByRole('listitem').nth(0).getByText('Waiting').waitFor();
  await events.getByRole('listitem').nth(1).getByText('Started').waitFor();
  await world.look('run-subject');
  await events.getByRole('listitem').nth(0).getByRole('link', { name: 'Delivery' }).click();
  await page.waitForURL(`**/deliveries/${second}`);
  await page.getByRole('heading', { name: 'Delivery Accepted' }).waitFor(); // the address changes before the page
  await page.getByText('acme/shop#7').waitFor();
  await page.getByText('Waiting', { exact: true }).waitFor();
  await world.look('delivery-subject');
  await server.api.runs.followUp(run?.run_id ?? '', { message: 'demo: say Yes' });
  await page.getByText('Continued', { exact: true }).waitFor();
  await page.goto(`${server.url}/runs/${run?.run_id}`);
  await page.getByRole('link', { name: 'acme/shop#7' }).click();
  await page.getByRole('link', { name: 'All runs on this subject' }).click();
  await page.getByRole('group', { name: 'Applied filters' }).getByText('Subject: acme/shop#7').waitFor();
  await page
    .getByRole('table', { name: 'Runs' })
    .getByRole('link', { name: run?.title ?? '' })
    .waitFor();
});

test('a run that did nothing ends as its automation says', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'hollow' });
  const hook = await server.api.webhooks.create(uid, { name: 'ci' });
  const triggers = [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [hook.uid] } }];
  const made = { name: 'claims', prompt: 'demo: say Done.', model: 'demo/offline', triggers, on_hollow: 'fail' as const };
  const { uid: auid } = await server.api.automations.create(uid, made);
  const read = () => server.api.automations.get(uid, auid);
  const ended = async (): Promise<RunItem> => {
    const { run_id } = await server.api.automations.run(uid, auid);
    await expect.poll(async () => (await server.api.runs.get(run_id)).finished_at, { timeout: 30_000 }).toBeTruthy();
    return server.api.runs.get(run_id);
  };
  const failed = await ended();
  expect([failed.state, failed.hollow]).toEqual(['FAILED', true]);

  // An edit of another field keeps it.
  await world.signIn(`/factory/${uid}/automations/${auid}`);
  const choice = page.getByRole('combobox', { name: 'If a run did nothing' });
  await expect.poll(() => choice.inputValue()).toBe('The run is FAILED');
  await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('demo: say All done.');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(async () => (await read()).prompt).toBe('demo: say All done.');
  expect((await read()).on_hollow).toBe('fail');
  await world.look('automation-hollow');
  await choice.click();
  await page.getByRole('option', { name: 'Alert nobody' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(async () => (await read()).on_hollow).toBe('none');
  const quiet = await ended();
  expect([quiet.state, quiet.hollow]).toEqual(['SUCCEEDED', true]);
  await page.getByLabel('Clear if a run did nothing').click({ timeout: 10_000 });
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(async () => (await read()).on_hollow).toBe(undefined);

  // Either page says why.
  await page.goto(`${server.url}/runs/${failed.run_id}`);
  await page.getByText('Its automation has on_hollow: fail').or(page.getByText('`on_hollow: fail`')).first().waitFor();
  await world.look('run-hollow-failed');
  await page.goto(`${server.url}/runs/${quiet.run_id}`);
  await page.getByText('This run did nothing').waitFor();
});

test('a clock shows its next five times by the rules of the server', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'clocks' });
  const automation = await server.api.automations.create(uid, {
    name: 'nightly',
    prompt: 'x',
    triggers: [
      { provider: 'schedule', event: 'cron_fired', schedule: { cron: '0 3 * * *', timezone: 'Europe/Berlin' } },
      { provider: 'slack', event: 'app_mention' },
      { provider: 'github', event: 'push', filter: { repos: ['acme/app'] } },
    ],
  });
  await world.signIn(`/factory/${uid}/automations/${automation.uid}`);
  const times = page.getByRole('region', { name: 'Next times' });
  await expect.poll(() => times.getByRole('listitem').count()).toBe(5);
  await expect(times.getByRole('listitem').first().textContent()).resolves.toContain('03:00');
  await page.getByRole('group', { name: 'Trigger 2' }).getByText('not connected: no events of slack').waitFor();
  await page
    .getByRole('group', { name: 'Trigger 3' })
    .getByText(/^not connected: no webhook of this factory/)
    .waitFor();
  expect(await page.getByText(/^Not connected/).count(), 'it is said once').toBe(0);
  await world.look('automation');
  const cron = page.getByRole('textbox', { name: 'Cron' });
  await cron.fill('0 3 31 2 *');
  await page.getByText('never matches a date').waitFor();
  await cron.fill('30 4 * * *');
  await expect.poll(() => times.getByRole('listitem').first().textContent()).toContain('04:30');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(async () => (await server.api.automations.get(uid, automation.uid)).triggers[0]?.schedule?.cron).toBe('30 4 * * *');
  expect((await server.api.automations.get(uid, automation.uid)).triggers[2]?.filter).toEqual({ repos: ['acme/app'] });
});

test('automations are switched and deleted', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'switching' });
  const attack = '<img src=x onerror="window.hacked = 1">';
  const triggers = [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [attack] } }];
  const { uid: auid } = await server.api.automations.create(uid, { name: 'old', prompt: attack, triggers });
  await world.signIn(`/automations?factory=${uid}`);
  const row = page.getByRole('row', { name: /old/ });
  await row.getByText('Can’t fire').waitFor();
  await world.look('automations');
  await row.getByRole('switch').press('Space');
  await expect.poll(async () => (await server.api.automations.get(uid, auid)).enabled).toBe(false);
  await row.getByRole('link', { name: 'old' }).click();
  await page.getByText(`${attack} (not found)`).first().waitFor();
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete automation' }).click();
  await page.waitForURL('**/automations');
  expect((await server.api.automations.list(uid)).automations).toEqual([]);
});

test('a webhook that a trigger selects by its UID is shown by its name', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'named' });
  const hook = await server.api.webhooks.create(uid, { name: 'ci' });
  const triggers = [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [hook.uid] } }];
  await server.api.automations.create(uid, { name: 'by-uid', prompt: 'x', triggers });
  await world.signIn(`/automations?factory=${uid}`);
  const row = page.getByRole('row', { name: /by-uid/ });
  await row.getByText('webhook ci', { exact: true }).waitFor();
  expect(await row.getByText(hook.uid).count()).toBe(0);
});

test('what somebody else changes of an automation meanwhile is shown, and stays when this is saved', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'together' });
  const triggers = [{ provider: 'schedule', event: 'cron_fired', schedule: { cron: '0 9 * * 1' } }];
  const { uid: auid } = await server.api.automations.create(uid, { name: 'weekly', prompt: 'As it was', triggers });
  await world.signIn(`/factory/${uid}/automations/${auid}`);
  const prompt = page.getByRole('textbox', { name: 'Prompt', exact: true });
  await expect.poll(() => prompt.inputValue()).toBe('As it was');
  // The page reads again whenever it is turned to.
  const elsewhere = async (change: string): Promise<void> => {
    await server.api.automations.update(uid, auid, { prompt: change });
    await expect
      .poll(async () => {
        const read = page.waitForResponse((response) => response.url().endsWith(`/automations/${auid}`), { timeout: 5_000 });
        await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })));
        return (await (await read.catch(() => undefined))?.json())?.prompt;
      })
      .toBe(change);
  };
  await elsewhere('As they want it');
  await expect.poll(() => prompt.inputValue()).toBe('As they want it');
  expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);

  await page.getByLabel('Name *', { exact: true }).fill('fortnightly');
  await elsewhere('As they want it now');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(async () => (await server.api.automations.get(uid, auid)).name).toBe('fortnightly');
  expect((await server.api.automations.get(uid, auid)).prompt).toBe('As they want it now');
  await expect.poll(() => prompt.inputValue()).toBe('As they want it now');
});

test('the activity of an automation says what it made of each event, and it can run without one', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'active' });
  const hook = await server.api.webhooks.create(uid, { name: 'shop' });
  const filter = { webhook_ids: [hook.uid], payload: { data: { status: ['paid', 'sent'] } } };
  const triggers = [{ provider: 'webhook', event: 'received', filter }];
  const { uid: auid } = await server.api.automations.create(uid, { name: 'ship', prompt: 'demo: say shipped', triggers });
  const send = async (body: string): Promise<void> => {
    const sent = await fetch(hook.ingress_url, { method: 'POST', body, headers: { Authorization: `Bearer ${hook.secret}` } });
    expect(sent.status).toBe(202);
  };
  await send('{"data": {"status": "paid"}}');
  await send('{"data": {"status": "<b>open</b>"}}');
  await send('{"other": 1}');
  await world.signIn(`/factory/${uid}/automations/${auid}`);
  const events = page.getByRole('region', { name: 'Last events' }).getByRole('listitem');
  await expect.poll(() => events.count()).toBe(3);
  await events.nth(0).getByText('data is absent; expects an object').waitFor();
  await events.nth(1).getByText('data.status is <b>open</b>; expects one of paid or sent').waitFor();
  await events.nth(2).getByText('Succeeded').waitFor();
  const activity = page.getByRole('region', { name: 'Activity' });
  await activity.getByText(/^Last fired/).waitFor();
  const strip = activity.getByRole('list', { name: 'Last 1 runs' }).getByRole('link');
  expect(await strip.getAttribute('title')).toMatch(/^Succeeded · ship · /);
  await world.look('automation-activity');

  await page.getByRole('button', { name: 'Run now' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run now' });
  expect(await dialog.getByLabel('Prompt').inputValue()).toBe('demo: say shipped');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('heading', { name: 'ship' }).waitFor();
  await page.getByRole('region', { name: 'Transcript' }).getByText('shipped', { exact: true }).waitFor();

  await page.goto(`${server.url}/factory/${uid}/webhooks/${hook.uid}`);
  await page.getByRole('link', { name: 'No run', exact: true }).click();
  await page.waitForURL('**?no_run=true');
  const list = page.getByRole('list', { name: 'Deliveries' });
  await expect.poll(() => list.getByRole('button', { name: /^Accepted/ }).count()).toBe(2);
  await list
    .getByRole('button', { name: /^Accepted/ })
    .last()
    .click();
  await list.getByText('data.status is <b>open</b>; expects one of paid or sent', { exact: true }).waitFor();
  await world.look('deliveries-no-run');

  await list.getByRole('link', { name: 'Edit the filter with this delivery' }).first().click();
  const chosen = page.getByRole('status', { name: 'This delivery' });
  await chosen.getByText('Would not trigger').waitFor();
  await chosen.getByText('data.status is <b>open</b>; expects one of paid or sent').waitFor();
  await expect.poll(() => chosen.locator('mark').allTextContents()).toEqual(['    "status": "<b>open</b>"']);
  await world.look('automation-delivery');
  const edited = page.getByRole('group', { name: 'Trigger 1' }).getByRole('textbox', { name: 'Filter' });
  await edited.fill('');
  await edited.fill('{"data": {"status": ["<b>open</b>"]}}');
  await chosen.getByText('Would trigger', { exact: true }).waitFor();
  expect(await chosen.locator('mark').count()).toBe(0);
});

test('a run that a delivery started runs again with its payload', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'again' });
  const hook = await server.api.webhooks.create(uid, { name: 'shop' });
  const triggers = [{ provider: 'webhook', event: 'received', filter: { webhook_ids: ['shop'] } }];
  const prompt = 'Read it\ndemo: run cat .penstock/attachments/event-payload.json';
  await server.api.automations.create(uid, { name: 'read', prompt, triggers });
  await fetch(hook.ingress_url, { method: 'POST', body: '{"order": "Zürich-7"}', headers: { Authorization: `Bearer ${hook.secret}` } });
  const [first] = (await server.api.runs.list({ webhook_uid: hook.uid })).items;
  await expect.poll(async () => (await server.api.runs.get(first?.run_id ?? '')).state).toBe('SUCCEEDED');
  await world.signIn(`/runs/${first?.run_id}`);
  await page.getByRole('button', { name: 'Run again' }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(first?.run_id ?? ''));
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await transcript.getByText('Succeeded', { exact: true }).waitFor();
  await transcript.getByText('Ran cat').click();
  await transcript.getByText(/Zürich-7/).waitFor();
});

test('the list shows, without a click, which automation is broken and since when', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'health' });
  const hook = await server.api.webhooks.create(uid, { name: 'ci' });
  const triggers = [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [hook.uid] } }];
  const made = { name: 'fragile', prompt: 'demo: say Done.', model: 'demo/offline', triggers, on_hollow: 'fail' as const };
  const { uid: auid } = await server.api.automations.create(uid, made);
  const read = () => server.api.automations.get(uid, auid);

  await world.signIn(`/factory/${uid}/automations/${auid}`);
  const expected = page.getByRole('textbox', { name: 'Expect a start every' });
  await expected.fill('30s');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('must be a time such as 30m, 26h or 7d').first().waitFor();
  await expected.fill('26h');
  await page.getByRole('textbox', { name: 'Pause after failures' }).fill('1');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(async () => (await read()).expect_every).toBe('26h');
  expect((await read()).pause_after_failures).toBe(1);
  await world.look('automation-health');

  const headers = { Authorization: `Bearer ${hook.secret}`, 'Content-Type': 'application/json' };
  const sent = await fetch(hook.ingress_url, { method: 'POST', body: '{}', headers });
  expect(sent.status).toBe(202);
  await expect.poll(async () => (await read()).paused?.failures, { timeout: 30_000 }).toBe(1);
  await page.goto(`${server.url}/automations`);
  const row = page.getByRole('row', { name: /fragile/ });
  await row.getByText('Paused').waitFor();
  await row
    .getByTitle(/^Run .* failed/)
    .getByRole('time')
    .waitFor();
  await world.look('automations-paused');
});
