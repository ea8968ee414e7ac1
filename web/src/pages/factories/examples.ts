/** An example of a factory, from the folder examples. */
export interface Example {
  folder: string;
  name: string;
  description: string;
  /** Its files by path. */
  files: Record<string, string>;
  /** The secrets that its agents and webhooks need. */
  secrets: string[];
}

const texts = import.meta.glob<string>('../../../../examples/*/factory/**/*.{md,yaml}', { query: '?raw', import: 'default', eager: true });

/** Reads examples from the texts of their files. factory.yaml has the name and the description. */
export function examplesOf(byPath: Record<string, string>): Example[] {
  const found = new Map<string, Record<string, string>>();
  for (const [path, text] of Object.entries(byPath)) {
    const [, folder, file] = /\/examples\/([^/]+)\/factory\/(.+)$/.exec(path) ?? [];
    if (folder && file) {
      found.set(folder, { ...found.get(folder), [file]: text });
    }
  }
  return [...found].map(([folder, files]) => {
    const line = (key: string): string => new RegExp(`^${key}: *(.+)$`, 'm').exec(files['factory.yaml'] ?? '')?.[1] ?? '';
    const secrets = Object.values(files).flatMap((text) =>
      [...text.matchAll(/^(?:secretName: *|secrets: *\[)([A-Z0-9_, ]+)/gm)].flatMap(([, names = '']) => names.split(/[ ,]+/)),
    );
    return {
      folder,
      name: line('name') || folder,
      description: line('description'),
      files,
      secrets: [...new Set(secrets)].filter(Boolean),
    };
  });
}

export const examples = examplesOf(texts);
