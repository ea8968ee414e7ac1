import { expect, test } from 'vitest';
import { configOf, draftOf } from './draft.ts';

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
