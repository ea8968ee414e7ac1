import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** What `make test` leaves out: measures of the pages, and notifications, which need the full browser. */
const measured = ['clicks', 'layout', 'long-run', 'notifications', 'on-call'].map((name) => `**/${name}.e2e.ts`);

export default defineConfig({
  resolve: { alias: { '@penstock/sdk': fileURLToPath(new URL('../../sdk/typescript/src/index.ts', import.meta.url)) } },
  test: {
    root: fileURLToPath(new URL('.', import.meta.url)),
    include: ['**/*.e2e.ts'],
    exclude: process.env.PENSTOCK_TEST_SHORT ? measured : [],
    pool: 'forks',
    isolate: false, // nothing is left in a module; to load them takes longer than many tests
    maxWorkers: 4, // each has a server and a browser
    testTimeout: 600_000, // a machine that is busy is no reason to fail
    hookTimeout: 600_000,
    expect: { poll: { timeout: 180_000, interval: 50 } },
    reporters: process.env.CI ? ['default'] : ['tree'],
  },
});
