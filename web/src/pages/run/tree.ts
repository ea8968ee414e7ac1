import type { RunItem } from '@penstock/sdk';

/** A run with its child runs. */
export interface Branch {
  run: RunItem;
  branches: Branch[];
}

/** The tree below a run, oldest first. A run whose parent is not in the list is directly below the root. */
export function treeOf(runs: readonly RunItem[], root: string): Branch[] {
  const branches = new Map(runs.map((run) => [run.run_id, { run, branches: [] as Branch[] }]));
  const top: Branch[] = [];
  for (const branch of [...branches.values()].sort((a, b) => a.run.created_at.localeCompare(b.run.created_at))) {
    const parent = branch.run.parent_run_id;
    const above = parent === root ? undefined : branches.get(parent ?? '');
    (above?.branches ?? top).push(branch);
  }
  return top;
}
