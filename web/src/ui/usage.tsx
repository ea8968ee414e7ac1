import type { UsageRow, UsageSum } from '@penstock/sdk';
import { formatCost, formatCount, formatNumber } from '../format.ts';
import classes from './BudgetBar.module.css';
import type { Column } from './DataTable.tsx';

/** A cost. If a model has no price, the cost is at least what the other calls cost. */
export function costOf({ cost_usd, priced_cost_usd }: UsageSum): string {
  return cost_usd === null ? `≥ ${formatCost(priced_cost_usd)}` : formatCost(cost_usd);
}

/** What the cost leaves out, or estimates. */
function notes({ unpriced_calls, estimated_calls, unknown_calls, unsettled_calls, reserved_usd }: UsageSum): string[] {
  return [
    unpriced_calls > 0 && `${formatCount(unpriced_calls, 'call')} without a price`,
    estimated_calls > 0 && `${formatCount(estimated_calls, 'call')} cut, estimated`,
    unknown_calls > 0 && `${formatCount(unknown_calls, 'call')} at the reserved cost`,
    unsettled_calls > 0 && `${formatCount(unsettled_calls, 'call')} in flight, up to ${formatCost(reserved_usd)}`,
  ].filter((note) => note !== false);
}

/** The columns of a table of usage, without its first one. */
export const usageColumns: Column<UsageRow>[] = [
  { header: 'Calls', width: 80, numeric: true, cell: ({ calls }) => formatNumber(calls) },
  {
    header: 'Input',
    width: 110,
    numeric: true,
    cell: ({ input_tokens: tokens, cache_write_tokens: written }) => formatNumber(tokens + written),
  },
  { header: 'From cache', width: 110, numeric: true, cell: ({ cache_read_tokens }) => formatNumber(cache_read_tokens) },
  { header: 'Output', width: 100, numeric: true, cell: ({ output_tokens }) => formatNumber(output_tokens) },
  {
    header: 'Cost',
    width: 150,
    numeric: true,
    cell: (row) => (
      <>
        {costOf(row)}
        {notes(row).map((note) => (
          <div key={note} className={classes.note}>
            {note}
          </div>
        ))}
      </>
    ),
  },
];
