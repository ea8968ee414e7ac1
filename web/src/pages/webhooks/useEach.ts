import type { Factory } from '@penstock/sdk';
import { type UseQueryOptions, useQueries, useQuery } from '@tanstack/react-query';
import { live } from '../../live.ts';
import { allFactoriesQuery } from '../../queries.ts';

/** A resource with its factory. */
export type Of<T> = T & { factory: Factory };

/** The highest number of factories for one list. Each is one request. */
const together = 30;

/**
 * Reads a list from each factory, live by default, or every so many seconds. The API has these lists by factory. It skips a factory whose count is zero. `rows` is undefined
 * during the first requests. `left` is the number of factories beyond the limit.
 */
export function useEach<T>(
  only: string | undefined,
  countOf: (factory: Factory) => number,
  query: (uid: string) => UseQueryOptions<T[], Error, T[], string[]>,
  { live: fresh = true, enabled = true }: { live?: boolean | number; enabled?: boolean } = {},
) {
  const often = (seconds: number) => ({
    ...(fresh === false ? { staleTime: 60_000 } : live(fresh === true ? seconds : fresh)),
    enabled,
  });
  const factories = useQuery({ ...allFactoriesQuery, ...often(10) });
  const full = (factories.data ?? []).filter((factory) => (only === undefined ? countOf(factory) > 0 : factory.uid === only));
  const asked = full.slice(0, together);
  const lists = useQueries({ queries: asked.map(({ uid }) => ({ ...query(uid), ...often(5) })) });
  const ready = factories.data !== undefined && lists.every((list) => list.data !== undefined || list.error);
  const rows = ready
    ? asked.flatMap((factory, i) => ((lists[i]?.data ?? []) as T[]).map((row): Of<T> => ({ ...row, factory })))
    : undefined;
  return {
    factories: factories.data,
    rows,
    left: full.length - asked.length,
    error: factories.error ?? lists.find((list) => list.error && list.data === undefined)?.error,
  };
}
