import { expect, test } from 'vitest';
import { slackAppRequestOf } from './SlackAppFields.tsx';

const before = { channel: 'C1', token: '', signing: '', users: ['U1'] };

test('a change leaves out what stays', () => {
  expect(slackAppRequestOf({ ...before, channel: ' C2 ' }, before)).toEqual({ channel: 'C2' });
  expect(slackAppRequestOf({ ...before, token: ' xoxb-1\n', signing: 's', users: [] }, before)).toEqual({
    channel: 'C1',
    bot_token: 'xoxb-1',
    signing_secret: 's',
    may_answer: [],
  });
});

test('a new endpoint names the people, also if there are none', () => {
  expect(slackAppRequestOf({ ...before, users: [] })).toEqual({ channel: 'C1', may_answer: [] });
});
