import { expect, test } from './world.ts';

const attack = `<img src=x onerror="window.hacked = 1">`;

test('a factory is made, found, given work, edited and deleted', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/factories');
  await page.getByRole('heading', { name: 'No factories yet' }).waitFor();
  await world.look('factories-empty');
  await page.getByRole('button', { name: 'New factory' }).first().click();
  await page.getByRole('textbox', { name: 'Name' }).fill(`Payments ${attack}`);
  await page.getByLabel('Alias').fill('pay');
  await page.getByLabel('Description').fill(`Looks after payments ${attack}`);
  await world.look('factories-new');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { name: `Payments ${attack}` }).waitFor();
  await page
    .getByRole('region', { name: 'Agents' })
    .getByText(/^Foreman/)
    .waitFor();
  await world.look('factory');

  await page.goto(`${server.url}/factories`);
  await page.getByLabel('Search factories').fill('nothing like it');
  await page.getByText('No factories match').waitFor();
  await page.getByLabel('Search factories').fill('PAY');
  await page.getByRole('link', { name: `Payments ${attack}` }).waitFor();
  await world.look('factories');
  await page.goBack();
  await page.getByText('No factories match').waitFor();
  await expect.poll(() => page.getByLabel('Search factories').inputValue()).toBe('nothing like it');
  await page.goForward();
  await page.getByRole('button', { name: 'Dispatch Payments' }).click();
  await page.getByLabel('Prompt').fill('Look into it\ndemo: say Looked into it');
  await page.getByLabel('Ticket', { exact: true }).fill('linear:PAY-42');
  await world.look('factory-dispatch');
  await page.getByRole('dialog').getByRole('button', { name: 'Dispatch', exact: true }).click();
  await page.waitForURL('**/runs/*-*');
  await page.getByText('Looked into it', { exact: true }).waitFor();
  const [run] = (await server.api.runs.list({ sort_by: 'created_at' })).items;
  expect(run?.metadata).toMatchObject({ ticket_source: 'linear', ticket_id: 'PAY-42' });

  await page.goto(`${server.url}/factory/${run?.factory_uid}`);
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Billing');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Billing' }).waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete factory' }).click();
  await page.getByRole('heading', { name: 'No factories yet' }).waitFor();
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
});

