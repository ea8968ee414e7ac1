import type { ArtifactItem } from '@penstock/sdk';
import { expect, test } from 'vitest';
import { artifactOf, previewOf } from './artifact.ts';

const file = (mime_type: string, size_bytes = 10): ArtifactItem =>
  ({
    artifact_type: 'FILE',
    created_at: '2026-02-02T12:00:00Z',
    data: { artifact_uid: 'u', filename: 'f', filepath: 'f', mime_type, size_bytes },
  }) as ArtifactItem;

test.each([
  ['text/markdown; charset=utf-8', 10, 'markdown'],
  ['text/plain', 10, 'text'],
  ['text/html', 10, 'text'],
  ['image/svg+xml', 10, 'text'],
  ['application/json', 10, 'text'],
  ['application/vnd.api+json', 10, 'text'],
  ['image/png', 10, 'image'],
  ['IMAGE/PNG', 10, 'image'],
  ['application/pdf', 10, undefined],
  ['text/plain', 2_000_000, undefined],
])('%s of %d bytes is shown as %s', (mimeType, size, want) => {
  expect(previewOf(artifactOf(file(mimeType, size)))).toBe(want);
});

test('what has no bytes has no preview, and a kind that is newer than this page a name', () => {
  const pull = {
    artifact_type: 'PULL_REQUEST',
    created_at: '2026-02-02T12:00:00Z',
    data: { branch: 'fix', url: 'https://example.com/1' },
  } as ArtifactItem;
  expect(artifactOf(pull)).toMatchObject({ name: 'fix', url: 'https://example.com/1', uid: undefined });
  expect(previewOf(artifactOf(pull))).toBeUndefined();
  const observed = (value?: boolean) => artifactOf({ ...pull, data: { branch: 'fix', observed: value } } as unknown as ArtifactItem).source;
  expect([observed(true), observed(false), observed()]).toEqual(['seen by the proxy', 'reported by the agent or a client', undefined]);
  expect(artifactOf({ artifact_type: 'HOLOGRAM' } as unknown as ArtifactItem)).toMatchObject({ name: 'HOLOGRAM', uid: undefined });
});
