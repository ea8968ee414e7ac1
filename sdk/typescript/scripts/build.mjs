// Builds dist: the package as ES modules and as CommonJS, each with its types.
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const root = new URL('../', import.meta.url);
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

rmSync(new URL('dist', root), { recursive: true, force: true });
for (const kind of ['esm', 'cjs']) {
  execFileSync(process.execPath, [tsc, '-p', `tsconfig.${kind}.json`], { cwd: fileURLToPath(root), stdio: 'inherit' });
}
writeFileSync(new URL('dist/cjs/package.json', root), '{ "type": "commonjs" }\n');
