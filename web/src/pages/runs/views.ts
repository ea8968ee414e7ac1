import { useLocalStorage } from '@mantine/hooks';
import { firstOf, type Params } from '../../search.ts';
import { activeFilters, sameFilters } from './filters.ts';

/** A saved search of runs. The address has the search itself, and the name as `view`. */
export interface View {
  name: string;
  search: Params;
}

/** The number of views that a browser keeps. */
const most = 20;

/** What a view keeps of a search: the filters and the order, but not the page. */
export function viewOf(name: string, search: Params): View {
  const kept = new Set([...activeFilters(search).map((filter) => filter.name), 'q', 'sort_by', 'sort_order']);
  return { name, search: { ...Object.fromEntries(Object.entries(search).filter(([key]) => kept.has(key))), view: name } };
}

/** The views with a new one at the end. It replaces a view of the same name. */
export function withView(views: readonly View[], view: View): View[] {
  return [...views.filter(({ name }) => name !== view.name), view].slice(-most);
}

/** Whether the list shows a view. */
export function showsView(search: Params, view: View): boolean {
  const order = (of: Params): string => `${firstOf(of.sort_by) ?? ''} ${firstOf(of.sort_order) ?? ''}`;
  return sameFilters(search, view.search) && order(search) === order(view.search);
}

/** The saved views of this browser. */
export function useViews() {
  return useLocalStorage<View[]>({ key: 'penstock.views', defaultValue: [], getInitialValueInEffect: false });
}
