import { expect, test } from './world.ts';

test('a factory is created from each example, from the first steps on, and its webhook gets a generated secret', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/');
  const dialog = page.getByRole('dialog');
  await page.getByRole('region', { name: 'First steps' }).getByRole('button', { name: 'Start with an example' }).click();
  await dialog.getByRole('radio', { name: 'CI failures' }).check();
  await dialog.getByLabel('Secret GITHUB_PUSH_TOKEN').fill('an-example-value');
  await world.look('factory-example');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'CI failures', level: 1 }).waitFor();
  await page.getByRole('navigation', { name: 'Parts of the factory' }).getByRole('link', { name: 'Webhooks' }).click();
  await page.getByRole('button', { name: 'Finish setup' }).click();
  const secret = await dialog.getByRole('textbox', { name: '2. Enter this secret there, or another one here' }).inputValue();
  await world.look('webhook-finish-generated');
  await dialog.getByRole('button', { name: 'Finish setup' }).click();
  await page.getByRole('heading', { name: 'ci', level: 1 }).waitFor();
  const { items } = await server.api.factories.list({ search: 'ci-failure' });
  const [hook] = (await server.api.webhooks.list(items[0]?.uid ?? '')).webhooks;
  const body = '{"status": "failed", "branch": "main"}';
  const sent = await fetch(hook?.ingress_url ?? '', { method: 'POST', body, headers: { Authorization: `Bearer ${secret}` } });
  expect(sent.status).toBe(202);
  await page
    .getByRole('list', { name: 'Deliveries' })
    .getByRole('button', { name: /on-failed-build fired/ })
    .waitFor();
  const names = (await server.api.secrets.list()).secrets.map(({ name, pending }) => [name, pending]);
  expect(names.sort()).toEqual([
    ['CI_WEBHOOK_TOKEN', false],
    ['GITHUB_PUSH_TOKEN', false],
  ]);

  for (const name of ['Code review', 'Dependency audit', 'Incident response']) {
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Factories' }).click();
    await page.getByRole('button', { name: 'New factory' }).first().click();
    await dialog.getByText('Example', { exact: true }).first().click();
    await dialog.getByRole('radio', { name }).check();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
  }
  const all = (await server.api.factories.list({})).items.filter(({ automations_count }) => automations_count > 0);
  expect(all.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['CI failures', 'Code review', 'Dependency audit', 'Incident response']),
  );
  const waiting = (await server.api.secrets.list()).secrets.filter(({ pending }) => pending).map(({ name }) => name);
  expect(waiting).toContain('SENTRY_AUTH_TOKEN');
});
