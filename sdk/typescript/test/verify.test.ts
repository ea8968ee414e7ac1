import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { type EventMessage, PenstockError, VerificationError, verify } from '../src/index.js';

const key = Buffer.from(Array.from({ length: 32 }, (_, i) => 200 + i));
const oldKey = Buffer.alloc(32);
const secret = `whsec_${key.toString('base64')}`;
const old = `whsec_${oldKey.toString('base64')}`;
const body =
  '{"type": "run.failed", "timestamp": "2026-02-02T09:30:00Z", "data": {"run_id": "r1", ' +
  '"state": "FAILED", "sequence": 7, "brand_new": "ü", "url": "https://penstock.test/r1"}}';
const now = 1_770_024_600;
const receivedAt = now * 1000;

const sign = (k: Buffer = key, text: string | Buffer = body, at: unknown = now): string =>
  `v1,${createHmac('sha256', k).update(`msg_1.${at}.`).update(text).digest('base64')}`;

const headers = (signature?: string, at: unknown = now) => ({
  'webhook-id': 'msg_1',
  'webhook-timestamp': `${at}`,
  'webhook-signature': signature ?? sign(key, body, at),
});

// biome-ignore lint/suspicious/noExplicitAny: callers without a type checker pass anything
type Anything = any;

/** The error of a call that must fail. It never contains a secret. */
async function refused(b: Anything, h: Anything, s: Anything, options: Anything = {}): Promise<VerificationError> {
  const error = await verify(b, h, s, { receivedAt, ...options }).then(
    () => {
      throw new Error('the message was accepted');
    },
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(VerificationError);
  expect(error).toBeInstanceOf(PenstockError);
  expect(inspect(error)).not.toContain(secret.slice(6, 20));
  return error as VerificationError;
}

const accepted = (b: Anything, h: Anything = headers(), s: Anything = secret): Promise<EventMessage> => verify(b, h, s, { receivedAt });

describe('verify', () => {
  test('returns the typed message', async () => {
    const message: EventMessage = await accepted(body);
    const { type, data } = message;
    expect([type, data.run_id, data.state, data.sequence]).toEqual(['run.failed', 'r1', 'FAILED', 7]);
    expect((data as { brand_new?: string }).brand_new).toBe('ü');
  });

  test('takes now as the time by default', async () => {
    const at = Math.floor(Date.now() / 1000);
    expect((await verify(body, headers(undefined, at), secret)).type).toBe('run.failed');
    await expect(verify(body, headers(), secret)).rejects.toThrow('signed');
  });

  test.each([
    ['text', body],
    ['a Buffer', Buffer.from(body)],
    ['a Uint8Array', new TextEncoder().encode(body)],
    ['a part of a larger buffer', Buffer.from(`xx${body}xx`).subarray(2, -2)],
    ['an ArrayBuffer', new Uint8Array(Buffer.from(body)).buffer],
    ['an ArrayBuffer of another realm', runInNewContext('Uint8Array.from(bytes).buffer', { bytes: [...Buffer.from(body)] })],
  ])('takes a body that is %s', async (_, given) => {
    expect((await accepted(given)).data.run_id).toBe('r1');
  });

  const entries = Object.entries(headers());
  const changed = (name: (name: string) => string) => Object.fromEntries(entries.map(([n, value]) => [name(n), value]));
  test.each<[string, Anything]>([
    ['an object', headers()],
    ['an object with other case', changed((name) => name.toUpperCase())],
    ['arrays of values', Object.fromEntries(entries.map(([name, value]) => [name, [value]]))],
    ['Headers', new Headers(headers())],
    ['Headers of a polyfill', { get: (name: string) => new Headers(headers()).get(name) }],
    ['a Map', new Map(entries.map(([name, value]) => [name.toUpperCase(), value]))],
    ['pairs', entries],
    ['undefined values beside them', { ...headers(), 'x-none': undefined }],
    ['a repeated value', { ...headers(), 'webhook-id': ['msg_1', 'msg_1'] }],
    ['a repeated value that was joined', { ...headers(), 'webhook-id': ' msg_1, msg_1' }],
  ])('takes headers that are %s', async (_, given) => {
    expect((await accepted(body, given)).data.run_id).toBe('r1');
  });

  test.each<[string, Anything]>([
    ['has no prefix', secret.slice(6)],
    ['ends with a line feed', `${secret}\r\n`],
    ['has spaces around it', `  ${secret} `],
    ['has quotes around it', `"${secret}"`],
    ['has no padding', secret.replace(/=+$/, '')],
    ['is written for URLs', `whsec_${key.toString('base64url')}`],
    ['is one of two', [old, secret]],
    ['is the first of two', [secret, old]],
    ['is in a Set', new Set([old, secret])],
  ])('takes a secret that %s', async (_, given) => {
    expect((await accepted(body, headers(), given)).data.run_id).toBe('r1');
  });

  test.each<[string, Anything]>([
    ['after another', `${sign(oldKey)} ${sign()}`],
    ['before another', `${sign()} ${sign(oldKey)}`],
    ['after other versions', `v1a,${sign(oldKey).slice(3)} v2,abc ${sign()}`],
    ['in the second of two headers, joined', `${sign(oldKey)}, ${sign()}`],
    ['joined without a space', `${sign(oldKey)},${sign()}`],
    ['in the second of two headers', [sign(oldKey), sign()]],
  ])('finds a signature %s', async (_, signature) => {
    expect((await accepted(body, { ...headers(), 'webhook-signature': signature })).data.run_id).toBe('r1');
  });

  test('needs one secret at each time of a rotation', async () => {
    const both = headers(`${sign()} ${sign(oldKey)}`);
    for (const given of [secret, old, [secret, old]]) {
      expect((await accepted(body, both, given)).data.run_id).toBe('r1');
    }
    expect((await refused(body, headers(), old)).reason).toBe('no_match');
  });

  test.each([-300, -1, 0, 1, 300])('allows a signature of %d s', async (off) => {
    expect((await accepted(body, headers(undefined, now + off))).type).toBe('run.failed');
  });

  test('refuses other times, with the difference', async () => {
    const past = await refused(body, headers(undefined, now - 301), secret);
    expect(past).toMatchObject({ reason: 'too_old', message: expect.stringMatching(/301 s ago.* 300 s/) });
    const future = await refused(body, headers(undefined, now + 7200), secret);
    expect(future).toMatchObject({ reason: 'from_future', message: expect.stringMatching(/7200 s ahead.* 300 s/) });
    const options = { receivedAt: new Date(receivedAt), tolerance: 7_200_000 };
    expect((await verify(body, headers(undefined, now + 7200), secret, options)).type).toBe('run.failed');
    expect((await refused(body, headers(undefined, now - 2), secret, { tolerance: 1000 })).reason).toBe('too_old');
    await refused(body, headers(undefined, now - 400), secret, { tolerance: Number.NaN });
    await refused(body, headers(undefined, now - 400), secret, { receivedAt: Number.NaN });
  });

  test.each(['', 'soon', '1e9', '-5', '0x10', '٣', 'NaN', '1.5', '9'.repeat(16), now * 1000])('refuses the timestamp %j', async (at) => {
    const error = await refused(body, { ...headers(sign(key, body, at)), 'webhook-timestamp': `${at}` }, secret);
    expect(error).toMatchObject({ reason: 'header', message: expect.stringContaining('webhook-timestamp') });
  });

  test('says that receivedAt is in seconds', async () => {
    expect((await refused(body, headers(), secret, { receivedAt: now })).message).toContain('milliseconds');
  });

  test.each(Object.keys(headers()))('names the missing header %s', async (name) => {
    for (const gone of [undefined, null, '', '  ', []]) {
      const error = await refused(body, { ...headers(), [name]: gone }, secret);
      expect(error).toMatchObject({ reason: 'header', message: expect.stringContaining(`${name} is missing`) });
    }
  });

  test.each(['webhook-id', 'webhook-timestamp'])('refuses a %s with two values', async (name) => {
    const error = await refused(body, [...entries, [name.toUpperCase(), '5']], secret);
    expect(error).toMatchObject({ reason: 'header', message: expect.stringContaining(`${name} is there twice`) });
  });

  test('says what headers must be', async () => {
    for (const given of [null, undefined, 5, 'webhook-id: msg_1', ['webhook-id', 'msg_1'], new Request('http://localhost')]) {
      expect((await refused(body, given, secret)).reason).toBe('header');
    }
    expect((await refused(body, Promise.resolve(headers()), secret)).message).toContain('await');
  });

  test.each(['v1a,abc', 'v2,abc', 'abc', 'v1', 'v1,', 'v1,é', sign().slice(3)])('finds no signature in %s', async (signature) => {
    const error = await refused(body, headers(signature), secret);
    expect(error).toMatchObject({ reason: 'header', message: expect.stringContaining('v1,') });
  });

  test('says what to do with a parsed body', async () => {
    for (const given of [JSON.parse(body), null, undefined, 5, [body]]) {
      const error = await refused(given, headers(), secret);
      expect(error).toMatchObject({ reason: 'body', message: expect.stringContaining('bytes that were received') });
    }
    expect((await refused(Promise.resolve(body), headers(), secret)).message).toContain('await');
  });

  test('refuses a body that was printed again or changed', async () => {
    for (const given of [JSON.stringify(JSON.parse(body)), `${body}\n`, '', body.replace('r1', 'r2')]) {
      const error = await refused(given, headers(), secret);
      expect(error).toMatchObject({ reason: 'no_match', message: expect.stringContaining('printed again') });
    }
  });

  test('checks the id and the time as well', async () => {
    expect((await refused(body, { ...headers(), 'webhook-id': 'msg_2' }, secret)).reason).toBe('no_match');
    expect((await refused(body, { ...headers(), 'webhook-timestamp': `${now + 1}` }, secret)).reason).toBe('no_match');
    for (const signature of [sign().slice(0, -2), `${sign()}=`, `v1,${key.toString('base64')}`]) {
      expect((await refused(body, headers(signature), secret)).reason).toBe('no_match');
    }
  });

  // An empty key, or one byte of a secret that was cut, would let anybody sign.
  test.each<[Anything]>([
    [''],
    ['whsec_'],
    ['\n'],
    [null],
    [undefined],
    [5],
    [[]],
    [[secret, '']],
    [[secret, undefined]],
    ['whsec_!!!!'],
    [`${secret}!`],
    [`v1,${secret}`],
    [secret.slice(0, 20)],
    [`whsec_${Buffer.alloc(23).toString('base64')}`],
  ])('refuses the secret %j', async (given) => {
    for (const signature of [sign(), sign(Buffer.alloc(0))]) {
      const error = await refused(body, headers(signature), given);
      expect(error).toMatchObject({ reason: 'secret', message: expect.stringContaining('whsec_') });
    }
  });

  test.each([
    '{"type": "run.teleported", "timestamp": "2026-02-02T09:30:00Z", "data": {"run_id": "r1", "url": "u"}}',
    '{"type": "run.teleported", "data": {"run_id": "r1"}, "more": 1}',
  ])('returns an unknown type: %s', async (text) => {
    expect(await accepted(text, headers(sign(key, text)))).toEqual(JSON.parse(text));
  });

  test.each(['', '[]', '5', '{}', 'null', '{"type": 5, "data": {}}', Buffer.from([0xff])])(
    'refuses a signed body that is %j',
    async (text) => {
      const error = await refused(text, headers(sign(key, text)), secret);
      expect(error).toMatchObject({ reason: 'body', message: expect.stringContaining('signature is right') });
    },
  );

  test('takes the headers that Node makes of two', async () => {
    const server = createServer((req, res) => res.end(JSON.stringify(req.headers))).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const sending = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', method: 'POST' });
    for (const [name, value] of entries) {
      sending.setHeader(name, name === 'webhook-signature' ? [sign(oldKey), value] : [value, value]);
    }
    sending.end();
    const [response] = await once(sending, 'response');
    const chunks: Buffer[] = [];
    for await (const chunk of response) {
      chunks.push(chunk);
    }
    server.close();
    const got = JSON.parse(Buffer.concat(chunks).toString()) as IncomingHttpHeaders;
    expect(got['webhook-id']).toBe('msg_1, msg_1');
    expect((await accepted(body, got)).data.run_id).toBe('r1');
  });
});
