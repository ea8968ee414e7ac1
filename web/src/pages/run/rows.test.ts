import { expect, test } from 'vitest';
import { markdownOf, rowsOf } from './rows.ts';
import type { ActionItem, Item } from './transcript.ts';

const ran = (key: string, command: string, exit_code = 0): ActionItem => ({
  kind: 'action',
  key,
  category: 'command',
  name: 'run_command',
  input: { command },
  state: 'completed',
  output: { exit_code, stdout: `out of ${key}` },
});
const said = (key: string, text: string): Item => ({ kind: 'message', key, role: 'assistant', text, at: undefined, partial: false });

test('the same command in a row is one line', () => {
  const rows = rowsOf([ran('a', 'ls'), ran('b', 'ls'), ran('c', 'ls'), ran('d', 'pwd'), ran('e', 'ls')], '', false);
  expect(rows.map(({ kind, key }) => [kind, key])).toEqual([
    ['group', 'g:a'],
    ['action', 'd'],
    ['action', 'e'],
  ]);
});

test('a search finds commands, their results and messages', () => {
  const items = [said('m', 'I look around'), ran('a', 'ls'), ran('b', 'pwd')];
  expect(rowsOf(items, 'LOOK', false).map(({ key }) => key)).toEqual(['m']);
  expect(rowsOf(items, 'out of b', false).map(({ key }) => key)).toEqual(['b']);
  expect(rowsOf(items, 'nothing has this', false)).toEqual([]);
});

test('errors are commands that failed, states of failure and messages that did not arrive', () => {
  const items: Item[] = [
    ran('a', 'ls'),
    ran('b', 'false', 1),
    { ...said('m', 'x'), delivery: 'undelivered' } as Item,
    { kind: 'state', key: 's', state: 'FAILED', execution: 1, message: undefined },
    { kind: 'state', key: 't', state: 'BLOCKED', execution: 1, message: undefined },
  ];
  expect(rowsOf(items, '', true).map(({ key }) => key)).toEqual(['b', 'm', 's']);
});

test('no text of an agent ends a code block of the Markdown', () => {
  const text = markdownOf('T', [said('m', 'Hello'), ran('a', 'echo "```"')]);
  expect(text).toContain('# T\n\n## Agent\n\nHello\n\n**Ran echo "```"**');
  expect(text).toContain('\n````json\n');
});
