import type { ReactNode } from 'react';
import classes from './DataTable.module.css';

export interface Column<T> {
  /** The name of the column. A narrow screen shows it before the cell. */
  header: string;
  cell: (row: T) => ReactNode;
  /** A CSS width. Columns without one share the remaining space. */
  width?: number | string;
  /** The column that comes first on a narrow screen, without its header. */
  main?: boolean;
  /** Aligns numbers to the right. */
  numeric?: boolean;
  /** The name of the order by this column. Its head then sorts. */
  sort?: string;
}

export interface Sorting {
  by: string;
  order: 'asc' | 'desc';
  change: (by: string, order: 'asc' | 'desc') => void;
}

export interface DataTableProps<T> {
  /** The table's name for screen readers. */
  label: string;
  columns: Column<T>[];
  /** undefined during the first request. */
  rows: T[] | undefined;
  rowKey: (row: T) => string;
  /** Shown instead of an empty table. */
  empty: ReactNode;
  /** Adds a checkbox to every row. */
  selection?: { selected: ReadonlySet<string>; change: (selected: Set<string>) => void; labelOf: (row: T) => string } | undefined;
  sorting?: Sorting;
  /** The expected number of rows. The table reserves their height while it loads. */
  expected?: number;
}

/**
 * A table with a stable layout: fixed widths, and reserved height while it loads. On a narrow screen, each row is a card. Cells are plain elements,
 * because a component for each would double the time to render a page.
 */
export function DataTable<T>({ label, columns, rows, rowKey, empty, selection, sorting, expected = 8 }: DataTableProps<T>) {
  if (rows?.length === 0) {
    return <>{empty}</>;
  }
  const keys = rows?.map(rowKey) ?? [];
  const all = keys.length > 0 && keys.every((key) => selection?.selected.has(key));
  const some = keys.some((key) => selection?.selected.has(key));
  const toggle = (key: string): void => {
    const selected = new Set(selection?.selected);
    if (!selected.delete(key)) {
      selected.add(key);
    }
    selection?.change(selected);
  };
  return (
    <table className={classes.table} aria-label={label} aria-busy={rows === undefined}>
      <thead>
        <tr>
          {selection && (
            <th style={{ width: 40 }}>
              <input
                type="checkbox"
                aria-label="Select all on this page"
                checked={all}
                ref={(box) => {
                  if (box) {
                    box.indeterminate = some && !all;
                  }
                }}
                onChange={() => selection.change(new Set(all ? [] : keys))}
              />
            </th>
          )}
          {columns.map((column) => (
            <Head key={column.header} column={column} sorting={sorting} />
          ))}
        </tr>
      </thead>
      <tbody>
        {rows?.map((row) => {
          const key = rowKey(row);
          return (
            <tr key={key} data-selected={selection?.selected.has(key) || undefined}>
              {selection && (
                <td className={classes.choice}>
                  <input
                    type="checkbox"
                    aria-label={`Select ${selection.labelOf(row)}`}
                    checked={selection.selected.has(key)}
                    onChange={() => toggle(key)}
                  />
                </td>
              )}
              {columns.map((column) => (
                <td
                  key={column.header}
                  data-label={column.main ? undefined : column.header}
                  data-main={column.main || undefined}
                  data-numeric={column.numeric || undefined}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          );
        }) ??
          Array.from({ length: expected }, (_, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
            <tr key={i}>
              <td colSpan={columns.length + (selection ? 1 : 0)}>
                <span className={classes.room} />
              </td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

/** The head of a column. A click sorts by it: texts from A, times from the newest; another click turns the order around. */
function Head<T>({ column: { header, width, numeric, sort }, sorting }: { column: Column<T>; sorting: Sorting | undefined }) {
  if (!sort || !sorting) {
    return (
      <th style={{ width }} data-numeric={numeric || undefined}>
        {header}
      </th>
    );
  }
  const { by, order, change } = sorting;
  const first = numeric ? 'desc' : 'asc';
  const next = by === sort ? (order === 'asc' ? 'desc' : 'asc') : first;
  return (
    <th
      style={{ width }}
      data-numeric={numeric || undefined}
      aria-sort={by === sort ? (order === 'asc' ? 'ascending' : 'descending') : undefined}
    >
      <button type="button" className={classes.sort} onClick={() => change(sort, next)}>
        {header}
        <span aria-hidden="true">{by === sort ? (order === 'asc' ? ' ↑' : ' ↓') : ''}</span>
      </button>
    </th>
  );
}
