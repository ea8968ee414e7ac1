import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { describe, expect, inject, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { root, run } from './install.js';

const project = inject('project');
const installed = join(project, 'node_modules', '@penstock', 'sdk');
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

/** A folder of the project, with files. */
function folder(name: string, files: Record<string, string>): string {
  const dir = join(project, name);
  mkdirSync(dir, { recursive: true });
  for (const [file, content] of Object.entries(files)) {
    writeFileSync(join(dir, file), content);
  }
  return dir;
}

describe('the tarball', () => {
  test('has what is needed, and depends on nothing', () => {
    const packed = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as typeof manifest & { dependencies?: object };
    expect(packed.dependencies).toBeUndefined();
    for (const file of ['LICENSE', 'README.md', 'dist/esm/index.js', 'dist/esm/index.d.ts', 'dist/cjs/index.js', 'dist/cjs/testing.d.ts']) {
      expect(() => readFileSync(join(installed, file))).not.toThrow();
    }
    expect(() => readFileSync(join(installed, 'test/server.ts'))).toThrow();
  });

  const program = `
    const server = new TestTransport().on('GET /me', { team: 't_1' });
    server.client().me.get().then((me) => console.log(me.team, typeof Penstock, new PenstockError('x') instanceof Error));`;
  test.each([
    [
      'an ES module',
      'program.mjs',
      `import { Penstock, PenstockError } from '@penstock/sdk'; import { TestTransport } from '@penstock/sdk/testing';`,
    ],
    [
      'CommonJS',
      'program.cjs',
      `const { Penstock, PenstockError } = require('@penstock/sdk'); const { TestTransport } = require('@penstock/sdk/testing');`,
    ],
  ])('runs from %s', async (_, file, imports) => {
    const dir = folder('programs', { [file]: imports + program });
    expect(await run(process.execPath, [join(dir, file)])).toBe('t_1 function true\n');
  });
});

describe('the types', () => {
  const program = `
    import { Penstock, NotFoundError, type RunItem } from '@penstock/sdk';
    import { TestTransport } from '@penstock/sdk/testing';
    export async function main(client: Penstock = new TestTransport().client()): Promise<RunItem | undefined> {
      try {
        const stream: AsyncIterable<{ event: string }> = client.runs.events('r1');
        for await (const { event } of stream) { event.length; }
        return await client.runs.wait('r1');
      } catch (error) {
        if (error instanceof NotFoundError) { error.response.status.toFixed(); }
        // @ts-expect-error types are there, and not any
        return client.runs.nothing;
      }
    }`;
  test.each([
    ['Node, as ES module and CommonJS', ['main.mts', 'main.cts'], { module: 'nodenext', lib: ['es2022'], types: ['node'] }],
    ['a bundler, for pages', ['main.ts'], { module: 'esnext', moduleResolution: 'bundler', lib: ['es2022', 'dom'], types: [] }],
    ['older settings', ['main.ts'], { module: 'commonjs', moduleResolution: 'node10', lib: ['es2022', 'dom'], types: [] }],
  ])('are found by %s', async (name, files, options) => {
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      target: 'es2022',
      skipDefaultLibCheck: true,
      typeRoots: [join(root, 'node_modules/@types')],
      ...options,
    };
    const dir = folder(`types ${name}`, {
      ...Object.fromEntries(files.map((file) => [file, program])),
      'tsconfig.json': JSON.stringify({ compilerOptions, files }),
    });
    await run(process.execPath, [tsc, '-p', dir]);
  });
});

describe('a bundle for pages', () => {
  const size = async (code: string): Promise<number> => {
    const { outputFiles } = await build({
      stdin: { contents: code, resolveDir: project },
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      write: false,
    });
    return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length;
  };

  test('has less than 25 KB, minified and gzipped', async () => {
    const whole = await size(`import * as sdk from '@penstock/sdk'; console.log(sdk);`);
    expect(whole).toBeLessThan(25 * 1024);
    expect(whole).toBeGreaterThan(2 * 1024);
  });

  test('leaves out what is not used', async () => {
    expect(await size(`import { NotFoundError } from '@penstock/sdk'; console.log(NotFoundError);`)).toBeLessThan(2 * 1024);
  });
});
