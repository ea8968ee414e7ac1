import { Server } from './server.ts';
import { expect, patience, test } from './world.ts';

test('who signs in with a key gets to where they wanted', async ({ world }) => {
  const { page, server } = world;
  await page.goto(`${server.url}/runs?q=login`);
  await page.getByRole('heading', { name: 'Sign in to Penstock' }).waitFor();
  await world.look('sign-in');
  await page.getByLabel('API key').fill('psk_this_is_no_key_that_anybody_has');
  await page.getByRole('button', { name: 'Sign in' }).click();
  const alert = page.getByRole('alert');
  await alert.waitFor();
  await expect(alert.textContent()).resolves.toMatch(/unknown, expired or revoked.*Request [0-9a-f-]{36}/);
  await page.getByLabel('API key').fill(server.key);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/runs?q=login');
  expect(await page.evaluate(() => document.cookie + JSON.stringify({ ...localStorage }))).not.toContain('psk_');
  expect(await page.evaluate(() => document.cookie)).toBe('');
});

test('whoever signs out is out, in every tab', async ({ world }) => {
  await world.signIn();
  const other = await world.newPage();
  await other.goto(`${world.server.url}/runs`);
  await other.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
  await world.page.getByRole('button', { name: 'Sign out' }).click();
  await world.page.waitForURL('**/sign-in');
  await other.bringToFront();
  await other.getByText('Your session has ended').waitFor();
  await world.look('sign-in-again', other);
  await world.signIn('/runs', other);
});

test('a tab knows who has signed in in another one', async ({ world }) => {
  const { page, server } = world;
  const reader = await server.api.keys.create({ name: 'reads', scopes: ['runs:read'] });
  await world.signIn('/runs');
  await page.getByRole('button', { name: 'New run' }).first().waitFor();
  await world.signIn('/runs', await world.newPage(), reader.key);
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))); // somebody turns to it
  await expect.poll(() => page.getByRole('button', { name: 'New run' }).count()).toBe(0);
});

test('a revoked key ends its sessions', async ({ world }) => {
  const { api } = world.server;
  const key = await api.keys.create({ name: 'short-lived', scopes: ['runs:read'] });
  await world.signIn('/runs', world.page, key.key);
  await expect.poll(() => world.page.getByRole('button', { name: 'New run' }).count()).toBe(0);
  await api.keys.delete(key.uid);
  await world.page.getByText('Your session has ended').waitFor();
});

test('a write without the session’s token, or from another site, is refused', async ({ world }) => {
  const { page, server } = world;
  await world.signIn();
  const post = (headers: Record<string, string>): Promise<number> =>
    page.evaluate(async (extra) => {
      const body = JSON.stringify({ prompt: 'x' });
      const answer = await fetch('/api/v1/agent/runs', { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...extra } });
      return answer.status;
    }, headers);
  expect(await post({})).toBe(403);
  expect(await post({ 'X-Penstock-CSRF': '0'.repeat(32) })).toBe(403);
  const [cookie] = await world.context.cookies(server.url);
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
  const elsewhere = await fetch(`${server.url}/api/v1/agent/runs`, {
    method: 'POST',
    headers: { Cookie: `${cookie?.name}=${cookie?.value}`, 'Sec-Fetch-Site': 'cross-site', 'Content-Type': 'application/json' },
    body: '{"prompt":"x"}',
  });
  expect(elsewhere.status).toBe(403);
  expect((await server.api.runs.list()).items).toEqual([]);
});

test('a session that is too old leads to the sign-in, and back', async ({ browser }) => {
  const server = await Server.start('--session-life', '4s');
  const page = await browser.newPage();
  try {
    await page.goto(`${server.url}/runs?q=kept`);
    await page.getByLabel('API key').fill(server.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    await page.getByText('Your session has ended').waitFor();
    expect(new URL(page.url()).searchParams.get('next')).toBe('/runs?q=kept');
  } finally {
    await page.close();
    await server.end();
  }
});

test('the policy lets a page run nothing, and ask nobody, but its own server', async ({ browser, server }) => {
  const page = await browser.newPage();
  page.setDefaultTimeout(patience);
  try {
    const answer = await page.goto(`${server.url}/sign-in`);
    const policy = answer?.headers()['content-security-policy'] ?? '';
    expect(policy).toMatch(/default-src 'none'.*script-src 'self';/);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    await page.getByRole('heading', { name: 'Sign in to Penstock' }).waitFor();
    const refused = await page.evaluate(async () => {
      const found = new Set<string>();
      document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => found.add(effectiveDirective));
      const inline = document.createElement('script');
      inline.textContent = 'window.hacked = 1';
      const picture = new Image();
      picture.src = 'https://elsewhere.example/x.png';
      const style = document.createElement('style');
      style.textContent = 'body { display: none }';
      document.body.append(inline, picture, style);
      await fetch('https://elsewhere.example/').catch(() => {});
      await new Promise((resolve) => setTimeout(resolve));
      return { directives: [...found].sort(), hacked: 'hacked' in window };
    });
    expect(refused).toEqual({ directives: ['connect-src', 'img-src', 'script-src-elem', 'style-src-elem'], hacked: false });
  } finally {
    await page.close();
  }
});
