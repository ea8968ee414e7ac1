// @vitest-environment jsdom
import { expect, test } from 'vitest';
import { curl, quote } from './curl.ts';

test('what a shell would read is quoted', () => {
  expect(['plain-word', 'two words', `it's`, '$HOME', ''].map(quote)).toEqual(['plain-word', `'two words'`, `'it'\\''s'`, `'$HOME'`, `''`]);
});

test('a request is told as a command', () => {
  expect(curl('POST', '/agent/runs', { prompt: `it's` })).toBe(
    [
      'curl -X POST http://localhost:3000/api/v1/agent/runs',
      '-H "Authorization: Bearer $PENSTOCK_API_KEY"',
      `-H 'Content-Type: application/json'`,
      `-d '{"prompt":"it'\\''s"}'`,
    ].join(' \\\n  '),
  );
});
