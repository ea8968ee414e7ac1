/** A parsed query string. A repeated name has all its values. */
export type Params = Record<string, string | string[]>;

/** Parses a query string as the API does: values are strings, and a name can repeat. */
export function parseSearch(query: string): Params {
  const search: Params = {};
  for (const [name, value] of new URLSearchParams(query)) {
    const before = search[name];
    search[name] = before === undefined ? value : [before, value].flat();
  }
  return search;
}

/** Formats a query string for {@link parseSearch}. It omits empty values. */
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

/** The values of a name; empty if it is missing. */
export function valuesOf(value: string | string[] | undefined): string[] {
  return value === undefined ? [] : [value].flat();
}

/** The first value of a name. */
export function firstOf(value: string | string[] | undefined): string | undefined {
  return valuesOf(value)[0];
}
