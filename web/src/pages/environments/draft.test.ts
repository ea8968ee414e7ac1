import { expect, test } from 'vitest';
import { commitsOf, configOf, draftOf } from './draft.ts';

test('an environment that is not changed stays as it is, with what cannot be edited here', () => {
  const config = {
    name: 'linux',
    description: 'builds',
    docker_image: 'registry.example.com/app:1',
    docker_image_secret: 'REGISTRY',
    github_repos: [{ owner: 'acme', repo: 'shop' }],
    repos: [{ url: 'https://git.example.com/a.git', ref: 'main' }, { url: 'ssh://git@example.com/b.git' }],
    setup_commands: ['npm ci', 'if true; then\n  make\nfi'],
    providers: { aws: {} },
    failure_session_retention_minutes: 5,
    prebuild: {
      mode: 'lazy' as const,
      inputs: ['**/go.sum'],
      update_commands: ['npm install', 'if true; then\n  make\nfi'],
      secrets: ['NPM_TOKEN'],
    },
  };
  expect(configOf(draftOf(config), config)).toEqual(config);
});

test('what was emptied is left out', () => {
  const before = {
    name: 'linux',
    docker_image: 'debian:13',
    docker_image_secret: 'HUB',
    setup_commands: ['a'],
    repos: [{ url: 'https://x.example/a' }],
  };
  const draft = { ...draftOf(before), image: ' ', commands: [{ id: 1, text: ' ' }], repos: [{ id: 2, place: ' acme/shop ', ref: 'x' }] };
  expect(configOf(draft, before)).toEqual({ name: 'linux', github_repos: [{ owner: 'acme', repo: 'shop' }] });
});

test('commits are named by their repositories', () => {
  const commit = '9fceb02d0ae598e95dc970b74767f19372d61af8';
  expect(
    commitsOf([
      { url: 'https://github.com/acme/shop.git', commit },
      { url: 'git@example.com:lib', commit },
      { url: '', commit },
    ]),
  ).toBe('shop 9fceb02d, lib 9fceb02d, 9fceb02d');
});
