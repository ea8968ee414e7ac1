import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';
import { compress } from './build/compress.ts';
import { fontLicense } from './build/license.ts';

/** The server that `npm run dev` passes the API's requests on to. */
const server = process.env.PENSTOCK_URL ?? 'http://127.0.0.1:8080';

export default defineConfig({
  plugins: [react(), fontLicense(), compress()],
  resolve: {
    alias: { '@penstock/sdk': fileURLToPath(new URL('../sdk/typescript/src/index.ts', import.meta.url)) },
  },
  build: {
    outDir: 'dist',
    target: 'es2023',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'], // have light-dark()
    assetsInlineLimit: 0, // a data: URL is no file of this server
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': server, '/docs': server } },
  test: {
    environment: 'node',
    include: ['src/**/*.test.{ts,tsx}'],
    restoreMocks: true,
    reporters: process.env.CI ? ['default'] : ['dot'],
  },
});
