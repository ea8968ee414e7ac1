import type { ModelInfo } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { limitRows, providersOf } from './facts.ts';

test('limits have their units', () => {
  expect(
    limitRows({ request_body_bytes: 10_485_760, run_retention_seconds: 0, idempotency_seconds: 86_400, page_size: 500, x: 'y' }),
  ).toEqual([
    { name: 'request_body_bytes', label: 'Request body', value: '10.5 MB' },
    { name: 'run_retention_seconds', label: 'Run retention', value: 'No limit' },
    { name: 'idempotency_seconds', label: 'Idempotency', value: '1 d' },
    { name: 'page_size', label: 'Page size', value: '500' },
  ]);
});

test('a provider counts the models that are available', () => {
  const model = (id: string, disable_reason?: string): ModelInfo => ({ id, ...(disable_reason ? { disable_reason } : {}) }) as ModelInfo;
  expect(providersOf([model('a/1'), model('a/2', 'ADMIN_DISABLED'), model('b/1', 'ADMIN_DISABLED')])).toEqual([
    { name: 'a', available: 1 },
    { name: 'b', available: 0 },
  ]);
});
