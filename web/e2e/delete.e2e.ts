import { expect, test } from './world.ts';

test('everything is deleted by one dialog, which begins on the safe choice and leaves by Escape', async ({ world }) => {
  const { page, server } = world;
  const { api } = server;
  const { uid } = await api.factories.create({ name: 'payments' });
  const webhook = await api.webhooks.create(uid, { name: 'ci' });
  const triggers = [{ provider: 'webhook', event: 'received', filter: { webhook_ids: ['ci'] } }];
  const automation = await api.automations.create(uid, { name: 'fix', prompt: 'x', triggers });
  await api.secrets.create({ name: 'TOKEN', value: 'a-value-of-mine' });
  await api.schedules.create({ name: 'nightly', cron_schedule: '0 0 29 2 *', prompt: 'x', agent_config: { secrets: ['TOKEN'] } });
  await api.environments.create({ name: 'linux' });
  await api.keys.create({ name: 'reader', scopes: ['runs:read'] });
  const { definition } = await api.factories.get(uid);
  await world.signIn('/runs');
  for (const [noun, name, at, opener, says] of [
    ['factory', 'payments', `/factory/${uid}`, 'Delete', 'You cannot undo this.'],
    ['webhook', 'ci', `/factory/${uid}/webhooks/${webhook.uid}`, 'Delete', 'You cannot undo this.'],
    ['automation', 'fix', `/factory/${uid}/automations/${automation.uid}`, 'Delete', 'You cannot undo this.'],
    ['schedule', 'nightly', '/schedules', 'Delete nightly', 'You cannot undo this.'],
    ['secret', 'TOKEN', '/secrets', 'Delete TOKEN', 'Still in use: schedule nightly'],
    ['environment', 'linux', '/environments', 'Delete linux', 'You cannot undo this.'],
    ['key', 'reader', '/keys', 'Revoke reader', 'You cannot undo this.'],
  ] as const) {
    await page.goto(server.url + at);
    const verb = noun === 'key' ? 'Revoke' : 'Delete';
    const button = page.getByRole('button', { name: opener, exact: true });
    await button.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: `${verb} ${noun} ${name}?`, exact: true });
    await dialog.getByText(says).waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent), { message: noun }).toBe('Go back');
    expect(await dialog.getByRole('button', { name: `${verb} ${noun}`, exact: true }).count(), noun).toBe(1);
    if (noun === 'secret') {
      expect(await dialog.getByRole('button', { name: 'Delete secret' }).isDisabled(), 'a secret in use').toBe(true);
      expect(await dialog.getByText('You cannot undo this.').count()).toBe(0);
    }
    if (noun === 'webhook' || noun === 'secret') {
      await world.look(`delete-${noun}`);
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await button.evaluate((one) => one === document.activeElement), `${noun}: the focus is where it was`).toBe(true);
  }
  expect((await api.factories.get(uid)).definition.revision).toBe(definition.revision);
});
