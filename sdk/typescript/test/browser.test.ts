import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { build } from 'esbuild';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { root } from './install.js';
import { want } from './scenario.js';
import { Server } from './server.js';

const executablePath = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(existsSync);
if (!executablePath && process.env.CI) {
  throw new Error('Chromium is missing: scripts/need chromium');
}

const project = inject('project');

describe.skipIf(!executablePath)('in Chromium', () => {
  let penstock: Server;
  let browser: Browser;
  let bundle = '';
  let origin = '';
  /** What other hosts than the server were asked. */
  const strayed: IncomingMessage[] = [];

  // The page's own origin: it has the page, the bundle, and passes /api on to the server.
  const pages = createServer((incoming: IncomingMessage, response: ServerResponse) => {
    if (incoming.url?.startsWith('/api/')) {
      const { host: _, ...headers } = incoming.headers;
      const passed = request(`${penstock.url}${incoming.url}`, { method: incoming.method ?? 'GET', headers }, (upstream) => {
        response.writeHead(upstream.statusCode ?? 502, upstream.headers);
        upstream.pipe(response);
      });
      incoming.pipe(passed);
      return;
    }
    const isScript = incoming.url === '/sdk.js';
    response.writeHead(200, { 'Content-Type': isScript ? 'text/javascript' : 'text/html' });
    response.end(isScript ? bundle : '<!doctype html><title>a page</title><link rel="icon" href="data:,"><script src="/sdk.js"></script>');
  });

  // Another host, to which the server's own redirects lead.
  const others = createServer((incoming, response) => {
    const cors = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Headers': '*, Authorization, Idempotency-Key, X-Request-Id' };
    if (incoming.url?.startsWith('/api/') && incoming.method !== 'OPTIONS') {
      response.writeHead(302, { ...cors, Location: `http://localhost:${(others.address() as AddressInfo).port}/object` }).end();
      return;
    }
    if (incoming.method !== 'OPTIONS') {
      strayed.push(incoming);
    }
    response.writeHead(200, cors).end('object');
  });

  beforeAll(async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `export * from '@penstock/sdk'; export { scenario } from ${JSON.stringify(`${root}/test/scenario.ts`)};`,
        resolveDir: project,
      },
      bundle: true,
      format: 'iife',
      globalName: 'penstock',
      write: false,
    });
    bundle = outputFiles[0]?.text ?? '';
    for (const server of [pages, others]) {
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    }
    origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
    penstock = await Server.start({ args: ['--cors-origin', origin] });
    browser = await chromium.launch({ ...(executablePath ? { executablePath } : {}), args: ['--no-sandbox'] });
  });

  afterAll(async () => {
    await browser?.close();
    for (const server of [pages, others]) {
      server.closeAllConnections();
      server.close();
    }
    await penstock?.remove();
  });

  const open = async (): Promise<Page> => {
    const page = await browser.newPage();
    await page.goto(origin);
    return page;
  };

  // What follows is run by the page, which has the SDK as `penstock`.
  interface InPage {
    penstock: typeof import('../src/index.js') & { scenario: typeof import('./scenario.js').scenario };
  }

  test('the SDK works with a server of another origin', async () => {
    const page = await open();
    const options = { apiKey: penstock.key, baseURL: penstock.url };
    const got = await page.evaluate((options) => {
      const { penstock } = globalThis as unknown as InPage;
      return penstock.scenario(penstock, options);
    }, options);
    expect(got).toEqual(want);
  });

  test('the SDK works with the server of its own page, without a key of its own', async () => {
    const page = await open();
    const got = await page.evaluate((key) => {
      const { penstock } = globalThis as unknown as InPage;
      return penstock.scenario(penstock, { apiKey: null, defaultHeaders: { Authorization: `Bearer ${key}` } });
    }, penstock.key);
    expect(got).toEqual(want);
  });

  test('no key goes to another host, whatever redirects', async () => {
    const page = await open();
    const baseURL = `http://127.0.0.1:${(others.address() as AddressInfo).port}`;
    const got = await page.evaluate(async (baseURL) => {
      const { penstock } = globalThis as unknown as InPage;
      const defaultHeaders = { 'X-Request-Id': 'own' };
      const client = new penstock.Penstock({ apiKey: 'psk_must_not_leave', baseURL, defaultHeaders });
      const names: unknown[] = [];
      for (const call of [client.me.get(), client.runs.create({ prompt: 'x' })]) {
        names.push(await call.then(undefined, (error: unknown) => (error as Error).name));
      }
      const bytes = await client.artifacts.download('a1');
      return [...names, await bytes.text()];
    }, baseURL);
    expect(got).toEqual(['InvalidResponseError', 'InvalidResponseError', 'object']);
    expect(strayed).toHaveLength(1);
    expect(strayed[0]?.headers.authorization).toBeUndefined();
    expect(strayed[0]?.headers['x-request-id']).toBeUndefined();
  });
});
