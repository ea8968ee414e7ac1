// Builds dist: the package as ES modules and as CommonJS, each with its types.
import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

rmSync(`${root}/dist`, { recursive: true, force: true });
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
buildSync({
  absWorkingDir: root,
  entryPoints: readdirSync(`${root}/src`).map((name) => `src/${name}`),
  outdir: 'dist/cjs',
  format: 'cjs',
  target: 'es2022',
  sourcemap: true,
  sourcesContent: false,
});
// The declarations say the same in both: which kind they are is decided by the package.json beside them.
cpSync(`${root}/dist/esm`, `${root}/dist/cjs`, { recursive: true, filter: (name) => !/\.js(\.map)?$/.test(name) });
writeFileSync(`${root}/dist/cjs/package.json`, '{ "type": "commonjs" }\n');
