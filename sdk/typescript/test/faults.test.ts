import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTLSServer } from 'node:https';
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import {
  APIConnectionError,
  APITimeoutError,
  type ClientOptions,
  InternalServerError,
  InvalidResponseError,
  Penstock,
  type RunEvent,
} from '../src/index.js';

/** Ends what a test has started. */
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) {
    end();
  }
});

async function listen(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  ends.push(() => {
    server.close();
    for (const socket of sockets) {
      socket.destroy();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that sends the given responses, and records its requests. */
async function serve(listener: RequestListener): Promise<{ url: string; asked: IncomingMessage[] }> {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    listener(request, response);
  });
  return { url: `http://${await listen(server)}`, asked };
}

const responding =
  (status: number, headers: Record<string, string>, body: string): RequestListener =>
  (_, response) => {
    response.writeHead(status, headers).end(body);
  };

const key = 'psk_must_not_leave';

function client(baseURL: string, options: ClientOptions = {}): Penstock {
  return new Penstock({ baseURL, apiKey: key, maxRetries: 0, ...options });
}

const json = { 'Content-Type': 'application/json' };
const html = { 'Content-Type': 'text/html' };
const stream = { 'Content-Type': 'text/event-stream' };

describe('a response that is not from the API', () => {
  test.each([
    ['garbage', responding(200, json, '{"uid": '), 'the response is not JSON'],
    ['a page of HTML', responding(200, html, '<h1>Welcome to the proxy</h1>'), 'text/html'],
    ['nothing', responding(200, {}, ''), 'no content type'],
    ['nothing that says it is JSON', responding(200, json, ''), 'the response is not JSON'],
    ['JSON that says it is text', responding(200, { 'Content-Type': 'text/plain' }, '{}'), 'text/plain'],
  ])('is an InvalidResponseError: %s', async (_, listener, message) => {
    const { url, asked } = await serve(listener);
    const error = await client(url, { maxRetries: 2 })
      .me.get()
      .catch((error: unknown) => error);
    expect(error).toBeInstanceOf(InvalidResponseError);
    expect(error).toMatchObject({ statusCode: 200, code: undefined, message: expect.stringContaining(message) });
    expect(asked).toHaveLength(1);
  });

  test('is an InvalidResponseError in place of a stream', async () => {
    const { url } = await serve(responding(200, json, '{}'));
    await expect(drain(client(url))).rejects.toThrow(InvalidResponseError);
  });

  test('is an InvalidResponseError inside of a stream', async () => {
    const { url } = await serve(responding(200, stream, 'id: 1\nevent: state\ndata: {nonsense\n\n'));
    await expect(drain(client(url))).rejects.toThrow('the data of event 1 (state) is not JSON');
  });

  test('is an InternalServerError with the status of one, and tried again', async () => {
    const { url, asked } = await serve((request, response) =>
      asked.length < 3
        ? responding(502, html, '<h1>Bad Gateway</h1>')(request, response)
        : responding(200, json, '{"ok":1}')(request, response),
    );
    const error = await client(url)
      .me.get()
      .catch((error: unknown) => error);
    expect(error).toBeInstanceOf(InternalServerError);
    expect(String(error)).toBe('InternalServerError: 502 <h1>Bad Gateway</h1>');
    expect(await client(url, { maxRetries: 1 }).me.get()).toEqual({ ok: 1 });
  });
});

describe('a redirect', () => {
  test.each([
    ['GET', 302, (c: Penstock) => c.me.get()],
    ['POST', 301, (c: Penstock) => c.runs.create({ prompt: 'x' })],
    ['POST', 308, (c: Penstock) => c.runs.create({ prompt: 'x' })],
    ['DELETE', 307, (c: Penstock) => c.secrets.delete('X')],
  ])('of a %s (%d) is an InvalidResponseError, and nothing goes to the other host', async (_, status, call) => {
    const other = await serve(responding(200, json, '{}'));
    const { url, asked } = await serve(responding(status, { Location: `${other.url}/api/v1/me?secret=1` }, ''));
    const error = await call(client(url)).then(undefined, (error: unknown) => error);
    expect(error).toBeInstanceOf(InvalidResponseError);
    expect(error).toMatchObject({ statusCode: status, message: expect.stringContaining(`redirects to ${other.url}/api/v1/me,`) });
    expect(asked).toHaveLength(1);
    expect(other.asked).toHaveLength(0);
  });

  test('of a stream is an InvalidResponseError', async () => {
    const other = await serve(responding(200, stream, ''));
    const { url } = await serve(responding(302, { Location: other.url }, ''));
    await expect(drain(client(url))).rejects.toThrow(InvalidResponseError);
    expect(other.asked).toHaveLength(0);
  });

  test('to a download is followed without the key, to another host as well', async () => {
    const store = await serve(responding(200, {}, 'bytes'));
    const hop = await serve(responding(302, { Location: `${store.url}/object` }, ''));
    const { url, asked } = await serve(responding(302, { Location: `${hop.url}/signed` }, ''));
    const defaultHeaders = { 'X-Penstock-Session-Secret': 'token' };
    const response = await client(url, { defaultHeaders }).artifacts.download('a1');
    expect(await response.text()).toBe('bytes');
    expect(asked[0]?.headers).toMatchObject({ authorization: `Bearer ${key}`, 'x-penstock-session-secret': 'token' });
    for (const request of [...hop.asked, ...store.asked]) {
      expect(JSON.stringify([request.headers, request.url])).not.toMatch(/psk_|token/);
    }
    expect([hop.asked.length, store.asked.length]).toEqual([1, 1]);
  });

  test.each(['file:///etc/passwd', 'data:text/plain,x', 'http://'])('to a download at %s is not followed', async (location) => {
    const { url } = await serve(responding(302, { Location: location }, ''));
    await expect(
      client(url)
        .artifacts.download('a1')
        .then((r) => r.text()),
    ).rejects.toThrow(InvalidResponseError);
  });
});

describe('a connection', () => {
  test('that is refused is an APIConnectionError', async () => {
    await expect(client('http://127.0.0.1:1').me.get()).rejects.toThrow(APIConnectionError);
  });

  test('that is reset is an APIConnectionError, and taken up again', async () => {
    const { url, asked } = await serve((request, response) => {
      if (asked.length === 1) {
        request.socket.destroy();
      } else {
        responding(200, json, '{}')(request, response);
      }
    });
    expect(await client(url, { maxRetries: 1 }).runs.create({ prompt: 'x' })).toEqual({});
    expect(asked[1]?.headers['idempotency-key']).toBe(asked[0]?.headers['idempotency-key']);
    expect(asked[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f]{32}$/);
  });

  test('with a certificate that is not trusted is an APIConnectionError', async () => {
    const pem = readFileSync(new URL('untrusted.pem', import.meta.url));
    const host = await listen(createTLSServer({ key: pem, cert: pem }, responding(200, json, '{}')));
    const error = await client(`https://${host}`)
      .me.get()
      .catch((error: unknown) => error);
    expect(error).toBeInstanceOf(APIConnectionError);
    expect(String(error)).toContain('self-signed certificate');
  });

  test('that speaks no HTTP is an APIConnectionError', async () => {
    const host = await listen(createSocketServer((socket) => socket.end('220 smtp.example.com ESMTP\r\n')));
    await expect(client(`http://${host}`).me.get()).rejects.toThrow(APIConnectionError);
  });

  test('that breaks off within the body is an APIConnectionError', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { ...json, 'Content-Length': '100' }).write('{"uid"', () => response.destroy());
    });
    await expect(client(url).me.get()).rejects.toThrow(APIConnectionError);
  });
});

