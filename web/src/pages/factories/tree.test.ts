import { expect, test } from 'vitest';
import { changedPaths, rebase, templateOf, treeOf } from './tree.ts';

test('files become folders, with files before folders', () => {
  const nodes = treeOf(['webhooks/in.yaml', 'agents/b/agent.md', 'factory.yaml', 'agents/a/skills/x/SKILL.md', 'agents/a/agent.md']);
  const flat = (list: typeof nodes): unknown[] => list.map(({ name, children }) => (children ? [name, ...flat(children)] : name));
  expect(flat(nodes)).toEqual([
    'factory.yaml',
    ['agents', ['a', 'agent.md', ['skills', ['x', 'SKILL.md']]], ['b', 'agent.md']],
    ['webhooks', 'in.yaml'],
  ]);
});

test('what changed is told, with what is new and what is gone', () => {
  expect(changedPaths({ a: '1', b: '1', c: '1' }, { a: '1', b: '2', d: '1' })).toEqual(['b', 'c', 'd']);
});

test('edits are put onto what somebody else has changed', () => {
  const base = { same: '0', mine: '0', theirs: '0', both: '0', alike: '0', gone: '0', dropped: '0' };
  const mine = { same: '0', mine: '1', theirs: '0', both: '1', alike: '1', dropped: '0', fresh: '1' };
  const theirs = { same: '0', mine: '0', theirs: '2', both: '2', alike: '1', gone: '0', other: '2' };
  expect(rebase(base, mine, theirs)).toEqual({
    files: { same: '0', mine: '1', theirs: '2', both: '1', alike: '1', fresh: '1', other: '2' },
    conflicts: ['both'],
  });
});

test('what somebody else has removed and I have edited is a conflict', () => {
  expect(rebase({ a: '0' }, { a: '1' }, {})).toEqual({ files: { a: '1' }, conflicts: ['a'] });
  expect(rebase({ a: '0' }, {}, { a: '2' })).toEqual({ files: {}, conflicts: ['a'] });
});

test.each([
  ['agents/reviewer/agent.md', 'agentType: CUSTOM'],
  ['skills/deploy/SKILL.md', 'name: deploy'],
  ['agents/a/skills/b/SKILL.md', 'name: b'],
  ['automations/x/automation.md', 'triggers:'],
  ['webhooks/in.yaml', 'secretName:'],
])('a new %s begins with %s', (path, want) => {
  expect(templateOf(path)).toContain(want);
});
