import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { transformSync } from 'esbuild';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { type EventEndpoint, type Penstock, verify } from '../src/index.js';
import { root } from './install.js';
import { eventually, useServer } from './server.js';

const server = useServer({ args: ['--event-private-network', '127.0.0.0/8'] });

const secretOf = (endpoint: EventEndpoint): string => {
  expect(endpoint.secrets[0]?.secret).toMatch(/^whsec_/);
  return endpoint.secrets[0]?.secret ?? '';
};

/** Causes a ping and the messages of a run, whose id it returns. */
async function pingAndRun(client: Penstock, uid: string): Promise<string> {
  await client.eventEndpoints.ping(uid);
  const { run_id } = await client.runs.create({ prompt: 'demo: say done' });
  expect((await client.runs.wait(run_id)).state).toBe('SUCCEEDED');
  return run_id;
}

/** Waits until nothing waits to be sent. */
const allSent = (client: Penstock, uid: string) =>
  eventually(async () => expect((await client.eventEndpoints.get(uid)).stats.waiting).toBe(0));

describe('a receiver of real messages', () => {
  let example: ChildProcess | undefined;
  afterEach(() => {
    example?.kill();
  });

  test('is the example', async () => {
    const code = readFileSync(join(root, '../../examples/receivers/receiver.ts'), 'utf8');
    expect(readFileSync(join(root, '../../docs/events.md'), 'utf8')).toContain(`\`\`\`ts\n${code}\`\`\``);
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as AddressInfo;
    free.close();
    const client = server().client();
    const endpoint = await client.eventEndpoints.create({ url: `http://127.0.0.1:${port}/hook?token=s3cret` });
    const dir = join(inject('project'), 'receiver');
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'endpoint.secret'), `${secretOf(endpoint)}\n`);
    writeFileSync(join(dir, 'receiver.mjs'), transformSync(code, { loader: 'ts' }).code);
    const receiver = spawn(process.execPath, ['receiver.mjs'], { cwd: dir, env: { ...process.env, PORT: `${port}` } });
    example = receiver;
    const printed = text(receiver.stdout);
    const errors = text(receiver.stderr);
    await eventually(async () => {
      const probe = connect(port, '127.0.0.1');
      await once(probe, 'connect');
      probe.destroy();
    });
    const id = await pingAndRun(client, endpoint.uid);
    await allSent(client, endpoint.uid);
    receiver.kill();
    expect(await errors).toBe('');
    for (const line of ['endpoint.ping undefined', `run.created ${id}`, `run.started ${id}`, `run.succeeded ${id}`]) {
      expect(await printed).toContain(line);
    }
    for await (const attempt of client.eventEndpoints.attempts(endpoint.uid)) {
      expect(attempt.http_status).toBe(204);
      expect(await printed).toContain(attempt.message_id);
    }
    await client.eventEndpoints.delete(endpoint.uid);
  });

  test('uses standardwebhooks, svix or verify', async () => {
    const received: { headers: IncomingHttpHeaders; body: Buffer }[] = [];
    const receiver = createServer(async (request, response) => {
      received.push({ headers: request.headers, body: await buffer(request) });
      response.writeHead(204).end();
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const client = server().client();
    const endpoint = await client.eventEndpoints.create({ url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}` });
    const old = secretOf(endpoint);
    const sent = async () => {
      await allSent(client, endpoint.uid);
      return [...received];
    };
    await pingAndRun(client, endpoint.uid);
    const before = await sent();
    const fresh = secretOf(await client.eventEndpoints.rotateSecret(endpoint.uid));
    await client.eventEndpoints.ping(endpoint.uid);
    const during = (await sent()).at(-1);
    await client.eventEndpoints.rotateSecret(endpoint.uid, { overlap_seconds: 0 });
    await client.eventEndpoints.ping(endpoint.uid);
    const after = (await sent()).at(-1);
    receiver.close();
    expect(before.length).toBeGreaterThan(3);

    const plain = (headers: IncomingHttpHeaders) => headers as Record<string, string>;
    const libraries: ((body: Buffer, headers: IncomingHttpHeaders, secret: string) => unknown)[] = [
      (body, headers, secret) => new StandardWebhook(secret).verify(body, plain(headers)),
      (body, headers, secret) => new SvixWebhook(secret).verify(body, plain(headers)),
      (body, headers, secret) => verify(body, headers, secret),
    ];
    for (const library of libraries) {
      const check = async (secret: string, message = before[0], more = '') =>
        message && library(Buffer.concat([message.body, Buffer.from(more)]), message.headers, secret);
      for (const message of before) {
        expect(await check(old, message)).toEqual(JSON.parse(message.body.toString()));
        await expect(check(old, message, ' ')).rejects.toThrow(/signature/i);
      }
      expect(await check(old, during)).toEqual(await check(fresh, during));
      await expect(check(fresh)).rejects.toThrow(/signature/i);
      await expect(check(old, after)).rejects.toThrow(/signature/i);
      await expect(check(fresh, after)).rejects.toThrow(/signature/i);
    }
  });
});
