import { readFileSync } from 'node:fs';
import type { CloudEnvironment, RunItem } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { knownRepositories, parseRepository, problemOf, repositoriesOf, repositoryText } from './repositories.ts';

interface Case {
  text: string;
  url?: string;
  ref?: string;
  problem?: string;
}

test('what people write is read as the command line reads it', () => {
  const cases = JSON.parse(readFileSync(new URL('../../../../testdata/run_repositories.json', import.meta.url), 'utf8')) as Case[];
  expect(cases.length).toBeGreaterThan(0);
  for (const { text, url, ref, problem } of cases) {
    const read = parseRepository(text);
    if (problem === undefined) {
      expect(read, text).toEqual({ url, ...(ref ? { ref } : {}) });
    } else {
      expect('problem' in read ? read.problem : '', text).toMatch(new RegExp(problem, 'i'));
      expect(JSON.stringify(read)).not.toContain('hunter2');
    }
  }
});

test('a repository is written as it was read', () => {
  for (const text of ['acme/shop', 'acme/shop#fix/#12', 'https://git.example.com/a/b.git#main', 'git@git.example.com:a/b']) {
    expect(repositoriesOf([text]).map(repositoryText)).toEqual([text]);
  }
});

test('the first problem is shown, and never a password', () => {
  expect(problemOf(['acme/shop', 'shop'])).toContain('shop: It is neither');
  expect(problemOf(['acme/shop', 'https://ada:hunter2@git.example.com/a'])).not.toContain('hunter2');
  expect(problemOf(['acme/shop'])).toBeUndefined();
});

test('repositories that environments and runs have are known once', () => {
  const environment = {
    config: { github_repos: [{ owner: 'acme', repo: 'shop' }], repos: [{ url: 'https://git.example.com/a', ref: 'main' }] },
  };
  const run = { agent_config: { repositories: [{ url: 'https://github.com/acme/shop.git' }, { url: 'https://github.com/acme/lib.git' }] } };
  expect(knownRepositories([environment as CloudEnvironment], [run as RunItem, {} as RunItem])).toEqual([
    'acme/shop',
    'acme/lib',
    'https://git.example.com/a#main',
  ]);
});
