import { browserAt, expect, fullChromium, test } from './world.ts';

// The headless shell has no notifications.
const inFullChromium = test.extend({ browser: [browserAt(fullChromium), { scope: 'worker' }] });

inFullChromium('a run that one started notifies when it blocks and when it fails', async ({ world }) => {
  const { page, server, context } = world;
  await context.grantPermissions(['notifications']);
  // The page shows real notifications; this only takes note of them.
  await context.addInitScript(() => {
    const shown: string[] = [];
    Object.assign(window, { shown });
    window.Notification = class extends Notification {
      constructor(title: string, options?: NotificationOptions) {
        super(title, options);
        shown.push(`${title}: ${options?.body}`);
      }
    };
  });
  await world.signIn('/settings');
  const shown = (): Promise<string[]> => page.evaluate(() => (window as unknown as { shown: string[] }).shown);
  await server.api.runs.create({ prompt: 'demo: ask Too early?', title: 'Before' });
  const known = page.waitForResponse((response) => response.url().includes('state=BLOCKED') && response.url().includes('creator='));
  await page.getByRole('switch', { name: 'Notify me when a run that I started blocks or fails' }).click({ force: true });
  await known;
  await server.api.runs.create({ prompt: 'demo: ask Which one?', title: 'Asks' });
  await server.api.runs.create({ prompt: 'demo: error it broke', title: 'Breaks' });
  await expect
    .poll(async () => (await shown()).some((text) => text.startsWith('Blocked: Asks: ') && text.includes('Which one?')))
    .toBe(true);
  await expect.poll(async () => (await shown()).some((text) => text.startsWith('Failed: Breaks: '))).toBe(true);
  await page.reload();
  expect(await page.getByRole('switch', { name: /^Notify me/ }).isChecked()).toBe(true);
});
