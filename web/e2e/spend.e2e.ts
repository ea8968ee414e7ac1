import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Server } from './server.ts';
import { expect, patience, test } from './world.ts';

test('a budget is made, edited and deleted, beside what the runs use', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/spend');
  await page.getByRole('heading', { name: 'No budgets yet' }).waitFor();
  await page.getByText('No calls to models in this time.').waitFor();
  await page.getByRole('button', { name: 'New budget' }).click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
  await dialog.getByLabel('Cap in US dollars').fill('500');
  await dialog.getByLabel('Time zone').fill('Mars/Olympus');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText('Time zone: must be an IANA time zone').waitFor();
  await dialog.getByLabel('Time zone').fill('Europe/Berlin');
  await dialog.getByLabel('Report at').fill('50, 90');
  await world.look('spend-new');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const row = page.getByRole('row', { name: /^Team/ });
  await row.getByText('$0.00 of $500.00').waitFor();
  expect((await server.api.budgets.list()).budgets).toMatchObject([
    { scope: 'team', period: 'month', time_zone: 'Europe/Berlin', max_cost_usd: 500, notify_at: [0.5, 0.9], action: 'pause' },
  ]);
  const key = await server.api.keys.create({ name: 'ci <b>bot</b>', scopes: ['runs:write'] });
  await server.api.budgets.create({ scope: 'key', scope_uid: key.uid, period: 'total', max_cost_usd: 0, action: 'refuse' });
  await page
    .getByRole('row', { name: /Key ci <b>bot<\/b>/ })
    .getByText('Refuses runs')
    .waitFor();
  await world.look('spend');

  await row.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Cap in US dollars').fill('750.5');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await row.getByText('$0.00 of $750.50').waitFor();
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete budget' }).click();
  await row.waitFor({ state: 'detached' });

  await page.getByRole('link', { name: 'Factory', exact: true }).click();
  await page.getByRole('heading', { name: 'Usage by factory' }).waitFor();
  await page.getByRole('link', { name: /Last 7 days/ }).click();
  await expect.poll(() => new URL(page.url()).search).toBe('?days=7&by=factory');
});

test('agents and automations of different factories that share a name are told apart', async ({ world }) => {
  const { page, server } = world;
  for (const name of ['north', 'south']) {
    const { uid, agents } = await server.api.factories.create({ name });
    const triggers = [{ provider: 'schedule' as const, event: 'cron_fired', schedule: { cron: '0 3 1 1 *' } }];
    const nightly = await server.api.automations.create(uid, { name: 'nightly', prompt: 'demo: say x', triggers });
    for (const { run_id } of [
      await server.api.factories.runs.create(uid, { prompt: 'demo: say x' }),
      await server.api.automations.run(uid, nightly.uid),
    ]) {
      await expect.poll(async () => (await server.api.runs.get(run_id)).state).toBe('SUCCEEDED');
    }
    const cap = { period: 'month', max_cost_usd: 5 } as const;
    await server.api.budgets.create({ scope: 'agent', scope_uid: agents[0]?.uid ?? '', ...cap });
    await server.api.budgets.create({ scope: 'automation', scope_uid: nightly.uid, ...cap });
  }
  await world.signIn('/spend?by=agent');
  const agents = page.getByRole('table', { name: 'Usage by agent' });
  const automations = page.getByRole('table', { name: 'Usage by automation' });
  const budgets = page.getByRole('table', { name: 'Budgets' });
  for (const factory of ['north', 'south']) {
    await agents.getByText(`foreman (${factory})`, { exact: true }).waitFor();
    await budgets.getByText(`Agent foreman (${factory})`, { exact: true }).waitFor();
    await budgets.getByText(`Automation nightly (${factory})`, { exact: true }).waitFor();
  }
  await page.getByRole('navigation', { name: 'Group by' }).getByRole('link', { name: 'Automation' }).click();
  for (const factory of ['north', 'south']) {
    await automations.getByText(`nightly (${factory})`, { exact: true }).waitFor();
  }
});

