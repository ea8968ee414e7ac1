// @vitest-environment jsdom
import { expect, test } from 'vitest';
import { deliveryAt, logOfConnection, logOfWebhook } from './deliverylog.ts';

test('a link to a delivery has its log', () => {
  const found = (url: string) => {
    const { log, delivery } = deliveryAt(url) ?? {};
    return log && [log.factory, log.uid, delivery];
  };
  expect(found('https://penstock.example.com/factory/f1/webhooks/w1/deliveries/d1?x')).toEqual(['f1', 'w1', 'd1']);
  expect(found('https://penstock.example.com/forges/c1/deliveries/d2#top')).toEqual([undefined, 'c1', 'd2']);
  expect(found('https://ci.example.com/jobs/1')).toBeUndefined();
  expect(found('')).toBeUndefined();
});

test('each log has its own pages', () => {
  expect(logOfWebhook('f1', 'w1').pageOf('d1').params).toEqual({ uid: 'f1', wuid: 'w1', did: 'd1' });
  expect(logOfConnection('c1').pageOf('d1')).toEqual({ to: '/forges/$uid/deliveries/$did', params: { uid: 'c1', did: 'd1' } });
});