test('a definition is edited: an error at its line, the plan, applied, and seen in the history', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'Edited' });
  await world.signIn(`/factory/${uid}/files`);
  const files = page.getByRole('navigation', { name: 'Files' });
  const editor = page.getByRole('textbox', { name: 'factory.yaml' });
  await editor.waitFor();
  await page.getByText('No problems found.').waitFor();
  await editor.press('Control+End');
  await editor.pressSequentially('descripton: x\n');
  const findings = page.getByRole('region', { name: 'Problems' });
  await findings.getByText('FF_UNKNOWN_FIELD').waitFor();
  await page.locator('.cm-lint-marker-error').waitFor();
  await page.locator('.cm-lintRange-error').first().waitFor();
  await world.look('factory-files-error');
  await page.getByRole('button', { name: 'Plan…' }).click();
  await page.getByRole('dialog').getByText('FF_UNKNOWN_FIELD', { exact: true }).waitFor();
  expect(await page.getByRole('button', { name: 'Apply', exact: true }).isDisabled()).toBe(true);
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^factory.yaml:/ })
    .click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });

  await editor.press('Control+End');
  for (let i = 0; i < 'descripton: x\n'.length; i++) {
    await editor.press('Backspace');
  }
  await page.getByText('No problems found.').waitFor();
  await page.getByRole('button', { name: 'New file' }).click();
  await page.getByLabel('Path').fill('agents/reviewer/agent.md');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const agent = page.getByRole('textbox', { name: 'agents/reviewer/agent.md' });
  await agent.press('Control+End');
  await agent.pressSequentially(`Review with care. ${attack}`);
  await files.getByText('edited').waitFor();
  await page.getByText('No problems found.').waitFor();
  await page.getByRole('button', { name: 'Plan…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('agent reviewer').waitFor();
  await dialog.getByText('agents/reviewer/agent.md').waitFor();
  await world.look('factory-plan');
  await dialog.getByRole('button', { name: 'Apply', exact: true }).click();
  await dialog.waitFor({ state: 'hidden' });
  await page.getByText('Revision 2', { exact: true }).waitFor();
  expect((await server.api.factories.get(uid)).agents.map(({ name }) => name)).toContain('reviewer');

  await page.getByRole('link', { name: 'History' }).click();
  await page.getByText('Revision 2', { exact: true }).waitFor();
  await page.getByText('File changes').first().click();
  await page.getByRole('region', { name: 'Changes of revision 2' }).getByText(`Review with care. ${attack}`).waitFor();
  await world.look('factory-history');

  await page.getByRole('button', { name: 'Revert to this revision' }).click(); // of revision 1: the active one has none
  await page.getByRole('dialog', { name: 'Revert to revision 1' }).getByText('agents/reviewer/agent.md').waitFor();
  await world.look('factory-revert');
  await page.getByRole('dialog').getByRole('button', { name: 'Apply', exact: true }).click();
  await page.getByText('Revision 3', { exact: true }).waitFor();
  expect((await server.api.factories.get(uid)).agents.map(({ name }) => name)).not.toContain('reviewer');

  // The lists of a factory's runs, automations and webhooks keep its frame.
  const parts = page.getByRole('navigation', { name: 'Parts of the factory' });
  for (const part of ['Runs', 'Automations', 'Webhooks']) {
    await parts.getByRole('link', { name: part }).click();
    await page.getByRole('heading', { name: part, level: 1 }).waitFor();
    expect(await parts.getByRole('link', { name: part }).getAttribute('data-status')).toBe('active');
  }
  await world.look('factory-webhooks');
  await page.getByRole('navigation', { name: 'Breadcrumbs' }).getByRole('link', { name: 'Edited' }).click();
  await page.getByRole('heading', { name: 'Edited' }).waitFor();
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
});

test('who is overtaken by somebody else’s edit is told, and goes on with both', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'Contested' });
  await world.signIn(`/factory/${uid}/files`);
  const editor = page.getByRole('textbox', { name: 'factory.yaml' });
  await editor.press('Control+End');
  await editor.pressSequentially('description: mine\n');
  await page.getByText('1 changed since revision 1').waitFor();
  const theirs = await server.api.factories.definition.get(uid);
  const plan = await server.api.factories.definition.apply(uid, {
    files: { ...theirs.files, 'agents/theirs/agent.md': '---\ndescription: theirs\n---\n\nx\n' },
  });
  expect(plan.revision).toBe(2);
  await page.getByRole('button', { name: 'Plan…' }).click();
  await page.getByText('Somebody else has changed the factory').waitFor();
  expect(await page.getByRole('dialog').getByRole('alert').count(), 'it is said once').toBe(1);
  await world.look('factory-conflict');
  await page.getByRole('button', { name: 'Update and keep my changes' }).click();
  await page.getByText('Nobody else changed the same files.').waitFor();
  await page.getByRole('button', { name: 'Plan…' }).click();
  await page.getByRole('dialog').getByText('factory Contested').waitFor();
  await page.getByRole('button', { name: 'Apply', exact: true }).click();
  await page.getByText('Revision 3', { exact: true }).waitFor();
  const after = await server.api.factories.definition.get(uid);
  expect(Object.keys(after.files)).toContain('agents/theirs/agent.md');
  expect(after.files['factory.yaml']).toContain('description: mine');

  await editor.press('Control+End');
  await editor.pressSequentially('# more\n');
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('dialog').getByText('Your changes to the files will be lost.').waitFor();
  await page.getByRole('button', { name: 'Go back' }).click();
  await page.getByText('1 changed since revision 3').waitFor();
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('button', { name: 'Leave' }).click();
  await page.getByText('mine', { exact: true }).waitFor();
});
