import type { Page } from 'playwright-core';
import { expect, test } from './world.ts';

/** Presses Tab until what has the focus is called so. */
async function tabTo(page: Page, name: string, most = 60): Promise<void> {
  const names: string[] = [];
  for (let i = 0; i < most; i++) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      const labels = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement ? element.labels : null;
      return element?.getAttribute('aria-label') ?? labels?.[0]?.textContent ?? element?.textContent?.trim() ?? '';
    });
    if (focused.replace(/ ?\*$/, '') === name) {
      return;
    }
    names.push(focused.slice(0, 30));
  }
  throw new Error(`Tab does not lead to ${name}, but to ${names.join(', ')}`);
}

test('a run is started, steered and cancelled by the keyboard alone', async ({ world }) => {
  const { page, server } = world;
  await world.signIn('/runs');
  await page.getByRole('heading', { name: 'No runs yet' }).waitFor();
  await tabTo(page, 'Skip to content', 1);
  await page.keyboard.press('Enter');
  await tabTo(page, 'New run', 1);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.textContent), { message: 'the focus is where it was' })
    .toBe('New run');

  await page.keyboard.press('Enter');
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA');
  await page.keyboard.type('Wait for me');
  await page.keyboard.press('Enter');
  await page.keyboard.type('demo: run sleep 600');
  await tabTo(page, 'Start');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/runs/*-*');
  await page.getByRole('heading', { name: 'Wait for me' }).waitFor();
  await tabTo(page, 'Transcript');
  await page.keyboard.press('ArrowRight');
  await page.waitForURL('**?tab=changes');
  await page.keyboard.press('ArrowLeft');
  await tabTo(page, 'Follow-up');
  await page.keyboard.type('Hurry');
  await tabTo(page, 'Send', 1);
  await page.keyboard.press('Enter');
  await expect.poll(() => page.getByLabel('Follow-up').inputValue()).toBe('');
  await tabTo(page, 'Cancel run');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Cancel this run?' }).waitFor();
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.textContent), { message: 'what does no harm has the focus' })
    .toBe('Go back');
  await tabTo(page, 'Cancel run', 1);
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Transcript' }).getByText('Cancelled', { exact: true }).waitFor();
  const [run] = (await server.api.runs.list()).items;
  expect(run?.state).toBe('CANCELLED');
});

test('shortcuts open, find and step', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'harbor' });
  await server.api.automations.create(uid, {
    name: 'dredge',
    prompt: 'x',
    triggers: [{ provider: 'schedule', event: 'cron_fired', schedule: { cron: '0 0 29 2 *' } }],
  });
  for (const title of ['Older run', 'Newer run']) {
    await server.api.runs.create({ prompt: 'demo: say x', title });
  }
  await world.signIn('/runs');
  await page.getByRole('link', { name: 'Newer run' }).waitFor();
  const focused = (): Promise<string | null | undefined> => page.evaluate(() => document.activeElement?.textContent);
  await page.keyboard.press('j');
  await expect.poll(focused).toBe('Newer run');
  await page.keyboard.press('j');
  await expect.poll(focused).toBe('Older run');
  await page.keyboard.press('k');
  await expect.poll(focused).toBe('Newer run');
  await page.keyboard.press('/');
  await page.keyboard.type('cj?');
  await expect.poll(() => page.getByLabel('Search runs').inputValue(), { message: 'a field takes the keys' }).toBe('cj?');
  await page.keyboard.press('Escape');

  await page.keyboard.press('Control+k');
  const field = page.getByRole('combobox', { name: 'Go to' });
  await field.fill('dred');
  await page.getByRole('option', { name: /dredge.*Automation in harbor/ }).waitFor();
  await world.look('palette');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/automations/*');
  await page.getByRole('heading', { name: 'dredge' }).waitFor();

  await page.locator('main').focus();
  await page.keyboard.press('c');
  await page.getByRole('dialog', { name: 'New run' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await world.look('shortcuts');
  await page.getByLabel('Single keys are shortcuts').uncheck();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page.keyboard.press('c');
  await page.getByRole('button', { name: 'Go to' }).click();
  await page.getByRole('dialog', { name: 'Go to' }).waitFor();
  expect(await page.getByRole('dialog').count(), 'c is off').toBe(1);
});
