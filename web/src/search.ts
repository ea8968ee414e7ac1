/** What the query of an address says; a name that comes often has all its values. */
export type Params = Record<string, string | string[]>;

/** Reads a query as the API does: values are texts, and a name may come often. */
export function parseSearch(query: string): Params {
  const search: Params = {};
  for (const [name, value] of new URLSearchParams(query)) {
    const before = search[name];
    search[name] = before === undefined ? value : [before, value].flat();
  }
  return search;
}

/** Writes a query as {@link parseSearch} reads it; what is empty is left out. */
export function stringifySearch(search: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    for (const one of [value].flat()) {
      if (one !== undefined && one !== null && one !== '') {
        query.append(name, String(one));
      }
    }
  }
  const text = query.toString();
  return text ? `?${text}` : '';
}

/** The values of a name, none when it is not there. */
export function valuesOf(value: string | string[] | undefined): string[] {
  return value === undefined ? [] : [value].flat();
}

/** The only, or first, value of a name. */
export function firstOf(value: string | string[] | undefined): string | undefined {
  return valuesOf(value)[0];
}
