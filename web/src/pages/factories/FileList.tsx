import type { Diagnostic } from '@penstock/sdk';
import { formatCount } from '../../format.ts';
import classes from './FilesEditor.module.css';
import { type TreeNode, treeOf } from './tree.ts';

export interface FileListProps {
  paths: readonly string[];
  selected: string;
  select: (path: string) => void;
  changed: ReadonlySet<string>;
  diagnostics: readonly Diagnostic[];
}

/** The file tree with a status for each file. */
export function FileList(props: FileListProps) {
  return (
    <nav className={classes.tree} aria-label="Files">
      <Level nodes={treeOf(props.paths)} {...props} />
    </nav>
  );
}

function Level({ nodes, ...props }: { nodes: TreeNode[] } & FileListProps) {
  return (
    <ul>
      {nodes.map((node) => (
        <li key={node.path + (node.children ? '/' : '')}>
          {node.children ? (
            <>
              <span className={classes.folder}>{node.name}/</span>
              <Level nodes={node.children} {...props} />
            </>
          ) : (
            <File node={node} {...props} />
          )}
        </li>
      ))}
    </ul>
  );
}

function File({ node: { name, path }, selected, select, changed, diagnostics }: { node: TreeNode } & FileListProps) {
  const found = diagnostics.filter((one) => one.path === path);
  const bad = found.filter(({ severity }) => severity === 'error').length;
  const doubtful = found.filter(({ severity }) => severity === 'warning').length;
  return (
    <button
      type="button"
      className={classes.file}
      aria-current={path === selected ? 'true' : undefined}
      title={path}
      onClick={() => select(path)}
    >
      <span>{name}</span>
      {changed.has(path) && <span className={classes.mark}>edited</span>}
      {found.length > 0 && (
        <span className={classes.mark} data-bad={bad > 0 || undefined}>
          {bad > 0 ? formatCount(bad, 'error') : doubtful > 0 ? formatCount(doubtful, 'warning') : 'ignored'}
        </span>
      )}
    </button>
  );
}
