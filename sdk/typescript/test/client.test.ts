import { describe, expect, test, vi } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { APIConnectionError, ConflictError, InternalServerError, Penstock, PenstockError, RateLimitError, version } from '../src/index.js';
import { events, problem, TestTransport } from '../src/testing.js';

const run = { run_id: 'r1', state: 'SUCCEEDED' } as const;
const unavailable = () => problem(503, 'resource_unavailable');
const keysOf = (server: TestTransport) => server.requests.map((request) => request.headers.get('Idempotency-Key'));

describe('a request that failed', () => {
  test('is sent twice more, under the same key', async () => {
    const server = new TestTransport().on('POST /agent/runs', unavailable(), problem(429, 'rate_limited'), run);
    expect(await server.client().runs.create({ prompt: 'x' })).toEqual(run);
    const [first, ...others] = keysOf(server);
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(others).toEqual([first, first]);
  });

  test('is given up after the last try, with the last error', async () => {
    const server = new TestTransport().on('GET /agent/runs/{runId}', unavailable(), unavailable(), problem(500, 'internal_error'));
    await expect(server.client().runs.get('r1')).rejects.toMatchObject({ name: 'InternalServerError', statusCode: 500 });
    expect(server.requests).toHaveLength(3);
  });

  test.each([
    ['of the client', { maxRetries: 4 }, {}, 5],
    ['of the call, which wins', { maxRetries: 4 }, { maxRetries: 1 }, 2],
    ['none', { maxRetries: 0 }, {}, 1],
  ])('is sent as often as it is said: %s', async (_, options, call, want) => {
    const server = new TestTransport().on('GET /me', unavailable());
    await expect(server.client(options).me.get(call)).rejects.toThrow(InternalServerError);
    expect(server.requests).toHaveLength(want);
  });

  test.each([
    ['408 is sent again', problem(408, 'infrastructure_timeout'), 2],
    ['409 is not', problem(409, 'conflict'), 1],
    ['409 whose sender asks for it is', problem(409, 'conflict', '', { shouldRetry: true }), 2],
    ['503 whose sender asks not to is not', problem(503, 'resource_unavailable', '', { shouldRetry: false }), 1],
    ['400 is not', problem(400, 'invalid_request'), 1],
    ['502 of a proxy is', new Response('<h1>Bad Gateway</h1>', { status: 502, headers: { 'Retry-After': '0' } }), 2],
    ['429 that asks for more patience than a minute is not', problem(429, 'rate_limited', '', { retryAfter: 61 }), 1],
  ])('with %s', async (_, response, want) => {
    const server = new TestTransport().on('POST /agent/runs', response, run);
    await server
      .client()
      .runs.create({ prompt: 'x' })
      .catch(() => undefined);
    expect(server.requests).toHaveLength(want);
  });

  test.each([
    ['PUT', (c: Penstock) => c.secrets.set('X', { value: 'v' })],
    ['PATCH', (c: Penstock) => c.factories.update('f', { name: 'n' })],
    ['DELETE', (c: Penstock) => c.secrets.delete('X')],
    ['POST that knows no idempotency key', (c: Penstock) => c.session.create({ api_key: 'psk_x' })],
  ])('is not sent again when that could do it twice: %s', async (_, call) => {
    const server = new TestTransport()
      .on('PUT /secrets/{secretName}', unavailable())
      .on('PATCH /factory/{factoryUid}', unavailable())
      .on('DELETE /secrets/{secretName}', unavailable())
      .on('POST /session', unavailable());
    await expect(call(server.client())).rejects.toThrow(InternalServerError);
    expect(keysOf(server)).toEqual([null]);
  });

  test('waits for as long as the server asks, or longer each time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const lost = () => {
        throw new TypeError('fetch failed');
      };
      const server = new TestTransport().on('GET /me', problem(503, 'resource_unavailable', '', { retryAfter: 7 }), lost, lost, {});
      const times: number[] = [];
      let now = 0;
      const calling = server.client({ maxRetries: 3 }).me.get();
      while (server.requests.length < 4) {
        await vi.advanceTimersByTimeAsync(10);
        now += 10;
        if (server.requests.length > times.length + 1) {
          times.push(now);
          now = 0;
        }
      }
      await calling;
      expect(times[0]).toBe(7_000);
      expect(times[1]).toBeGreaterThanOrEqual(500);
      expect(times[1]).toBeLessThanOrEqual(1_010);
      expect(times[2]).toBeGreaterThanOrEqual(1_000);
      expect(times[2]).toBeLessThanOrEqual(2_010);
    } finally {
      vi.useRealTimers();
    }
  });

  test('is not sent again once its caller has aborted', async () => {
    const abort = new AbortController();
    const server = new TestTransport().on('GET /me', () => {
      queueMicrotask(() => abort.abort(new Error('enough')));
      return problem(503, 'resource_unavailable', '', { retryAfter: 60 });
    });
    await expect(server.client().me.get({ signal: abort.signal })).rejects.toThrow('enough');
    expect(server.requests).toHaveLength(1);
  });

  test('of the caller under a key of its own keeps that', async () => {
    const server = new TestTransport().on('POST /agent/runs/{runId}/cancel', unavailable(), 'r1');
    expect(await server.client().runs.cancel('r1', {}, { idempotencyKey: 'mine' })).toBe('r1');
    expect(keysOf(server)).toEqual(['mine', 'mine']);
  });
});

