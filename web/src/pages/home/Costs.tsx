import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { formatCost, formatWord } from '../../format.ts';
import { live } from '../../live.ts';
import { hourlyCostsQuery } from '../../queries.ts';
import { Failure } from '../../ui/Failure.tsx';
import filter from '../../ui/FilterTabs.module.css';
import { costOf } from '../../ui/usage.tsx';
import { Bars } from './Bars.tsx';
import { type CostGroup, costGroups, costSeries, type Range } from './chart.ts';

const groups = Object.keys(costGroups) as CostGroup[];

interface CostsProps {
  range: Range;
  /** The start of each hour, and of each bar with its first hour. */
  hours: string[];
  bars: number[];
  starts: string[];
}

/** The cost over time by model, agent or factory. */
export function Costs({ range, hours, bars, starts }: CostsProps) {
  const search = useSearch({ from: '/app/' });
  const by = groups.find((one) => one === search.cost) ?? 'model';
  const costs = useQuery({ ...hourlyCostsQuery(hours[0] ?? '', by), ...live(60) });
  if (!costs.data) {
    return costs.error ? <Failure error={costs.error} retry={() => void costs.refetch()} /> : null;
  }
  const choice = (
    <nav className={filter.tabs} aria-label="Cost by">
      {groups.map((one) => (
        <Link
          key={one}
          to="/"
          search={{ ...search, cost: one }}
          replace
          resetScroll={false}
          className={filter.tab ?? ''}
          data-on={one === by || undefined}
          aria-current={one === by || undefined}
        >
          {formatWord(one)}
        </Link>
      ))}
    </nav>
  );
  return (
    <Bars
      title={`Cost by ${by}`}
      summary={`${costOf(costs.data.total)} in all`}
      range={range}
      starts={starts}
      series={costSeries(costs.data, by, bars)}
      format={formatCost}
      tick={(usd) => (usd === 0 ? '$0' : formatCost(usd))}
      sums
      choice={choice}
    />
  );
}
