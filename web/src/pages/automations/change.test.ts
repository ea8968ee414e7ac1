import type { Automation } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { automationDraftOf, changeOf, creationOf, othersOf } from './change.ts';
import { emptyTrigger } from './triggers.ts';

const automation: Automation = {
  uid: 'a',
  name: 'fix',
  enabled: true,
  prompt: 'Fix it.',
  agent: 'builder',
  runner: 'big',
  triggers: [{ provider: 'webhook', event: 'received', filter: { webhook_ids: ['ci'], payload: { b: [1], a: [2] } } }],
  created_at: '2026-02-02T09:30:00.000Z',
  updated_at: '2026-02-02T09:30:00.000Z',
};

test('what was not edited is not sent', () => {
  const draft = automationDraftOf(automation);
  expect(changeOf(automation, draft)).toEqual({});
  expect(changeOf(automation, { ...draft, prompt: 'Fix it well.', agent: '' })).toEqual({ prompt: 'Fix it well.', agent: null });
  expect(changeOf(automation, { ...draft, model: 'demo/offline', environment: 'e' })).toEqual({
    model: 'demo/offline',
    environment_id: 'e',
  });
});

test('a subject is sent by its fields, and cleared with null', () => {
  const about = { ...automation, subject: '{{pr}}', quiet: '30s', max_followups: 5 };
  const draft = automationDraftOf(about);
  expect(changeOf(about, draft)).toEqual({});
  const edited = { ...draft, texts: { ...draft.texts, when_busy: 'queue', quiet: ' ', max_followups: '7' } };
  expect(changeOf(about, edited)).toEqual({ when_busy: 'queue', quiet: null, max_followups: 7 });
  expect(creationOf({ ...edited, texts: { ...edited.texts, max_followups: 'many' } })).toMatchObject({
    subject: '{{pr}}',
    when_busy: 'queue',
    max_followups: 'many',
  });
});

test('what happens to a run that did nothing is sent, and cleared with null', () => {
  const strict: Automation = { ...automation, on_hollow: 'fail' };
  const draft = automationDraftOf(strict);
  expect(changeOf(strict, draft)).toEqual({});
  expect(changeOf(strict, { ...draft, prompt: 'Fix it well.' })).toEqual({ prompt: 'Fix it well.' });
  expect(changeOf(strict, { ...draft, onHollow: 'none' })).toEqual({ on_hollow: 'none' });
  expect(changeOf(strict, { ...draft, onHollow: '' })).toEqual({ on_hollow: null });
  expect(creationOf(draft)).toMatchObject({ on_hollow: 'fail' });
  expect(creationOf({ ...draft, onHollow: '' })).not.toHaveProperty('on_hollow');
});

test('triggers are sent as a whole', () => {
  const draft = automationDraftOf(automation);
  const added = { ...draft, triggers: [...draft.triggers, { ...emptyTrigger('schedule', 'cron_fired'), clock: { cron: '@daily' } }] };
  expect(changeOf(automation, added)).toEqual({
    triggers: [automation.triggers[0], { provider: 'schedule', event: 'cron_fired', schedule: { cron: '@daily' } }],
  });
});

test('what continues and closes a subject is sent as a whole, and cleared with null', () => {
  const comment = { provider: 'github', event: 'issue_comment_created' };
  const merged = { provider: 'github', event: 'pull_request_closed' };
  const about: Automation = { ...automation, subject: 'auto', continue_on: [comment], closes: [merged], closes_run: true };
  const draft = automationDraftOf(about);
  expect(changeOf(about, draft)).toEqual({});
  expect(changeOf(about, { ...draft, prompt: 'Fix it well.' })).toEqual({ prompt: 'Fix it well.' });
  expect(changeOf(about, { ...draft, continueOn: [], closes: [], closesRun: false })).toEqual({
    continue_on: null,
    closes: null,
    closes_run: null,
  });
  const more = { ...draft, continueOn: [...draft.continueOn, emptyTrigger('linear', 'comment_created')] };
  expect(changeOf(about, more)).toEqual({ continue_on: [comment, { provider: 'linear', event: 'comment_created' }] });
  expect(changeOf(about, { ...draft, closes: [emptyTrigger('webhook', 'received')] })).toBeUndefined();
  expect(creationOf(draft)).toMatchObject({ continue_on: [comment], closes: [merged], closes_run: true });
});

test('what cannot be sent is not', () => {
  const draft = automationDraftOf(automation);
  const broken = draft.triggers.map((trigger) => ({ ...trigger, filter: '{' }));
  expect([
    changeOf(automation, { ...draft, triggers: broken }),
    changeOf(automation, { ...draft, prompt: ' ' }),
    creationOf(automationDraftOf(undefined)),
  ]).toEqual([undefined, undefined, undefined]);
});

test('names what is set elsewhere', () => {
  expect(othersOf(automation)).toEqual(['runner']);
});