describe('a server that hangs', () => {
  const started = (headers: Record<string, string>, body: string) => (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, headers).write(body);
  };

  test('before it responds is an APITimeoutError', async () => {
    const { url } = await serve(() => undefined);
    await expect(client(url, { timeout: 50 }).me.get()).rejects.toThrow(APITimeoutError);
    await expect(client(url).me.get({ connectTimeout: 50 })).rejects.toThrow('GET /me: no response within 50 ms');
  });

  test('within a response is an APITimeoutError', async () => {
    const { url } = await serve(started(json, '{"uid"'));
    await expect(client(url, { timeout: 200, connectTimeout: 150 }).me.get()).rejects.toThrow(APITimeoutError);
  });

  test('within a download is an APITimeoutError', async () => {
    const { url } = await serve(started({}, 'half'));
    const reading = client(url, { timeout: 200 })
      .deliveries.payload('f', 'w', 'd')
      .then((response) => response.text());
    await expect(reading).rejects.toThrow(APITimeoutError);
  });

  test('within a stream is an APITimeoutError', async () => {
    const { url } = await serve(started(stream, ': hello\n\n'));
    await expect(drain(client(url), { idleTimeout: 50, maxRetries: 0 })).rejects.toThrow(APITimeoutError);
  });

  test('is left when the caller aborts', async () => {
    const { url } = await serve(() => undefined);
    await expect(client(url).me.get({ signal: AbortSignal.timeout(20) })).rejects.toMatchObject({ name: 'TimeoutError' });
    await expect(client(url).me.get({ signal: AbortSignal.abort(new Error('never mind')) })).rejects.toThrow('never mind');
  });

  test('costs as much time as its tries may take', async () => {
    const { url } = await serve(() => undefined);
    const tries: string[] = [];
    const logger = { debug: (message: string) => tries.push(message), info: () => undefined };
    await expect(client(url, { timeout: 20, maxRetries: 1, logger }).me.get()).rejects.toThrow(APITimeoutError);
    expect(tries).toEqual(['penstock: request', 'penstock: request']);
  });
});

