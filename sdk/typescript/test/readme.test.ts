import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { transformSync } from 'esbuild';
import { describe, expect, inject, test } from 'vitest';
import { root, run } from './install.js';
import { useServer } from './server.js';

const server = useServer();

const dir = join(inject('project'), 'readme');
mkdirSync(dir, { recursive: true });
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const snippets = [...readme.matchAll(/^## (.*)\n(?:(?!^## )[\s\S])*?^```ts\n([\s\S]*?)^```/gm)].map(([, name = '', code = '']) => ({
  name,
  code,
}));

describe('the README', () => {
  test('has every snippet here', () => {
    expect(snippets.length).toBe(readme.split('```ts\n').length - 1);
    expect(snippets.length).toBeGreaterThan(11);
  });

  test('has snippets that the type checker accepts', async () => {
    const files = snippets.map((snippet, i) => {
      writeFileSync(join(dir, `${i}.mts`), snippet.code);
      return `${i}.mts`;
    });
    const typeRoots = [join(root, 'node_modules/@types')];
    const compilerOptions = {
      strict: true,
      noEmit: true,
      target: 'es2022',
      module: 'nodenext',
      skipLibCheck: true,
      types: ['node'],
      typeRoots,
    };
    writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    await run(process.execPath, [createRequire(import.meta.url).resolve('typescript/bin/tsc'), '-p', dir]);
  });

  test.concurrent.each(snippets)('is right about: $name', async ({ name, code }) => {
    const file = join(dir, `${name.replace(/\W+/g, '-')}.mjs`);
    writeFileSync(file, transformSync(code, { loader: 'ts' }).code);
    const env = { PENSTOCK_API_KEY: server().key, PENSTOCK_BASE_URL: server().url };
    const printed = await run(process.execPath, [file], env, dir);
    const want: Record<string, RegExp> = {
      'First run': /^SUCCEEDED Look around/,
      Async: /^\[ 'SUCCEEDED', 'SUCCEEDED' \]/,
      'Watch live': /assistant says something\n[\s\S]*now SUCCEEDED\n[\s\S]*done .*\n$/,
      'Follow up and cancel': /CANCELLED\n$/,
      Errors: /^404 resource_not_found there is no run/,
      Retries: /^true\n$/,
      'Raw responses and new endpoints': /^200 true \S+ \{/,
      Webhooks: /ship|accepted|run/i,
      'Event endpoints': /^header The header webhook-id is missing/,
    };
    expect(printed).toMatch(want[name] ?? /^/);
  });
});