test('the page of a run shows its budget', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({
    prompt: 'demo: say x',
    config: { budget: { max_cost_usd: 5, max_total_tokens: 100_000 } },
  });
  await world.signIn(`/runs/${run_id}?tab=cost`);
  const panel = page.getByRole('tabpanel', { name: 'Cost' });
  await panel.getByText('$0.00 of $5.00').waitFor();
  await panel.getByText('0 tokens of 100,000 tokens').waitFor();
  await world.look('run-cost');
});

test('a run that its budget blocks goes on once the budget is raised', async ({ browser }) => {
  const provider = createServer((_, response) => {
    const chunk = (value: object): string => `data: ${JSON.stringify({ id: 'x', model: 'm', ...value })}\n\n`;
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.end(
      `${chunk({ choices: [{ index: 0, delta: { content: 'The login works.' }, finish_reason: 'stop' }] })}${chunk({
        choices: [],
        usage: { prompt_tokens: 1000, completion_tokens: 7 },
      })}data: [DONE]\n\n`,
    );
  });
  provider.listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const folder = mkdtempSync(path.join(tmpdir(), 'penstock-e2e-'));
  const config = path.join(folder, 'penstock.yaml');
  writeFileSync(
    config,
    `providers:
  billing:
    api: openai
    base_url: http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1
    models: [m]
    prices: {models: {m: {window: 100000, max_output: 4000, input: 1, output: 2}}}
`,
  );
  const server = await Server.start('--config', config);
  const page = await browser.newPage();
  page.setDefaultTimeout(patience);
  try {
    const { run_id } = await server.api.runs.create({
      prompt: 'Fix the login',
      config: { model_id: 'billing/m', budget: { max_cost_usd: 0.001 } },
    });
    await page.goto(`${server.url}/runs/${run_id}`);
    await page.getByLabel('API key').fill(server.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const blocked = page.getByRole('group', { name: 'The budget of this run has no room' });
    await blocked.getByText(/^\$0\.00 of \$0\.001/).waitFor();
    await page.getByRole('link', { name: 'Home' }).click();
    const line = page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem').filter({ hasText: 'Fix the login' });
    await line.getByText('Its budget has no room').waitFor();
    expect(await page.getByRole('textbox', { name: 'Your answer' }).count(), 'no answer would help').toBe(0);
    await line.getByRole('link', { name: 'Raise budget' }).click();
    await blocked.getByRole('button', { name: 'Raise budget' }).click();
    await page.getByText('The login works.').waitFor();
    await page.getByText('Succeeded', { exact: true }).first().waitFor();
    await blocked.waitFor({ state: 'detached' });

    const lead = await server.api.runs.create({ prompt: 'demo: say x', config: { budget: { max_cost_usd: 0.001 } } });
    const part = await server.api.runs.create({
      prompt: 'Fix the logout',
      parent_run_id: lead.run_id,
      config: { model_id: 'billing/m' },
    });
    await page.goto(`${server.url}/runs/${part.run_id}`);
    const above = page.getByRole('group', { name: 'The budget of a run above this one has no room' });
    expect(await above.getByRole('link', { name: 'Show the run with this budget' }).getAttribute('href')).toBe(`/runs/${lead.run_id}`);
    await above.getByRole('button', { name: 'Raise budget' }).click();
    await page.getByText('Succeeded', { exact: true }).first().waitFor();

    await server.api.budgets.create({ scope: 'team', period: 'total', max_cost_usd: 0 });
    const shared = await server.api.runs.create({ prompt: 'Fix the sign-up', config: { model_id: 'billing/m' } });
    await page.goto(`${server.url}/runs/${shared.run_id}`);
    await page.getByRole('group', { name: 'The budget of the team has no room' }).getByRole('link', { name: 'Show the budgets' }).waitFor();
    await page.getByRole('link', { name: 'Home' }).click();
    await page.getByRole('region', { name: 'Needs attention' }).getByText('The budget of the team has no room').waitFor();
  } finally {
    await page.close();
    await server.end();
    provider.close();
    rmSync(folder, { recursive: true });
  }
});