describe('wrong arguments are found before anything is sent:', () => {
  const wrong = (value: unknown) => value as never;
  test.each<[string, (c: Penstock) => PromiseLike<unknown>, string]>([
    ['an empty id', (c) => c.runs.get(''), 'runId must be a string that is not empty'],
    ['an id that is a step in the path', (c) => c.runs.cancel('..'), 'runId must be'],
    ['an id that is none', (c) => c.runs.get(wrong(undefined)), 'runId must be'],
    ['an id that is a number', (c) => c.schedules.delete(wrong(7)), 'scheduleId must be'],
    ['the second id', (c) => c.webhooks.get('f', ''), 'webhookUid must be'],
    ['an id to wait for', (c) => c.runs.wait(''), 'runId must be'],
    ['a run to wait for', (c) => c.runs.wait(wrong(null)), 'runId must be'],
    ['an id to watch', (c) => c.runs.events('')[Symbol.asyncIterator]().next(), 'runId must be'],
    ['no body', (c) => c.runs.create(wrong(undefined)), 'the body must be an object'],
    ['a body that is a text', (c) => c.runs.create(wrong('Fix it')), 'the body must be an object'],
    ['a body that is a list', (c) => c.schedules.create(wrong([])), 'the body must be an object'],
    [
      'a body without what a run needs',
      (c) => c.runs.create(wrong({ titel: 'x' })),
      'one of prompt, skill, conversation_id, config is required',
    ],
    ['a field that is missing', (c) => c.schedules.create(wrong({ name: 'x' })), 'cron_schedule is required'],
    ['a parameter that is missing', (c) => c.runs.findByExternalReference(wrong({})), 'url is required'],
    ['a parameter that is misspelled', (c) => c.runs.list(wrong({ states: 'QUEUED' })), 'there is no parameter states'],
    ['a query that is none', (c) => c.runs.list(wrong('QUEUED')), 'the query must be an object'],
    ['a timeout of 0', (c) => c.me.get({ timeout: 0 }), 'timeout must be'],
    ['a timeout that is a text', (c) => c.me.get({ connectTimeout: wrong('60s') }), 'connectTimeout must be'],
    ['half a retry', (c) => c.me.get({ maxRetries: 1.5 }), 'maxRetries must be'],
    ['a key that no header can hold', (c) => c.runs.create({ prompt: 'x' }, { idempotencyKey: 'a\nb' }), 'idempotencyKey must have'],
    ['a path that is another host', (c) => c.get('//evil.example.com/'), 'the path must begin with one /'],
    ['a URL in place of a path', (c) => c.post('https://evil.example.com/'), 'the path must begin with one /'],
    ['a wait of no time', (c) => c.runs.wait('r1', { timeout: -1 }), 'timeout must be'],
  ])('%s', async (_, call, message) => {
    const server = new TestTransport();
    const error = await call(server.client()).then(undefined, (error: unknown) => error);
    expect(error).toBeInstanceOf(PenstockError);
    expect(String(error)).toContain(message);
    expect(server.requests).toEqual([]);
  });

  test.each<[string, ConstructorParameters<typeof Penstock>[0], string]>([
    ['no key', {}, 'no API key'],
    ['an empty key', { apiKey: '' }, 'no API key'],
    ['a key of two lines', { apiKey: 'psk_secret\npsk_other' }, 'apiKey contains invalid characters'],
    ['a key of white space', { apiKey: '\r\n' }, 'no API key'],
    ['a URL that is none', { apiKey: 'k', baseURL: 'penstock.example.com' }, 'baseURL must be'],
    ['a URL with a password', { apiKey: 'k', baseURL: 'https://u:p@penstock.example.com' }, 'baseURL must be'],
    ['a URL of another kind', { apiKey: 'k', baseURL: 'ftp://penstock.example.com' }, 'baseURL must be'],
    ['a URL that is relative to nothing', { apiKey: 'k', baseURL: '/' }, 'works only on a web page'],
    ['a key in the clear', { apiKey: 'k', baseURL: 'http://penstock.example.com' }, 'unencrypted'],
    ['no time', { apiKey: 'k', timeout: 0 }, 'timeout must be'],
    ['retries without a number', { apiKey: 'k', maxRetries: Number.NaN }, 'maxRetries must be'],
  ])('%s', (_, options, message) => {
    vi.stubEnv('PENSTOCK_API_KEY', '');
    vi.stubEnv('PENSTOCK_BASE_URL', '');
    const error = (() => {
      try {
        return new Penstock(options);
      } catch (error) {
        return error;
      }
    })();
    expect(error).toBeInstanceOf(PenstockError);
    expect(String(error)).toContain(message);
    expect(String(error)).not.toContain('psk_secret');
  });
});

