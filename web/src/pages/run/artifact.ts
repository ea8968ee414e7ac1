import type { ArtifactItem } from '@penstock/sdk';

/** The common fields of all kinds of artifacts. */
export interface Artifact {
  uid: string | undefined;
  type: string;
  name: string;
  url: string | undefined;
  mimeType: string | undefined;
  size: number | undefined;
  description: string | undefined;
  createdAt: string | undefined;
  /** Of a pull request: who says that it exists. */
  source: string | undefined;
}

export type PreviewKind = 'plan' | 'image' | 'markdown' | 'text';

/** Larger files can only be downloaded. */
const largest = 1_000_000;
const largestImage = 20_000_000;

/** Image types that cannot contain scripts. */
const images = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);
const texts = /^(text\/|application\/(json|x-ndjson|xml|yaml|x-yaml|toml|javascript|x-sh|sql)$)|\+(json|xml|yaml)$/;

/** A pull request that the agent reports may not exist. Older servers do not say. */
const sources = new Map<unknown, string>([
  [true, 'seen by the proxy'],
  [false, 'reported by the agent or a client'],
]);

/** Reads an artifact of any kind, also of unknown ones. */
export function artifactOf(item: ArtifactItem): Artifact {
  const { data = {}, created_at } = item as { data?: Record<string, unknown>; created_at?: string };
  const text = (name: string): string | undefined => (typeof data[name] === 'string' && data[name] ? data[name] : undefined);
  return {
    uid: text('artifact_uid'),
    type: item.artifact_type,
    name: text('title') ?? text('filename') ?? text('branch') ?? text('url') ?? text('document_uid') ?? item.artifact_type,
    url: text('url'),
    mimeType: text('mime_type')?.split(';', 1)[0]?.trim().toLowerCase(),
    size: typeof data.size_bytes === 'number' ? data.size_bytes : undefined,
    description: text('description'),
    createdAt: created_at,
    source: sources.get(data.observed),
  };
}

/** The way to show an artifact, or undefined. HTML and SVG are shown as text. */
export function previewOf({ uid, type, mimeType = '', size = 0 }: Artifact): PreviewKind | undefined {
  if (!uid) {
    return undefined;
  }
  if (type === 'PLAN') {
    return 'plan';
  }
  if (images.has(mimeType)) {
    return size <= largestImage ? 'image' : undefined;
  }
  if (!texts.test(mimeType) || size > largest) {
    return undefined;
  }
  return mimeType === 'text/markdown' ? 'markdown' : 'text';
}
