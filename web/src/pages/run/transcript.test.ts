import type { ContentBlock, RunEvent } from '@penstock/sdk';
import { describe, expect, test } from 'vitest';
import { emptyTranscript, Folder } from './transcript.ts';

const delta = (id: number, message_id: string, text: string): RunEvent => ({
  id,
  event: 'message_delta',
  data: { message_id, role: 'assistant', text },
});
const message = (id: number, message_id: string, text: string): RunEvent => ({
  id,
  event: 'message',
  data: { message_id, role: 'assistant', content: [{ type: 'text', text }] },
});
const fold = (...batches: RunEvent[][]) => {
  const folder = new Folder();
  return batches.reduce((before, events) => folder.fold(before, events), emptyTranscript);
};

describe('messages', () => {
  test('grow by their pieces, and are replaced by the whole', () => {
    const growing = fold([delta(1, 'm1', 'He'), delta(2, 'm1', 'llo')]);
    expect(growing.items).toMatchObject([{ kind: 'message', text: 'Hello', partial: true }]);
    const whole = fold([delta(1, 'm1', 'He')], [delta(2, 'm2', 'Other')], [message(5, 'm1', 'Hello.')]);
    expect(whole.items).toMatchObject([
      { text: 'Hello.', partial: false },
      { text: 'Other', partial: true },
    ]);
  });

  test('after a turn to which the run went back are superseded', () => {
    const user = (id: number, message_id: string): RunEvent => ({
      id,
      event: 'message',
      data: { message_id, role: 'user', content: [{ type: 'text', text: message_id }] },
    });
    const back: RunEvent = {
      id: 5,
      event: 'message',
      data: { message_id: 'b', role: 'assistant', content: [{ type: 'event', name: 'rewound', data: { message_id: 'u1', turn: 1 } }] },
    };
    const { items } = fold([user(1, 'u1'), message(2, 'a1', 'x'), user(3, 'u2'), message(4, 'a2', 'y')], [back, user(6, 'u3')]);
    expect(items.map((item) => [item.kind, item.superseded ?? false])).toEqual([
      ['message', false],
      ['message', false],
      ['message', true],
      ['message', true],
      ['mark', false],
      ['message', false],
    ]);
  });

  test('what comes again is passed over', () => {
    const events = [message(1, 'm1', 'a'), delta(2, 'm2', 'b')];
    expect(fold(events, events)).toEqual(fold(events));
  });

  test('thoughts stand by themselves', () => {
    const thought: RunEvent = {
      id: 1,
      event: 'message',
      data: { message_id: 'm', role: 'assistant', content: [{ type: 'event', name: 'thought', data: { text: 'hmm' } }] },
    };
    expect(fold([thought]).items).toEqual([{ kind: 'thought', key: 't:m:0', text: 'hmm' }]);
  });
});

test('an event of the agent that is nested without end does not end the page', () => {
  const data = { update: JSON.parse('['.repeat(9_900) + ']'.repeat(9_900)) };
  const event: RunEvent = {
    id: 1,
    event: 'message',
    data: { message_id: 'm', role: 'assistant', content: [{ type: 'event', name: 'update', data }] },
  };
  expect(fold([event]).items).toMatchObject([{ kind: 'thought', text: expect.stringContaining('too deeply') }]);
});

test('a result stands by its action, also when the stream was taken up between them', () => {
  const action: RunEvent = {
    id: 1,
    event: 'action',
    data: { type: 'action', id: 'a', category: 'command', name: 'run_command', input: { command: 'ls' } },
  };
  const result: RunEvent = {
    id: 2,
    event: 'action_result',
    data: {
      type: 'action_result',
      action_id: 'a',
      category: 'command',
      name: 'run_command',
      state: 'completed',
      output: { exit_code: 0 },
    },
  };
  expect(fold([action], [result]).items).toMatchObject([
    { key: 'a:a', input: { command: 'ls' }, state: 'completed', output: { exit_code: 0 } },
  ]);
  expect(fold([result]).items).toMatchObject([{ key: 'a:a', input: {}, state: 'completed' }]);
});

test('a follow-up that was not delivered says so, where it was given to a worker that died, too', () => {
  const given: RunEvent = { id: 1, event: 'message', data: { message_id: 'f', role: 'user', content: [{ type: 'text', text: 'Hurry' }] } };
  const mark: ContentBlock = { type: 'event', name: 'followup_undelivered', data: { followup_id: 'f' } };
  const end: RunEvent = {
    id: 2,
    event: 'message',
    data: { message_id: 'f', role: 'user', content: [{ type: 'text', text: 'Hurry' }, mark] },
  };
  expect(fold([given]).items).toMatchObject([{ text: 'Hurry' }]);
  expect(fold([given]).items).not.toMatchObject([{ delivery: 'undelivered' }]);
  for (const all of [[end], [given, end]]) {
    expect(fold(all).items).toMatchObject([{ key: 'm:f', text: 'Hurry', delivery: 'undelivered' }]);
  }
});

test('items that did not change stay the same objects', () => {
  const folder = new Folder();
  const before = folder.fold(emptyTranscript, [message(1, 'm1', 'a'), delta(2, 'm2', 'b')]);
  const after = folder.fold(before, [delta(3, 'm2', 'c')]);
  expect(after.items[0]).toBe(before.items[0]);
  expect(after.items[1]).not.toBe(before.items[1]);
});

test('the end of the log is told, and a follow-up goes on after it', () => {
  const state = (id: number, name: string, execution_id: number): RunEvent => ({ id, event: 'state', data: { state: name, execution_id } });
  const ended = fold([state(1, 'INPROGRESS', 1), state(2, 'SUCCEEDED', 1), { event: 'done', data: { state: 'SUCCEEDED' } }]);
  expect(ended).toMatchObject({ done: true, state: 'SUCCEEDED', execution: 1, lastId: 2 });
  expect(ended.items).toHaveLength(1);
  const again = fold(
    [state(2, 'SUCCEEDED', 1), { event: 'done', data: { state: 'SUCCEEDED' } }],
    [state(3, 'QUEUED', 2), state(4, 'SUCCEEDED', 2)],
  );
  expect(again).toMatchObject({ done: false, execution: 2 });
  expect(again.items).toHaveLength(2);
});

test('events that are newer than this page do no harm', () => {
  const strange = { id: 7, event: 'hologram', data: {} } as unknown as RunEvent;
  expect(fold([strange])).toEqual({ ...emptyTranscript, lastId: 7 });
});

test('5,000 events are folded at once', () => {
  const events = Array.from({ length: 5000 }, (_, i) => message(i + 1, `m${i}`, `line ${i}`));
  expect(fold(events).items).toHaveLength(5000);
});
