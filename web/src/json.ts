/** Whether a text is JSON. */
export function isJSON(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Adds a member, whose value is a text of JSON, to the JSON of an object. The value is not parsed, because a browser would round its numbers. */
export function withMember(object: string, name: string, value: string): string {
  const rest = object.slice(object.indexOf('{') + 1);
  return `{${JSON.stringify(name)}:${value}${/^\s*\}/.test(rest) ? '' : ','}${rest}`;
}

/** The deepest level that is indented. Otherwise, a few kilobytes of brackets would become hundreds of megabytes. */
const deepest = 50;

/**
 * Breaks JSON into lines without parsing it. Every token stays as the sender wrote it: all digits of numbers, and duplicate keys. Returns a text
 * that is not JSON unchanged.
 */
export function layOut(text: string): string {
  if (!isJSON(text)) {
    return text;
  }
  let depth = 0;
  let before = ''; // the token before this one
  const out: string[] = []; // joined once: reading the end of a growing string copies it
  for (const token of text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? []) {
    const closes = token === '}' || token === ']';
    const empty = closes && (before === '{' || before === '[');
    depth -= closes ? 1 : 0;
    if ((closes && !empty) || (!closes && token !== ',' && token !== ':' && /^[{[,]$/.test(before))) {
      out.push('\n', '  '.repeat(Math.min(depth, deepest)));
    }
    out.push(token === ':' ? ': ' : token);
    depth += token === '{' || token === '[' ? 1 : 0;
    before = token;
  }
  return out.join('');
}

/** Formats any value from an agent as indented JSON. */
export function textOf(value: unknown): string {
  try {
    return layOut(JSON.stringify(value));
  } catch {
    return '(nested too deeply to show)'; // it would overflow the stack
  }
}
