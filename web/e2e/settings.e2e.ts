import { browserAt, chromiumWithWindows, expect, test } from './world.ts';

test('settings show what the server can do', async ({ world }) => {
  const { page } = world;
  await world.signIn('/settings');
  await page.getByRole('table', { name: 'Models' }).getByText('demo/offline', { exact: true }).waitFor();
  await page.getByRole('table', { name: 'Harnesses' }).getByText('builtin', { exact: true }).waitFor();
  await page.getByRole('table', { name: 'Limits' }).getByText('Request body').waitFor();
  const about = page.getByRole('region', { name: 'This server' });
  const { server_version: version } = await world.server.api.limits.get();
  expect(version).toBeTruthy();
  await about.getByText(`Penstock ${version}`, { exact: true }).waitFor();
  const links = await about.getByRole('link').all();
  expect(links.length).toBe(3);
  for (const link of links) {
    const answer = await page.request.get(new URL((await link.getAttribute('href')) ?? '', world.server.url).href);
    expect(answer.status()).toBe(200);
  }
  await world.look('settings');
});

// Without windows, a browser shows no notifications.
const withWindows = test.extend({ browser: [browserAt(chromiumWithWindows), { scope: 'worker' }] });

withWindows('a run that one started notifies when it blocks and when it fails', async ({ world }) => {
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
