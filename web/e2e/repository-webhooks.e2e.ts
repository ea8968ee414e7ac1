import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Server } from './server.ts';
import { choose, expect, patience, test as shared } from './world.ts';

/** Tests with a server that takes factories from repositories of this machine. */
const test = shared.extend<{ server: Server; repository: string }>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of what a fixture needs
    async ({}, use) => {
      const server = await Server.start('--git-allow-file');
      await use(server);
      await server.end();
    },
    { scope: 'file' },
  ],
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of what a fixture needs
  repository: async ({}, use) => {
    const dir = mkdtempSync(path.join(tmpdir(), 'penstock-e2e-git-'));
    commit(dir, {
      'factory.yaml': factory('From Git'),
      'agents/foreman/agent.md': '---\nagentType: FOREMAN\n---\nWork.\n',
      'webhooks/ci.yaml': 'secretName: CI_TOKEN\n',
      'automations/fix/automation.md':
        '---\ntriggers:\n  - {provider: webhook, event: received, filter: {webhook_ids: [ci]}}\n---\ndemo: say fixed\n',
    });
    await use(`file://${dir}`);
    rmSync(dir, { recursive: true, force: true });
  },
});

const factory = (name: string): string => `schemaVersion: v1alpha1\nname: ${name}\nagentDefaults: {model: auto}\n`;

/** Makes a repository with a commit of some files. */
function commit(dir: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
    writeFileSync(path.join(dir, name), content);
  }
  const git = (...args: string[]): void => {
    execFileSync('git', ['-C', dir, '-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], { stdio: 'pipe' });
  };
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-q', '-m', 'Begin');
}

test('what comes from a repository is edited there; its secrets, and whether it takes deliveries, are not', async ({
  world,
  repository,
}) => {
  const { page, server } = world;
  await server.api.secrets.create({ name: 'CI_TOKEN', value: 'an-example-value' });
  const { uid } = await server.api.factories.create({ repository: { url: repository, branch: 'main' } });
  await server.api.factories.sync(uid);
  const hooks = async () => (await server.api.webhooks.list(uid)).webhooks;
  await expect.poll(async () => (await hooks()).length, { timeout: patience }).toBe(1);
  const hook = (await hooks())[0];
  const send = async (secret: string | null): Promise<number> =>
    (await fetch(hook?.ingress_url ?? '', { method: 'POST', body: '{}', headers: { Authorization: `Bearer ${secret}` } })).status;

  await world.signIn(`/factory/${uid}/webhooks`);
  await page.waitForURL(`**/webhooks?factory=${uid}`);
  await page.getByRole('link', { name: 'ci', exact: true }).click();
  await page.getByText('From Git is defined by a Git repository').waitFor();
  await page.getByText('webhooks/ci.yaml', { exact: true }).waitFor();
  expect(await page.getByRole('button', { name: 'More' }).count()).toBe(0);
  await world.look('webhook-repository');
  expect(await send('an-example-value')).toBe(202);
  await page.getByRole('switch', { name: 'Enabled' }).press('Space');
  await page.getByText('Suspended', { exact: true }).waitFor();
  expect(await send('an-example-value')).toBe(404);
  await page.getByRole('switch', { name: 'Enabled' }).press('Space');
  await page.getByText('Suspended', { exact: true }).waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Rotate secret' }).click();
  const dialog = page.getByRole('dialog');
  await choose(dialog.getByRole('combobox', { name: 'The old secret' }), { name: 'Stops at once' });
  await dialog.getByRole('button', { name: 'Rotate' }).click();
  const secret = await dialog.getByRole('region', { name: 'Secret' }).textContent();
  await dialog.getByRole('button', { name: 'I have copied it' }).click();
  expect([await send('an-example-value'), await send(secret)]).toEqual([401, 202]);
  await page
    .getByRole('button', { name: /^Accepted/ })
    .first()
    .click();
  await page.getByRole('button', { name: 'Replay' }).click();
  await page.getByText(/1 run started\.$/).waitFor();

  await page.getByRole('link', { name: 'fix' }).first().click();
  await page.getByText('automations/fix/automation.md', { exact: true }).waitFor();
  await expect.poll(() => page.getByRole('switch', { name: 'Enabled' }).isDisabled()).toBe(true);
  expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0);
  expect(await page.getByRole('textbox', { name: 'Prompt' }).getAttribute('readonly')).not.toBeNull();
  await world.look('automation-repository');
});

test('a new value of a secret that waits for a commit is shown, with what applies it', async ({ world, repository }) => {
  const { page, server } = world;
  await server.api.secrets.create({ name: 'OTHER', value: 'an-example-value' });
  commit(new URL(repository).pathname, { 'webhooks/ci.yaml': 'secretName: OTHER\n', 'factory.yaml': factory('Waits') });
  const { uid } = await server.api.factories.create({ repository: { url: repository, branch: 'main' } });
  await server.api.factories.sync(uid);
  await world.signIn(`/factory/${uid}`);
  await page.getByRole('heading', { name: 'Agents' }).waitFor();
  expect(await page.getByText('A new secret value is not in use yet').count()).toBe(0);

  await server.api.secrets.set('OTHER', { value: 'another-example-value' });
  await page.reload();
  await page.getByText('A new secret value is not in use yet').waitFor();
  await page.getByText('secretRefresh: immediate', { exact: true }).waitFor();
  await world.look('factory-outdated-secret');

  commit(new URL(repository).pathname, { 'webhooks/ci.yaml': 'secretName: OTHER\nsecretRefresh: immediate\n' });
  await server.api.factories.sync(uid);
  await page.reload();
  await page.getByRole('heading', { name: 'Agents' }).waitFor();
  expect(await page.getByText('A new secret value is not in use yet').count()).toBe(0);
});
