import type { Trigger, Webhook } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { draftOf, inactiveReasonOf, looksLikeUID, providersOf, readFilter, summaryOf, triggerOf } from './triggers.ts';

const triggers: Trigger[] = [
  { provider: 'webhook', event: 'received', filter: { webhook_ids: ['ci'], payload: { status: ['failed'], n: { exists: true } } } },
  { provider: 'webhook', event: 'received', filter: { webhook_ids: ['ci', 'alerts'] } },
  { provider: 'webhook', event: 'received', filter: { webhook_ids: { in: ['ci'], not_in: ['old'] } } },
  { provider: 'schedule', event: 'cron_fired', schedule: { cron: '0 7 * * 1-5', timezone: 'Europe/Berlin', name: 'early' } },
  { provider: 'schedule', event: 'cron_fired', filter: { schedule_ids: ['one'] } },
  { provider: 'github', event: 'push', filter: { repos: ['acme/app'], branches: { not_in: ['wip/*'] } } },
  { provider: 'slack', event: 'app_mention' },
];

test('what is not edited stays as it was', () => {
  expect(triggers.map((trigger) => triggerOf(draftOf(trigger)))).toEqual(triggers);
});

test('fields of responses only are not sent back', () => {
  const [trigger] = [
    { provider: 'schedule', event: 'cron_fired', schedule: { cron: '@daily', next_run: '2026-02-03T06:00:00.000Z', last_error: 'x' } },
  ];
  expect(triggerOf(draftOf(trigger as Trigger))).toEqual({ provider: 'schedule', event: 'cron_fired', schedule: { cron: '@daily' } });
});

test('a filter that is no object is none', () => {
  expect(['{', '[]', '1', 'null', '"a"'].map(readFilter)).toEqual([undefined, undefined, undefined, undefined, undefined]);
  expect(readFilter('{"id": [9007199254740993]}'), 'a browser would round it').toBeUndefined();
  expect([readFilter(' '), readFilter('{"a": [1]}')]).toEqual([{}, { a: [1] }]);
  expect(triggerOf({ ...draftOf(triggers[0] as Trigger), filter: '{"a": ' })).toBeUndefined();
});

test('providers are read from the schema, those with a way in first', () => {
  const rule = (name: string, events: string[], keys: string[]) => ({
    if: { properties: { provider: { const: name } } },
    // biome-ignore lint/suspicious/noThenProperty: it is JSON Schema's
    then: { properties: { event: { enum: events }, filter: { properties: Object.fromEntries(keys.map((key) => [key, {}])) } } },
  });
  const schema = {
    properties: {
      triggers: {
        items: {
          allOf: [rule('slack', ['app_mention'], ['channels']), rule('github', ['push'], ['repos']), rule('webhook', ['received'], [])],
        },
      },
    },
  };
  expect(providersOf(schema)).toEqual([
    { name: 'webhook', events: ['received'], keys: [] },
    { name: 'github', events: ['push'], keys: ['repos'] },
    { name: 'slack', events: ['app_mention'], keys: ['channels'] },
  ]);
  expect(providersOf(undefined)).toEqual([]);
});

test('says which triggers stay silent', () => {
  const hook = { signature_scheme: 'github', enabled: true, pending_secret: false } as Webhook;
  expect(inactiveReasonOf('webhook', [])).toBeUndefined();
  expect(inactiveReasonOf('github', [hook])).toBeUndefined();
  expect(inactiveReasonOf('github', [{ ...hook, pending_secret: true }])).toContain('GitHub');
  expect(inactiveReasonOf('linear', [hook])).toContain('Linear');
  expect(inactiveReasonOf('slack', [hook])).toContain('Not connected');
});

test('names each trigger in a few words', () => {
  expect(triggers.map((trigger) => summaryOf(trigger))).toEqual([
    'webhook ci, filtered',
    'webhook ci, alerts',
    'webhook ci',
    '0 7 * * 1-5 Europe/Berlin',
    'team schedules',
    'github push',
    'slack app mention',
  ]);
});

test('names the webhook that a trigger selects by its UID', () => {
  const [first] = triggers;
  const names = new Map([['ci', 'Continuous integration']]);
  expect(first && summaryOf(first, names)).toBe('webhook Continuous integration, filtered');
});

test('takes every digit and letter for part of a UID', () => {
  expect(['0123456789ABCDEFGHIJKL', 'MNOPQRSTUVWXYZabcdefgh', 'ijklmnopqrstuvwxyz0000'].every(looksLikeUID)).toBe(true);
  expect(['ci', 'a-name-of-22-characters', ''].some(looksLikeUID)).toBe(false);
});
