import type { ListSubjectsQuery } from '@penstock/sdk';
import { firstOf, type Params } from '../../search.ts';

/** The number of subjects on a page. */
const pageSize = 50;

/** The filters of the list. Names match the API and the URL. */
const filters = ['subject', 'automation_uid', 'factory_uid'] as const;

/** The filters in a search, without the page. */
export function filtersOf(search: Params): Partial<Record<(typeof filters)[number], string>> {
  return Object.fromEntries(filters.flatMap((name) => (firstOf(search[name]) ? [[name, firstOf(search[name])]] : [])));
}

/** Converts the URL's search to the query of the API. Unknown names are ignored. */
export function queryOf(search: Params): ListSubjectsQuery {
  const cursor = firstOf(search.cursor);
  return { limit: pageSize, ...filtersOf(search), ...(cursor ? { cursor } : {}) };
}