describe('a stream that breaks off', () => {
  const event = (id: number) => `id: ${id}\nevent: timeline\ndata: {"n": ${id}}\n\n`;
  const done = 'event: done\ndata: {"state": "SUCCEEDED"}\n\n';

  test('is taken up after the last event, however it was cut', async () => {
    const parts = [`${event(1)}${event(2)}id: 3\neve`, event(3).slice(0, 20), '', `${event(3)}${event(7)}`, `${event(8)}${done}`];
    const { url, asked } = await serve((_, response) => {
      response.writeHead(200, stream).write(`retry: 1\n\n${parts[asked.length - 1]}`, () => response.destroy());
    });
    const seen = await drain(client(url));
    expect(seen.map((e) => ('id' in e ? e.id : e.event))).toEqual([1, 2, 3, 7, 8, 'done']);
    expect(asked.map((request) => request.headers['last-event-id'])).toEqual([undefined, '2', '2', '2', '7']);
  });

  test('is given up after some tries without an event, and a 204 ends it', async () => {
    const { url, asked } = await serve((_, response) => {
      response.writeHead(200, stream).end(asked.length === 1 ? `retry: 1\n\n${event(1)}` : 'retry: 1\n\n');
    });
    await expect(drain(client(url), { maxRetries: 3 })).rejects.toThrow('the stream ended before the run did');
    expect(asked).toHaveLength(4);
    const over = await serve((_, response) => {
      response.writeHead(204).end();
    });
    expect(await drain(client(over.url))).toEqual([]);
  });

  test('is read whatever its line ends and chunks', async () => {
    const text = `\uFEFF: comment\r\nid: 1\r\nevent: message\r\ndata: {"text":\r\ndata: "é😀"}\r\n\r\nevent:usage\rdata:{}\r\runknown\nid\n\n${done}`;
    const bytes = Buffer.from(text);
    const { url } = await serve(async (_, response) => {
      response.writeHead(200, stream);
      for (const byte of bytes) {
        await new Promise((written) => response.write(Buffer.from([byte]), written));
      }
      response.end();
    });
    expect(await drain(client(url))).toEqual([
      { id: 1, event: 'message', data: { text: 'é😀' } },
      { event: 'usage', data: {} },
      { event: 'done', data: { state: 'SUCCEEDED' } },
    ]);
  });

  test('is given up at once when the server refuses', async () => {
    const { url, asked } = await serve((request, response) =>
      asked.length === 1
        ? responding(200, stream, `retry: 1\n\n${event(1)}`)(request, response)
        : responding(404, html, '')(request, response),
    );
    await expect(drain(client(url))).rejects.toThrow('404');
    expect(asked).toHaveLength(2);
  });
});

async function drain(client: Penstock, options: { idleTimeout?: number; maxRetries?: number } = {}): Promise<RunEvent[]> {
  const list: RunEvent[] = [];
  for await (const event of client.runs.events('r1', {}, options)) {
    list.push(event);
  }
  return list;
}
