import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

/** Smaller files are not worth a second form. */
const smallest = 1024;

/** Writes NAME.br and NAME.gz beside every asset, so that the server compresses nothing. */
export function compress(): Plugin {
  let assets = '';
  return {
    name: 'penstock-compress',
    apply: 'build',
    configResolved(config) {
      assets = path.resolve(config.root, config.build.outDir, config.build.assetsDir);
    },
    closeBundle() {
      for (const name of readdirSync(assets)) {
        const content = readFileSync(path.join(assets, name));
        if (content.length >= smallest) {
          writeFileSync(path.join(assets, `${name}.gz`), gzipSync(content, { level: 9 }));
          writeFileSync(
            path.join(assets, `${name}.br`),
            brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }),
          );
        }
      }
    },
  };
}
