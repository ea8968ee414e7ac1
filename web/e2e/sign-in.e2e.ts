import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
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

test('the command on the sign-in page makes a key that signs in', async ({ browser }) => {
  const server = await Server.startFresh();
  const page = await browser.newPage();
  page.setDefaultTimeout(patience);
  try {
    await page.goto(`${server.url}/sign-in`);
    await page.getByText('In that folder').waitFor();
    const command = (await page.getByRole('region', { name: 'create a key' }).textContent()) ?? '';
    const bin = mkdtempSync(path.join(tmpdir(), 'penstock-bin-'));
    symlinkSync(process.env.PENSTOCK_TEST_BINARY ?? '', path.join(bin, 'penstock'));
    const env = { PATH: `${bin}:${process.env.PATH}`, HOME: bin };
    const { stdout } = await promisify(execFile)('sh', ['-c', command], { cwd: server.data, env });
    rmSync(bin, { recursive: true });
    expect(stdout).toMatch(/^psk_[\w-]{43}\n$/);
    await page.getByLabel('API key').fill(stdout);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
  } finally {
    await page.close();
    await server.end();
  }
});

test('a page on another port gets the cookie, and can do nothing with it', async ({ browser, server }) => {
  // What an agent in a sandbox can do: listen on this machine, print a link, and wait for a click. World would refuse another host.
  const taken: string[] = [];
  const agent = createServer((request, response) => {
    taken.push(request.headers.cookie ?? '');
    response.setHeader('Content-Type', 'text/html').end('<title>the result</title>');
  });
  await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
  const { port } = agent.address() as AddressInfo;
  const context = await browser.newContext();
  context.setDefaultTimeout(patience);
  try {
    const page = await context.newPage();
    await page.goto(server.url);
    await page.getByLabel('API key').fill(server.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    const before = await server.api.keys.list();

    const bait = await context.newPage();
    await bait.goto(`http://127.0.0.1:${port}/`);
    const cookie = taken.find((value) => value.includes('penstock_session'));
    expect(cookie, 'the browser sends the cookie to every port').toBeDefined();

    // By itself, beside the browser, with whatever it has seen.
    const [, value = ''] = /penstock_session_\d+=([\w-]+)/.exec(cookie ?? '') ?? [];
    const csrf = createHash('sha256').update(`csrf\0${value}`).digest('hex').slice(0, 32);
    for (const [method, path] of attempts) {
      for (const guess of [{}, { 'X-Penstock-Session-Secret': value }, { 'X-Penstock-Session-Secret': csrf, 'X-Penstock-CSRF': csrf }]) {
        const headers = {
          Cookie: cookie ?? '',
          'Sec-Fetch-Site': 'same-origin',
          Origin: server.url,
          'Content-Type': 'application/json',
          ...guess,
        };
        const body = method === 'POST' ? JSON.stringify({ name: 'stolen', prompt: 'stolen', scopes: ['admin'] }) : undefined;
        const response = await fetch(server.url + path, { method, headers, ...(body ? { body } : {}) });
        expect(response.status, `${method} ${path}`).toBe(401);
      }
    }
    // From its page, in the browser: reads, writes, a form, a frame, and the localStorage of its own origin.
    const seen = await bait.evaluate(
      async ([origin, requests]) => {
        const results: string[] = [];
        for (const [method, path] of requests) {
          for (const mode of ['cors', 'no-cors'] as const) {
            const init: RequestInit = {
              method,
              mode,
              credentials: 'include',
              ...(method === 'POST' ? { body: '{"prompt":"stolen"}' } : {}),
            };
            await fetch(origin + path, init).then(
              async (response) => results.push(`${response.type} ${await response.text()}`),
              () => results.push('refused'),
            );
          }
        }
        return { results, kept: JSON.stringify({ ...localStorage }), cookie: document.cookie };
      },
      [server.url, attempts] as const,
    );
    expect(seen.results.filter((result) => result !== 'refused' && result !== 'opaque ')).toEqual([]);
    expect(seen).toMatchObject({ kept: '{}', cookie: '' });
    await bait.evaluate((action) => {
      document.body.innerHTML = `<form method="post" enctype="text/plain" action="${action}"><input name='{"prompt":"stolen","x":"' value='"}'></form>`;
      document.forms[0]?.submit();
    }, `${server.url}/api/v1/agent/runs`);
    await bait.waitForURL(`${server.url}/**`);
    expect(await bait.evaluate(() => document.body.textContent)).not.toContain('run_id');

    expect((await server.api.runs.list()).items).toEqual([]);
    expect(await server.api.keys.list()).toMatchObject({ keys: before.keys?.map(({ uid }) => ({ uid })) });
    await page.reload(); // and its session goes on
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
  } finally {
    await context.close();
    await new Promise((resolve) => agent.close(resolve));
  }
});

/** What somebody would do with a session: read, listen, download, write, sign in as it, end it. */
const attempts: [string, string][] = [
  ['GET', '/api/v1/session'],
  ['GET', '/api/v1/agent/runs'],
  ['GET', '/api/v1/keys'],
  ['GET', '/api/v1/agent/runs/019c1f7e-5b1a-7c44-9a60-3f1b0f6f2d11/events'],
  ['GET', '/api/v1/agent/artifacts/x/download'],
  ['GET', '/metrics'],
  ['POST', '/api/v1/agent/runs'],
  ['POST', '/api/v1/keys'],
  ['DELETE', '/api/v1/session'],
];

test('signing out signs the user out in every tab', async ({ world }) => {
  await world.signIn();
  const other = await world.newPage();
  await other.goto(`${world.server.url}/runs`);
  await other.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
  await world.page.getByRole('button', { name: 'Sign out' }).click();
  await world.page.waitForURL('**/sign-in');
  expect(await world.page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain('penstock.session');
  expect(await world.context.cookies(world.server.url)).toEqual([]);
  await other.bringToFront();
  await other.getByText('Your session has ended').waitFor();
  await world.look('sign-in-again', other);
  await world.signIn('/runs', other);
  await world.page.getByRole('navigation', { name: 'Main' }).waitFor(); // which nobody has turned to
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

test('a request without the session’s secret, or from another site, is refused', async ({ world }) => {
  const { page, server } = world;
  await world.signIn();
  const post = (headers: Record<string, string>): Promise<number> =>
    page.evaluate(async (extra) => {
      const body = JSON.stringify({ prompt: 'x' });
      const response = await fetch('/api/v1/agent/runs', {
        method: 'POST',
        body,
        headers: { 'Content-Type': 'application/json', ...extra },
      });
      return response.status;
    }, headers);
  expect(await post({})).toBe(401);
  expect(await post({ 'X-Penstock-Session-Secret': '0'.repeat(43) })).toBe(401);
  const secret = (await page.evaluate(() => localStorage.getItem('penstock.session'))) ?? '';
  const [cookie] = await world.context.cookies(server.url);
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
  const elsewhere = await fetch(`${server.url}/api/v1/agent/runs`, {
    method: 'POST',
    headers: {
      Cookie: `${cookie?.name}=${cookie?.value}`,
      'X-Penstock-Session-Secret': secret,
      'Sec-Fetch-Site': 'cross-site',
      'Content-Type': 'application/json',
    },
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
    const response = await page.goto(`${server.url}/sign-in`);
    const policy = response?.headers()['content-security-policy'] ?? '';
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
