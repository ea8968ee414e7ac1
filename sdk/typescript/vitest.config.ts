import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/install.ts'],
    // Only for what hangs: no test has a time as its point.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    unstubEnvs: true,
  },
});