describe('a client', () => {
  test.each(['https://penstock.example.com', 'https://penstock.example.com/', 'https://penstock.example.com/api/v1/'])(
    'finds the API of %s',
    async (baseURL) => {
      const urls: string[] = [];
      const server = new TestTransport().on('GET /me', {});
      const fetch: TestTransport['fetch'] = (url, init) => {
        urls.push(url);
        return server.fetch(url, init);
      };
      await new Penstock({ baseURL, apiKey: 'k', fetch }).me.get();
      expect(urls).toEqual(['https://penstock.example.com/api/v1/me']);
    },
  );

  test.each(['psk_key\n', 'psk_key\r\n', ' psk_key', '\ufeffpsk_key\n'])('takes the key %j as a file holds it', async (apiKey) => {
    const asked: (string | null)[] = [];
    const fetch: TestTransport['fetch'] = async (_url, init) => {
      asked.push(new Headers(init.headers).get('Authorization'));
      return Response.json({});
    };
    await new Penstock({ apiKey, baseURL: 'https://penstock.example.com', fetch }).me.get();
    expect(asked).toEqual(['Bearer psk_key']);
  });

  test('takes key and URL from the environment', async () => {
    vi.stubEnv('PENSTOCK_API_KEY', 'psk_env');
    vi.stubEnv('PENSTOCK_BASE_URL', 'https://env.example.com');
    const asked: [string, string | null][] = [];
    const fetch: TestTransport['fetch'] = async (url, init) => {
      asked.push([url, new Headers(init.headers).get('Authorization')]);
      return Response.json({});
    };
    await new Penstock({ fetch }).me.get();
    expect(asked).toEqual([['https://env.example.com/api/v1/me', 'Bearer psk_env']]);
  });

  test('sends headers of its own, those of the call first, and no key where there is none', async () => {
    const server = new TestTransport().on('GET /me', {});
    const client = server.client({ apiKey: null, defaultHeaders: { 'X-Penstock-Session-Secret': 'c', 'X-A': 'client', 'X-B': 'client' } });
    await client.me.get({ headers: { 'X-A': 'call', 'X-B': null } });
    const { headers } = server.requests[0] ?? { headers: new Headers() };
    expect(['Authorization', 'X-Penstock-Session-Secret', 'X-A', 'X-B'].map((name) => headers.get(name))).toEqual([
      null,
      'c',
      'call',
      null,
    ]);
    expect(headers.get('User-Agent')).toBe(`penstock-typescript/${manifest.version}`);
    expect(version).toBe(manifest.version);
  });

  test('writes null, and leaves out what is undefined', async () => {
    const server = new TestTransport().on('PATCH /factory/{factoryUid}', {});
    await server.client().factories.update('f', { description: null, alias: undefined });
    expect(server.requests[0]?.body).toEqual({ description: null });
  });

  test('keeps fields and values that it does not know', async () => {
    const response = { ...run, state: 'PAUSED', brand_new: { nested: [1] } };
    const server = new TestTransport().on('GET /agent/runs/{runId}', response);
    const got = await server.client().runs.get('r1');
    expect(got).toEqual(response);
    expect(got.state === 'PAUSED').toBe(true);
  });

  test('writes what a path or a query may not hold', async () => {
    const server = new TestTransport().on('GET /secrets/{secretName}', {}).on('GET /agent/runs', { runs: [] });
    const client = server.client();
    await client.secrets.get('a/b?c#d');
    await client.runs.list({ q: 'ä&b=c', metadata: { 'a.b': 'c d' } }, { query: { newer: true } });
    expect(server.requests[0]?.args).toEqual({ secretName: 'a/b?c#d' });
    expect([...(server.requests[1]?.query ?? [])]).toEqual([
      ['q', 'ä&b=c'],
      ['metadata[a.b]', 'c d'],
      ['newer', 'true'],
    ]);
    await client.get('/agent/runs?limit=5', { query: { q: 'a b' } });
    expect(server.requests[2]?.query.toString()).toBe('limit=5&q=a+b');
  });

  test('hands on more options of fetch', async () => {
    const seen: RequestInit[] = [];
    const fetch: TestTransport['fetch'] = async (_, init) => {
      seen.push(init);
      return Response.json({});
    };
    await new TestTransport().client({ fetch, fetchOptions: { credentials: 'include' } }).me.get();
    expect(seen[0]).toMatchObject({ credentials: 'include', method: 'GET', redirect: 'manual' });
  });

  test('stops at a cursor that leads to its own page', async () => {
    const server = new TestTransport().on('GET /agent/runs', { runs: [], page_info: { has_next_page: true, next_cursor: 'c' } });
    const reading = (async () => {
      for await (const _ of server.client().runs.list()) {
        // none
      }
    })();
    await expect(reading).rejects.toThrow('the same page again');
  });

  test('logs what it does, and nothing that is secret', async () => {
    const lines: string[] = [];
    const log = (message: string, facts: object) => {
      lines.push(JSON.stringify([message, facts]));
    };
    const server = new TestTransport()
      .on('PUT /secrets/{secretName}', {})
      .on('GET /downloads/{token}', new Response('x'))
      .on('POST /agent/runs', unavailable(), run)
      .on('GET /me', () => {
        throw new TypeError('fetch failed');
      });
    const client = server.client({ apiKey: 'psk_hidden', logger: { debug: log, info: log } });
    await client.secrets.set('NAME', { value: 'hidden-value' });
    await client.downloads.get('hidden-token');
    await client.get('/downloads/hidden-token?x=hidden-query');
    await client.runs.create({ prompt: 'hidden-prompt' }, { headers: { 'X-Own': 'hidden-header' }, idempotencyKey: 'hidden-key' });
    await expect(client.me.get({ maxRetries: 1 })).rejects.toThrow(APIConnectionError);

    expect(lines.join('\n')).not.toContain('hidden');
    expect(lines).toContain('["penstock: request",{"method":"PUT","path":"/secrets/{secretName}"}]');
    expect(lines).toContain(
      '["penstock: trying again",{"method":"POST","path":"/agent/runs","after_ms":0,"reason":"503 resource_unavailable"}]',
    );
    expect(lines.some((line) => line.includes('"reason":"APIConnectionError"'))).toBe(true);
    expect(lines.some((line) => line.includes('"status":200') && line.includes('"request_id":"test-1"'))).toBe(true);
  });

  test('follows no link from TLS into the clear', async () => {
    const leak = new Response(null, { status: 302, headers: { Location: 'http://store.example.com/object' } });
    const server = new TestTransport().on('GET /agent/artifacts/{artifactUid}/download', leak);
    const client = server.client({ baseURL: 'https://penstock.example.com' });
    await expect(client.artifacts.download('a')).rejects.toThrow("the server's link leads to http://store.example.com");
  });
});

