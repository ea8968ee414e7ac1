import { Server } from './server.ts';
import { expect, patience, test } from './world.ts';

test('a sealed run shows a host that was refused, while it works', async ({ world }) => {
  const { page, server } = world;
  const fetched = (host: string): string => `demo: run curl -s -m 20 http://${host}/; true`;
  const { run_id } = await server.api.runs.create({
    prompt: 'Look\ndemo: ask Shall I?',
    config: { network: { allow: [{ host: 'narrow.example.com', methods: ['GET'] }] } },
  });
  await world.signIn(`/runs/${run_id}`);
  await page.getByRole('region', { name: 'Transcript' }).getByText('Blocked', { exact: true }).waitFor();
  await page.getByRole('tab', { name: 'Transcript' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  const panel = page.getByRole('tabpanel', { name: 'Network' });
  await panel.getByText('Sealed', { exact: true }).waitFor();
  await panel.getByText('has no network of its own').waitFor();
  await panel.getByText('preset packages').waitFor();
  await panel.getByText('narrow.example.com GET').waitFor();
  expect(await panel.getByRole('row', { name: /refused\.example\.com/ }).count()).toBe(0);

  // The open panel shows the refusal without a reload.
  await server.api.runs.followUp(run_id, { message: `${fetched('refused.example.com')}\ndemo: ask And now?` });
  const row = panel.getByRole('row', { name: /refused\.example\.com:80/ });
  await row.getByText('Refused', { exact: true }).waitFor();
  await row.getByText("no rule of the run's network policy allows it").waitFor();
  await world.look('run-network');

  await page.getByRole('tab', { name: 'Timeline' }).click();
  await page.getByText('Sandbox checked: it has no network of its own').first().waitFor();
  await page.getByText('Host refused by the network policy').first().waitFor();
});

test('the network of a run that is queued, and an error', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: 'Wait', config: { worker_host: 'nobody' } });
  await world.signIn(`/runs/${run_id}?tab=network`);
  const panel = page.getByRole('tabpanel', { name: 'Network' });
  await panel.getByText('Not checked yet').waitFor();
  await panel.getByText('The run has not tried to reach a host yet.').waitFor();
  await world.look('run-network-empty');

  await page.route(/\/network$/, (route) => route.abort());
  await page.reload();
  await panel.getByRole('alert').getByText('Cannot reach the server').waitFor();
  await page.unroute(/\/network$/);
  await panel.getByRole('button', { name: 'Try again' }).click();
  await panel.getByText('Not checked yet').waitFor();
  expect(await panel.getByRole('alert').count()).toBe(0);
});

test('a run with an open network says that it is not sealed', async ({ browser }) => {
  const server = await Server.start('--sandbox', 'process', '--allow-open-network');
  const page = await browser.newPage();
  page.setDefaultTimeout(patience);
  try {
    const { run_id } = await server.api.runs.create({ prompt: 'demo: say hello' });
    await page.goto(`${server.url}/runs/${run_id}?tab=network`);
    await page.getByLabel('API key').fill(server.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const panel = page.getByRole('tabpanel', { name: 'Network' });
    await panel.getByText('Not sealed', { exact: true }).waitFor();
    await panel.getByText('The policy below does not limit what the agent reaches.').waitFor();
  } finally {
    await page.close();
    await server.end();
  }
});
