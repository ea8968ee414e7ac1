import { expect, test } from 'vitest';
import { headersOf } from './headers.ts';

test('headers are read as senders and curl show them', () => {
  const text = 'POST /webhooks/x HTTP/1.1\nHost: example.com\r\nX-Signature:sha256=00\nX-Empty:\n\nAccept: a\naccept: b:c\n';
  expect(headersOf(text)).toEqual({ headers: { host: 'example.com', 'x-signature': 'sha256=00', 'x-empty': '', accept: 'a, b:c' } });
});

test('a line that is no header is returned', () => {
  expect(headersOf('Host: example.com\n{"a": 1}').wrong).toBe('{"a": 1}');
});