describe('a wait', () => {
  test('asks from time to time where no stream can be had', async () => {
    const server = new TestTransport()
      .on('GET /agent/runs/{runId}', { ...run, state: 'QUEUED' }, { ...run, state: 'INPROGRESS' }, run)
      .on('GET /agent/runs/{runId}/events', problem(404, 'resource_not_found'));
    expect(await server.client().runs.wait('r1', { pollInterval: 1 })).toEqual(run);
    expect(server.requests.map((request) => request.path.split('/').length)).toEqual([4, 5, 4, 4]);
  });

  test('outlasts a server that is away for some tries', async () => {
    const away = Array.from({ length: 6 }, unavailable);
    const server = new TestTransport()
      .on('GET /agent/runs/{runId}', { ...run, state: 'INPROGRESS' }, ...away, run)
      .on('GET /agent/runs/{runId}/events', unavailable());
    expect(await server.client().runs.wait('r1', { pollInterval: 1 })).toEqual(run);
    const gone = new TestTransport().on('GET /agent/runs/{runId}', ...away, run);
    await expect(gone.client().runs.wait('r1')).rejects.toThrow(InternalServerError);
    expect(gone.requests).toHaveLength(3);
  });

  test('goes on after the last event when a follow-up has taken the run up again', async () => {
    const done = { event: 'done', data: { state: 'SUCCEEDED', execution_id: 1 } } as const;
    const message = { id: 7, event: 'usage', data: {} } as const;
    const server = new TestTransport()
      .on('GET /agent/runs/{runId}', { ...run, state: 'INPROGRESS' }, { ...run, state: 'QUEUED' }, run)
      .on('GET /agent/runs/{runId}/events', events([message, done]), events([{ ...message, id: 9 }, done]));
    expect(await server.client().runs.wait('r1')).toEqual(run);
    expect(server.requests.map((request) => request.query.get('after'))).toEqual([null, '0', null, '7', null]);
  });
});

