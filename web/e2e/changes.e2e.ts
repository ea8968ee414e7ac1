import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Server } from './server.ts';
import { expect, test } from './world.ts';

test('a run shows what it has changed in its repository', async ({ world, browser }) => {
  const server = await Server.start('--allow-local-repositories');
  const dir = mkdtempSync(path.join(tmpdir(), 'penstock-changes-'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
      cwd: dir,
      env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null' },
    });
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' })).newPage();
  try {
    git('init', '--quiet', '--initial-branch=main');
    writeFileSync(path.join(dir, 'total.txt'), 'one\n');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'Begin');
    const { uid } = await server.api.environments.create({ name: 'shop', repos: [{ url: `file://${dir}` }] });
    const attack = '<img src=x onerror="window.hacked = 1">';
    const name = path.basename(dir);
    const { run_id } = await server.api.runs.create({
      prompt: `demo: write ${name}/total.txt ${attack}`,
      config: { environment_id: uid },
    });
    const data = { branch: 'fix/total', url: 'https://github.com/acme/shop/pull/77' };
    await server.api.runs.addArtifact(run_id, { artifact_type: 'PULL_REQUEST', data });
    await page.goto(`${server.url}/runs/${run_id}`);
    await page.getByLabel('API key').fill(server.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('tab', { name: 'Changes' }).click();
    const pull = page.getByRole('article', { name: 'Pull request' }).getByRole('link', { name: 'fix/total' });
    expect(await pull.getAttribute('href')).toBe(data.url);
    const row = page.getByRole('table', { name: `Changed files of ${name}` }).getByRole('row', { name: /total\.txt/ });
    await row.getByText('Modified').waitFor();
    await row.getByText('+1').waitFor();
    const patch = page.getByRole('figure', { name: `Patch of ${name}` });
    await patch.getByText(attack).waitFor();
    await patch.locator('[data-kind="removed"]').getByText('one').waitFor();
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
    await world.look('run-changes', page);
  } finally {
    await page.context().close();
    await server.end();
    rmSync(dir, { recursive: true, force: true });
  }
});
