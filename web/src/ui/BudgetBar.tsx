import classes from './BudgetBar.module.css';

export interface BudgetBarProps {
  spent: number;
  reserved: number;
  cap: number;
  format: (amount: number) => string;
}

/** What is spent and reserved of a budget, as a bar and as text. */
export function BudgetBar({ spent, reserved, cap, format }: BudgetBarProps) {
  const share = (amount: number): number => (cap > 0 ? Math.min(1, Math.max(0, amount / cap)) : 1);
  const used = share(spent);
  return (
    <span className={classes.budget}>
      <span className={classes.bar} aria-hidden="true" data-full={share(spent + reserved) >= 0.999 || undefined}>
        <span className={classes.spent} style={{ width: `${used * 100}%` }} />
        <span className={classes.reserved} style={{ width: `${Math.max(0, share(spent + reserved) - used) * 100}%` }} />
      </span>
      <span className={classes.words}>
        {format(spent)} of {format(cap)}
        {reserved > 0 && <span className={classes.dim}>, {format(reserved)} reserved</span>}
      </span>
    </span>
  );
}
