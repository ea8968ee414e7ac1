import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Server } from './server.ts';
import { expect, test } from './world.ts';

test('a run is started on a repository, and shows its first diff', async ({ world, browser }) => {
  const server = await Server.start('--allow-local-repositories');
  const dir = mkdtempSync(path.join(tmpdir(), 'penstock-shop-'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
      cwd: dir,
      env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null' },
    });
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' })).newPage();
  try {
    git('init', '--quiet', '--initial-branch=main');
    writeFileSync(path.join(dir, 'README.md'), '# Shop\n');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'Begin');
    git('branch', 'fix/#12');
    await server.api.environments.create({ name: 'shop', github_repos: [{ owner: 'acme', repo: 'tools' }] });
    await page.goto(`${server.url}/runs`);
    await page.getByLabel('API key').fill(server.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'New run' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New run' });
    await dialog.getByLabel('Prompt').fill('Look around.');
    const field = dialog.getByRole('combobox', { name: 'Repositories' });
    await field.click();
    await page.getByRole('option', { name: 'acme/tools' }).waitFor();
    await field.fill('acme/shop@main');
    await field.press('Enter');
    await dialog.getByText('write #REF for a branch, tag or commit').waitFor();
    expect(await dialog.getByRole('button', { name: 'Start' }).isDisabled()).toBe(true);
    await field.press('Backspace');
    await field.fill(`file://${dir}#fix/#12`);
    await field.press('Enter');
    await expect.poll(() => dialog.getByRole('button', { name: 'Start' }).isDisabled()).toBe(false);
    await world.look('new-run-repository', page);
    await dialog.getByRole('button', { name: 'Start' }).click();
    await page.waitForURL('**/runs/*-*');
    await page.getByText('Succeeded').first().waitFor();
    await page.getByRole('tab', { name: 'Changes' }).click();
    const row = page.getByRole('table', { name: /^Changed files of penstock-shop/ }).getByRole('row', { name: /README\.md/ });
    await row.getByText('Modified').waitFor();
    await page.getByText('demo/offline').first().waitFor();
    const { items } = await server.api.runs.list();
    expect(items[0]?.agent_config?.repositories).toEqual([{ url: `file://${dir}`, ref: 'fix/#12' }]);
    await page.getByRole('button', { name: 'Edit and run' }).click();
    await page.getByRole('dialog', { name: 'Edit and run' }).getByText(`file://${dir}#fix/#12`).waitFor();
  } finally {
    await page.context().close();
    await server.end();
    rmSync(dir, { recursive: true, force: true });
  }
});
