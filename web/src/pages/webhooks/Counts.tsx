import type { DeliveryCounts } from '@penstock/sdk';
import { formatNumber } from '../../format.ts';

/** The number of deliveries, with duplicates, rejections, rate limits and what was turned away if there are any. */
export function Counts({ counts }: { counts: DeliveryCounts }) {
  const parts = [
    `${formatNumber(counts.accepted)} accepted`,
    ...(counts.duplicate > 0 ? [`${formatNumber(counts.duplicate)} duplicate`] : []),
    ...(counts.rejected > 0 ? [`${formatNumber(counts.rejected)} rejected`] : []),
    ...(counts.rate_limited > 0 ? [`${formatNumber(counts.rate_limited)} rate limited`] : []),
    ...(counts.turned_away ? [`${formatNumber(counts.turned_away)} turned away`] : []),
  ];
  return <span title={parts.join(', ')}>{parts.join(', ')}</span>;
}
