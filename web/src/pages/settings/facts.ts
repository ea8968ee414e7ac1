import type { ModelInfo } from '@penstock/sdk';
import { formatBytes, formatDuration, formatNumber, formatWord } from '../../format.ts';

/** The providers of models, each with the number of its available models. */
export function providersOf(models: readonly ModelInfo[]): { name: string; available: number }[] {
  const found = new Map<string, number>();
  for (const { id, disable_reason } of models) {
    const provider = id.split('/')[0] ?? id;
    found.set(provider, (found.get(provider) ?? 0) + (disable_reason ? 0 : 1));
  }
  return [...found].map(([name, available]) => ({ name, available }));
}

export interface LimitRow {
  name: string;
  label: string;
  value: string;
}

/** The limits in words. Their names end with their units. */
export function limitRows(limits: object): LimitRow[] {
  return Object.entries(limits).flatMap(([name, value]) => (typeof value === 'number' ? [rowOf(name, value)] : []));
}

function rowOf(name: string, value: number): LimitRow {
  const [, what = name, unit] = /^(.+)_(bytes|seconds)$/.exec(name) ?? [];
  const format = unit === 'bytes' ? formatBytes : unit === 'seconds' ? formatWhole : formatNumber;
  return { name, label: formatWord(what), value: value === 0 ? 'No limit' : format(value) };
}

/** Formats seconds without a second unit that is zero: "7 d", "1 h 30 m". */
function formatWhole(seconds: number): string {
  return formatDuration(seconds * 1000).replace(/ 0+ [hms]$/, '');
}
