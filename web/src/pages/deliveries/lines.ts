/** A place in a payload: its JSON pointer, and a text about it. */
export interface Place {
  pointer: string;
  note: string;
}

/** An object or array that is open: its key path, and the key or index of what comes next. */
interface Level {
  array: boolean;
  /** Keys only: an array stands for each of its elements, as in a filter. */
  path: string;
  key: string | undefined;
}

/**
 * Finds the lines of laid-out JSON (see layOut) that places are on, each with its notes. A key of several elements of an array is on several
 * lines. A missing key is on the line of the object that lacks it.
 */
export function linesOf(text: string, places: readonly Place[]): Map<number, string[]> {
  const paths = pathsOf(text);
  const found = new Map<number, string[]>();
  for (const { pointer, note } of places) {
    for (const line of nearest(paths, pointer)) {
      found.set(line, [...(found.get(line) ?? []), note]);
    }
  }
  return found;
}

/** The lines of a pointer, or of its nearest ancestor that is there. */
function nearest(paths: ReadonlyMap<string, number[]>, pointer: string): number[] {
  for (let at = pointer; ; at = at.slice(0, at.lastIndexOf('/'))) {
    const lines = paths.get(at);
    if (lines) {
      return [...new Set(lines)];
    }
    if (!at.includes('/')) {
      return [];
    }
  }
}

/** The lines of each key path. */
function pathsOf(text: string): Map<string, number[]> {
  const paths = new Map<string, number[]>([['', [0]]]);
  const open: Level[] = [];
  let line = 0;
  for (const [token] of text.matchAll(/\n|"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    const level = open.at(-1);
    if (token === '\n') {
      line++;
    } else if (token === '{' || token === '[') {
      open.push({ array: token === '[', path: level ? below(level) : '', key: undefined });
    } else if (token === '}' || token === ']') {
      open.pop();
    } else if (token === ',' && level) {
      level.key = undefined;
    } else if (level && !level.array && level.key === undefined && token.startsWith('"')) {
      level.key = keyOf(token);
      paths.set(below(level), [...(paths.get(below(level)) ?? []), line]);
    }
  }
  return paths;
}

const below = ({ array, path, key }: Level): string => (array ? path : `${path}/${key ?? ''}`);

/** A key as part of a JSON pointer. */
function keyOf(token: string): string {
  return (JSON.parse(token) as string).replaceAll('~', '~0').replaceAll('/', '~1');
}