describe('the test transport', () => {
  test('reports a request without a response at once', async () => {
    const server = new TestTransport();
    await expect(server.client().me.get()).rejects.toThrow('no response is configured for GET /me');
    expect(server.requests).toHaveLength(1);
  });

  test('responds with errors, and the newest route wins', async () => {
    const server = new TestTransport()
      .on('POST /agent/runs', run)
      .on('POST /agent/runs', (request) => problem(409, 'conflict', `about ${JSON.stringify(request.body)}`));
    const error = await server
      .client()
      .runs.create({ prompt: 'x' })
      .catch((error: unknown) => error);
    expect(error).toBeInstanceOf(ConflictError);
    expect(String(error)).toBe('ConflictError: Conflict: about {"prompt":"x"}');
    expect(problem(429, 'rate_limited').headers.get('Retry-After')).toBe('0');
    await expect(server.on('GET /me', problem(429, 'rate_limited')).client({ maxRetries: 0 }).me.get()).rejects.toThrow(RateLimitError);
  });

  test('responds late, and notices an abort', async () => {
    const server = new TestTransport().on('GET /me', () => new Promise<never>(() => undefined));
    await expect(server.client().me.get({ timeout: 10, maxRetries: 0 })).rejects.toThrow('no response within 10 ms');
  });
});
