import { formatNumber } from '../../format.ts';
import classes from './Load.module.css';

/** The number of busy slots, as a bar and as text. */
export function Load({ busy, capacity, of }: { busy: number; capacity: number; of: string }) {
  return (
    <span className={classes.load}>
      <meter className={classes.meter} aria-label={`Load of ${of}`} min={0} max={Math.max(capacity, 1)} value={Math.min(busy, capacity)} />
      <span>
        {formatNumber(busy)} of {formatNumber(capacity)}
      </span>
    </span>
  );
}
