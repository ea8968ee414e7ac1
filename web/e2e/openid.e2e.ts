import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Provider } from 'oidc-provider';
import type { Browser, Page } from 'playwright-core';
import { Server } from './server.ts';
import { expect, patience, test } from './world.ts';

/** A server whose people sign in at a certified provider, and a page of a new browser. */
async function withProvider(browser: Browser, run: (page: Page, server: Server) => Promise<void>): Promise<void> {
  const listening = createServer();
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  const dir = mkdtempSync(path.join(tmpdir(), 'penstock-openid-'));
  const secret = path.join(dir, 'secret');
  writeFileSync(secret, 'the secret of the client');
  const config = path.join(dir, 'penstock.yaml');
  writeFileSync(
    config,
    `auth:
  providers:
    - name: Example
      issuer: ${issuer}
      client_id: penstock
      client_secret_file: ${secret}
      groups: {developers: editor}
`,
  );
  const server = await Server.start('--config', config);
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'penstock', client_secret: 'the secret of the client', redirect_uris: [`${server.url}/sign-in/callback`] }],
    claims: { openid: ['sub'], email: ['email'], profile: ['name', 'groups'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, name: 'Ada Brandt', email: 'ada@example.com', groups: id === 'ada' ? ['developers'] : ['sales'] }),
    }),
  });
  listening.on('request', provider.callback());
  const context = await browser.newContext({ locale: 'en-GB' });
  context.setDefaultTimeout(patience);
  try {
    await run(await context.newPage(), server);
  } finally {
    await context.close();
    await server.end();
    listening.close();
    listening.closeAllConnections();
    rmSync(dir, { recursive: true });
  }
}

/** What a person does at the provider: enters a name, and consents. */
async function atProvider(page: Page, login: string): Promise<void> {
  await page.locator('input[name=login]').fill(login);
  await page.locator('input[name=password]').fill('any');
  await page.locator('button[type=submit]').click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

test('who signs in at an identity provider gets to where they wanted, as themselves', async ({ browser }) => {
  await withProvider(browser, async (page, server) => {
    await page.goto(`${server.url}/runs?q=login`);
    await page.getByRole('button', { name: 'Sign in with Example' }).click();
    await atProvider(page, 'ada');
    await page.waitForURL('**/runs?q=login');
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    expect(await page.evaluate(() => document.cookie)).toBe('');
    const { users } = await server.api.users.list();
    const ada = users.find(({ display_name }) => display_name === 'Ada Brandt');
    expect(ada).toMatchObject({ email: 'ada@example.com', groups: ['developers'], roles: ['editor'], subject: 'ada' });

    await server.api.users.update(ada?.uid ?? '', { disabled: true });
    await page.reload();
    await page.getByText('Sign in to Penstock').waitFor();
    await page.goto(`${server.url}/sign-in`);
    await page.getByRole('button', { name: 'Sign in with Example' }).click();
    await page.getByRole('alert').waitFor();
    await expect(page.getByRole('alert').textContent()).resolves.toMatch(/Ada Brandt is disabled/);
    expect(page.url()).toBe(`${server.url}/sign-in/callback`);
  });
});

test('without a role of a group nobody gets in, and the page says which groups they have', async ({ browser }) => {
  await withProvider(browser, async (page, server) => {
    await page.goto(server.url);
    await page.getByRole('button', { name: 'Sign in with Example' }).click();
    await atProvider(page, 'eve');
    const alert = page.getByRole('alert');
    await alert.waitFor();
    await expect(alert.textContent()).resolves.toMatch(/Example sent the groups sales/);
    expect((await server.api.users.list()).users).toHaveLength(1);
    await page.getByRole('link', { name: 'Sign in again' }).click();
    await page.getByLabel('API key').fill(server.key);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
  });
});

test('a sign-in that was cancelled, and the answer to another browser, end on a page that says so', async ({ browser }) => {
  await withProvider(browser, async (page, server) => {
    await page.goto(server.url);
    await page.getByRole('button', { name: 'Sign in with Example' }).click();
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByRole('alert').waitFor();
    await expect(page.getByRole('alert').textContent()).resolves.toMatch(/did not sign you in: .*abort/i);

    await page.goto(`${server.url}/sign-in/callback?error=x&error_description=call+555&state=x`);
    await page.getByRole('alert').waitFor();
    await expect(page.getByRole('alert').textContent()).resolves.toBe('The identity provider did not sign you in.');

    await page.goto(`${server.url}/sign-in/callback?state=x&code=y`);
    await page.getByRole('alert').waitFor();
    await expect(page.getByRole('alert').textContent()).resolves.toMatch(/began in another browser/);

    await page.goto(`${server.url}/sign-in/callback`);
    await page.getByText('The address has no answer').waitFor();
  });
});
