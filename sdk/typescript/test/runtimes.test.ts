import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import vm from 'node:vm';
import { build, transformSync } from 'esbuild';
import { describe, expect, inject, test } from 'vitest';
import { root, run } from './install.js';
import { want } from './scenario.js';
import { useServer } from './server.js';

const server = useServer();

const project = inject('project');
const dir = join(project, 'runtimes');
mkdirSync(dir, { recursive: true });
const scenario = transformSync(readFileSync(join(root, 'test/scenario.ts'), 'utf8'), { loader: 'ts' });
writeFileSync(join(dir, 'scenario.mjs'), scenario.code);
writeFileSync(
  join(dir, 'main.mjs'),
  `import * as sdk from '@penstock/sdk';
import { scenario } from './scenario.mjs';
console.log(JSON.stringify(await scenario(sdk)));`,
);
writeFileSync(
  join(dir, 'main.cjs'),
  `const sdk = require('@penstock/sdk');
import('./scenario.mjs').then(async ({ scenario }) => console.log(JSON.stringify(await scenario(sdk))));`,
);

/** The program that an npm package brings, for this machine. */
function binary(scope: string, path: string): string {
  const folder = join(root, 'node_modules', scope);
  return (
    readdirSync(folder)
      .map((name) => join(folder, name, path))
      .find(existsSync) ?? path
  );
}

describe('the SDK works in', () => {
  test.each([
    ['Node, as an ES module', process.execPath, ['main.mjs']],
    ['Node, as CommonJS', process.execPath, ['main.cjs']],
    ['Bun', binary('@oven', 'bin/bun'), ['main.mjs']],
    [
      'Deno',
      binary('@deno', 'deno'),
      ['run', '--no-remote', '--allow-net=127.0.0.1', '--allow-env=PENSTOCK_API_KEY,PENSTOCK_BASE_URL', 'main.mjs'],
    ],
  ])('%s', async (name, program, args) => {
    const env = { PENSTOCK_API_KEY: server().key, PENSTOCK_BASE_URL: server().url, HOME: dir, DENO_NO_UPDATE_CHECK: '1' };
    const printed = await run(program, args, env, dir);
    expect({ [name]: JSON.parse(printed) }).toEqual({ [name]: want });
  });

  test('an edge runtime, which has the web and nothing of Node', async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `import * as sdk from '@penstock/sdk'; import { scenario } from './scenario.mjs'; globalThis.main = (o) => scenario(sdk, o);`,
        resolveDir: dir,
      },
      bundle: true,
      format: 'iife',
      platform: 'browser',
      write: false,
    });
    const web = {
      AbortController,
      AbortSignal,
      Blob,
      FormData,
      Headers,
      ReadableStream,
      Response,
      TextDecoder,
      TextEncoder,
      URL,
      URLSearchParams,
    };
    const context: Record<string, unknown> = { ...web, atob, btoa, clearTimeout, crypto, fetch, performance, setTimeout };
    vm.createContext(context);
    vm.runInContext(outputFiles[0]?.text ?? '', context);
    const main = context.main as (options: object) => Promise<unknown>;
    expect({ ...((await main({ apiKey: server().key, baseURL: server().url })) as object) }).toEqual(want);
  });
});
