import type { FileTree } from '@penstock/sdk';

/** A file or folder of a factory. */
export interface TreeNode {
  name: string;
  path: string;
  /** The entries of a folder; undefined for a file. */
  children: TreeNode[] | undefined;
}

/** Builds the file tree: files before folders, so that factory.yaml is at the top, each sorted by name. */
export function treeOf(paths: readonly string[]): TreeNode[] {
  const root: TreeNode[] = [];
  for (const path of [...paths].sort()) {
    let level = root;
    const parts = path.split('/');
    parts.forEach((name, i) => {
      const at = parts.slice(0, i + 1).join('/');
      const isFile = i === parts.length - 1;
      let node = level.find((one) => one.name === name && (one.children === undefined) === isFile);
      if (!node) {
        node = { name, path: at, children: isFile ? undefined : [] };
        level.push(node);
      }
      level = node.children ?? [];
    });
  }
  return ordered(root);
}

function ordered(nodes: TreeNode[]): TreeNode[] {
  const files = nodes.filter(({ children }) => !children);
  const folders = nodes.filter(({ children }) => children);
  return [...files, ...folders.map((folder) => ({ ...folder, children: ordered(folder.children ?? []) }))];
}

/** The paths that differ between two trees, in order. */
export function changedPaths(before: FileTree, after: FileTree): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((path) => before[path] !== after[path]).sort();
}

/** The result of rebasing edits. */
export interface Rebased {
  files: FileTree;
  /** Files that both sides changed differently. The result has mine, and the user must compare theirs. */
  conflicts: string[];
}

/** Applies the changes from base to mine onto theirs, file by file. */
export function rebase(base: FileTree, mine: FileTree, theirs: FileTree): Rebased {
  const files = { ...theirs };
  const conflicts: string[] = [];
  for (const path of changedPaths(base, mine)) {
    if (theirs[path] !== base[path] && theirs[path] !== mine[path]) {
      conflicts.push(path);
    }
    const text = mine[path];
    if (text === undefined) {
      delete files[path];
    } else {
      files[path] = text;
    }
  }
  return { files, conflicts };
}

/** The template of a new file, from its path. */
export function templateOf(path: string): string {
  const [folder = '', ...rest] = path.split('/');
  if (rest.at(-1) === 'SKILL.md') {
    return `---\nname: ${rest.at(-2) ?? 'skill'}\ndescription: What it is for, and when to use it.\n---\n\nWhat to do, step by step.\n`;
  }
  switch (folder) {
    case 'agents':
      return '---\ndescription: What it is for.\nagentType: CUSTOM\n---\n\nYou are …\n';
    case 'automations':
      return '---\ntriggers:\n  - provider: schedule\n    event: cron_fired\n    schedule: {cron: "0 7 * * 1-5"}\n---\n\nWhat each run is asked.\n';
    case 'webhooks':
      return 'authMode: token\nsecretName: NAME_OF_A_SECRET\n';
    case 'runners':
      return 'platform:\n  os: linux\n  arch: x86_64\n  linux: {dockerImage: "debian:13"}\n';
    default:
      return '';
  }
}
