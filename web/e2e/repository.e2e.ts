import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Server } from './server.ts';
import { expect, test } from './world.ts';

/** A Git repository with the files of a factory. */
class Repository {
  readonly dir = mkdtempSync(path.join(tmpdir(), 'penstock-repository-'));

  constructor() {
    this.#git('init', '--quiet', '--initial-branch=main');
  }

  /** Commits the files, beside those that are there. */
  commit(message: string, files: Record<string, string>): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(this.dir, name)), { recursive: true });
      writeFileSync(path.join(this.dir, name), text);
    }
    this.#git('add', '--all');
    this.#git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '--quiet', '--message', message);
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }

  #git(...args: string[]): void {
    execFileSync('git', args, { cwd: this.dir, env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null' } });
  }
}

test('a factory of a repository is read-only, and tells what became of each commit', async ({ world, browser }) => {
  const server = await Server.start('--git-allow-file', '--git-poll', '1h');
  const repository = new Repository();
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' })).newPage();
  try {
    repository.commit('Begin', {
      'factory.yaml': 'schemaVersion: v1alpha1\nname: Payments\nagentDefaults: {model: auto}\n',
      'agents/lead/agent.md': '---\nagentType: FOREMAN\n---\n\nLead.\n',
    });
    await page.goto(`${server.url}/factories`);
    await page.getByLabel('API key').fill(server.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'New factory' }).first().click();
    await page.getByText('Git repository', { exact: true }).click();
    await page.getByRole('textbox', { name: 'Repository' }).fill(`file://${repository.dir}`);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: 'Payments' }).waitFor();
    await page.getByText('Revision 1', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Files' }).click();
    await page.getByText('These files are edited in their repository').waitFor();
    await page.getByRole('textbox', { name: 'factory.yaml' }).waitFor();
    expect(await page.getByRole('button', { name: 'Plan…' }).count()).toBe(0);

    repository.commit('Misspell <b>it</b>', { 'agents/lead/agent.md': '---\nagentType: FOREMEN\n---\n\nLead.\n' });
    await page.getByRole('button', { name: 'Sync' }).click();
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByText('Rejected', { exact: true }).waitFor();
    await page.getByText('Misspell <b>it</b>').waitFor();
    await page.getByText('agents/lead/agent.md:2:12', { exact: true }).waitFor();
    await world.look('repository-history', page);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('was rejected. The previous commit stays active').waitFor();
    await world.look('repository', page);

    repository.commit('Fix it', { 'agents/lead/agent.md': '---\nagentType: FOREMAN\n---\n\nLead on.\n' });
    await page.getByRole('button', { name: 'Sync' }).click();
    await page.getByText('Revision 2', { exact: true }).waitFor();
  } finally {
    await page.context().close();
    repository.remove();
    await server.end();
  }
});
