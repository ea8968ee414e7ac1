import type { ReactNode } from 'react';
import classes from './DataTable.module.css';

export interface Column<T> {
  /** Names the column; what a narrow screen shows before the cell. */
  header: string;
  cell: (row: T) => ReactNode;
  /** As CSS has it; columns without one share what is left. */
  width?: number | string;
  /** The column that leads on a narrow screen, without its header. */
  main?: boolean;
  /** Numbers stand to the right. */
  numeric?: boolean;
}

export interface DataTableProps<T> {
  /** Says what the table lists, for a screen reader. */
  label: string;
  columns: Column<T>[];
  /** undefined while they are being read for the first time. */
  rows: T[] | undefined;
  rowKey: (row: T) => string;
  /** What is shown in the place of no rows. */
  empty: ReactNode;
  /** Adds a box to every row: which are selected, and what a row is called. */
  selection?: { selected: ReadonlySet<string>; change: (selected: Set<string>) => void; labelOf: (row: T) => string } | undefined;
  /** How many rows there will probably be: their room is held while they are read. */
  expected?: number;
}

/**
 * A table that does not jump: the widths are fixed, and rows that are yet to come have their room. On a narrow screen each row is a card.
 * Its cells are plain elements: components for each of them took as long as all else on a page of a list.
 */
export function DataTable<T>({ label, columns, rows, rowKey, empty, selection, expected = 8 }: DataTableProps<T>) {
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
            <th key={column.header} style={{ width: column.width }} data-numeric={column.numeric || undefined}>
              {column.header}
            </th>
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
