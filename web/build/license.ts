import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Plugin } from 'vite';

/** Puts the license of the font beside it, as the license demands. Settings links to it. */
export function fontLicense(): Plugin {
  let root = '';
  return {
    name: 'penstock-font-license',
    apply: 'build',
    configResolved(config) {
      root = config.root;
    },
    generateBundle() {
      const source = readFileSync(path.join(root, 'node_modules/@fontsource-variable/inter/LICENSE'), 'utf8');
      this.emitFile({ type: 'asset', fileName: 'assets/inter-license.txt', source });
    },
  };
}
