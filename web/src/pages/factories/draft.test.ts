import { expect, test } from 'vitest';
import { creationOf, draftOf, isComplete, updateOf } from './draft.ts';

const empty = draftOf();

test('a factory that is kept here needs a name', () => {
  expect([empty, { ...empty, name: ' x ' }].map(isComplete)).toEqual([false, true]);
  expect(creationOf({ ...empty, name: ' x ', alias: '', description: ' d ' })).toEqual({ name: 'x', description: 'd' });
  expect(updateOf({ ...empty, name: 'x', alias: ' ', description: 'd' })).toEqual({ name: 'x', alias: null, description: 'd' });
});

test('one of a repository needs its address', () => {
  const draft = { ...empty, source: 'repository' as const, url: ' https://git.example.com/a.git ', branch: 'main', secret: ' ' };
  expect([{ ...draft, url: '' }, draft].map(isComplete)).toEqual([false, true]);
  const repository = { url: 'https://git.example.com/a.git', branch: 'main' };
  expect(creationOf(draft)).toEqual({ repository });
  expect(updateOf(draft)).toEqual({ repository });
});
