import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  APIConnectionError,
  type APIError,
  APITimeoutError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PenstockError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from '../src/index.js';
import { Server, useServer } from './server.js';

const server = useServer({ args: ['--no-worker'] });

/** The error of a call that must fail. */
async function failure(call: PromiseLike<unknown>): Promise<unknown> {
  return call.then(
    () => {
      throw new Error('the call has succeeded');
    },
    (error: unknown) => error,
  );
}

describe('the real server provokes', () => {
  test('BadRequestError, with each field that is wrong', async () => {
    const body = { name: '', cron_schedule: 'whenever', prompt: 'x' };
    const error = await failure(server().client().schedules.create(body));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ name: 'BadRequestError', statusCode: 400, code: 'invalid_request', retryable: false });
    const { errors, requestId, detail, title, message, response } = error as BadRequestError;
    expect(errors.map((field) => field.pointer)).toEqual(expect.arrayContaining(['/name', '/cron_schedule']));
    expect(title).toBe('Invalid request');
    expect(message).toBe(`${title}: ${detail}`);
    expect(response.headers.get('X-Request-Id')).toBe(requestId);
    expect(await response.json()).toMatchObject({ status: 400, detail });
  });

  test('AuthenticationError', async () => {
    const error = await failure(server().client({ apiKey: 'psk_nobody' }).me.get());
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ statusCode: 401, code: 'authentication_required' });
  });

  test('PermissionDeniedError', async () => {
    const key = await server()
      .client()
      .keys.create({ name: 'reader', scopes: ['runs:read'] });
    const error = await failure(
      server()
        .client({ apiKey: key.key ?? '' })
        .runs.create({ prompt: 'x' }),
    );
    expect(error).toBeInstanceOf(PermissionDeniedError);
    expect(error).toMatchObject({ statusCode: 403, code: 'not_authorized', detail: expect.stringContaining('runs:write') });
  });

  test('NotFoundError', async () => {
    const error = await failure(server().client().runs.get('019c1f7e-0000-7000-8000-000000000000'));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ statusCode: 404, code: 'resource_not_found' });
  });

  test('ConflictError', async () => {
    const options = { idempotencyKey: crypto.randomUUID() };
    await server().client().runs.create({ prompt: 'one' }, options);
    const error = await failure(server().client().runs.create({ prompt: 'another' }, options));
    expect(error).toBeInstanceOf(ConflictError);
    expect(error).toMatchObject({ statusCode: 409, code: 'conflict', retryable: false });
  });

  test('UnprocessableEntityError', async () => {
    const client = server().client();
    const { run_id } = await client.runs.create({ prompt: 'x' });
    await client.runs.addArtifact(run_id, { artifact_type: 'PLAN', data: { content: '1. Look.' } });
    const { uid } = await client.factories.create({ name: 'Shop' });
    const error = await failure(client.factories.definition.apply(uid, { files: { 'factory.yaml': 'nonsense: [' } }));
    expect(error).toBeInstanceOf(UnprocessableEntityError);
    expect(error).toMatchObject({ statusCode: 422, code: 'invalid_definition' });
    expect((error as APIError).problem?.diagnostics?.length).toBeGreaterThan(0);
  });

  test('RateLimitError, which says when', async () => {
    const limited = await Server.start({ args: ['--no-worker', '--limit-requests-per-minute', '1'] });
    try {
      const client = limited.client({ maxRetries: 0 });
      await client.me.get();
      const error = await failure(client.me.get());
      expect(error).toBeInstanceOf(RateLimitError);
      expect(error).toMatchObject({ statusCode: 429, code: 'rate_limited', retryable: true });
      expect((error as RateLimitError).retryAfter).toBeGreaterThan(0);
    } finally {
      await limited.remove();
    }
  });

  test('InternalServerError, and time-out errors', async () => {
    const broken = await Server.start({ args: ['--no-worker'] });
    try {
      await broken.pause();
      const late = await failure(broken.client().me.get({ timeout: 100, maxRetries: 0 }));
      broken.resume();
      await broken.loseDatabase();
      const lost = await failure(broken.client().runs.list({}, { maxRetries: 0 }));

      expect(late).toBeInstanceOf(APITimeoutError);
      expect(late).toBeInstanceOf(APIConnectionError);
      expect(String(late)).toBe('APITimeoutError: GET /me: no response within 100 ms');
      expect(lost).toBeInstanceOf(InternalServerError);
      expect(lost).toMatchObject({ statusCode: 503, code: 'resource_unavailable', retryable: true });
    } finally {
      await broken.end('SIGKILL');
      await broken.remove();
    }
  });

  // No system gives this port to a server that asks for any. Another one could take that of a server which has ended.
  test('connection errors', async () => {
    const refused = await failure(server().client({ baseURL: 'http://127.0.0.1:61999' }).me.get({ maxRetries: 1 }));
    expect(refused).toBeInstanceOf(APIConnectionError);
    expect(refused).not.toBeInstanceOf(APITimeoutError);
    expect(String(refused)).toContain('ECONNREFUSED');
  });

  test('errors of one tree, none of which shows the key', async () => {
    const client = server().client({ maxRetries: 0 });
    const errors = [
      await failure(client.runs.get('x')),
      await failure(client.runs.get('')),
      await failure(server().client({ baseURL: 'http://127.0.0.1:1', maxRetries: 0 }).me.get()),
    ];
    for (const error of errors) {
      expect(error).toBeInstanceOf(PenstockError);
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(server().key);
    }
    expect(inspect(client, { depth: 10, showHidden: true }) + JSON.stringify(client)).not.toContain(server().key);
  });
});

describe('a response of the real server', () => {
  test('can be seen raw', async () => {
    const { data, response, requestId } = await server().client().me.get().withResponse();
    expect(response.status).toBe(200);
    expect(response.headers.get('RateLimit-Policy') ?? response.headers.get('Content-Type')).toBeTruthy();
    expect(requestId).toBe(response.headers.get('X-Request-Id'));
    expect(await response.json()).toEqual(data);
  });

  test('to a call without one is undefined', async () => {
    const client = server().client();
    await client.secrets.create({ name: 'TOKEN', value: 's3cr3t' });
    const { data, response } = await client.secrets.delete('TOKEN').withResponse();
    expect(data).toBeUndefined();
    expect(response.status).toBe(204);
  });

  test('to a call that has no method here is what it is', async () => {
    const client = server().client();
    const { run_id } = await client.post<{ run_id: string }>('/agent/runs', { prompt: 'x' });
    const run = await client.get<{ state: string }>(`/agent/runs/${run_id}`);
    const factory = await client.post<{ uid: string }>('/factory', { name: 'Other' });
    const renamed = await client.patch<{ name: string }>(`/factory/${factory.uid}`, { name: 'New' });
    const list = await client.get<{ runs: unknown[] }>('/agent/runs', { query: { limit: 1, state: ['QUEUED'] } });
    await client.post('/secrets', { name: 'RAW', value: 'u' });
    const secret = await client.put<{ name: string }>('/secrets/RAW', { value: 'v' });
    const nothing = await client.delete(`/factory/${factory.uid}`);

    expect(run.state).toBe('QUEUED');
    expect(renamed.name).toBe('New');
    expect(list.runs).toHaveLength(1);
    expect(secret.name).toBe('RAW');
    expect(nothing).toBeUndefined();
    await expect(client.get('/no/such/thing')).rejects.toThrow(NotFoundError);
  });
});
