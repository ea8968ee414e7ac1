/** What lies deeper is not indented further: indented, a few kilobytes of brackets are hundreds of megabytes. */
const deepest = 50;

/**
 * Lays JSON out over lines without reading it: every token stays as it was sent, numbers with all their digits and keys that come twice.
 * What is no JSON comes back as it is.
 */
export function layOut(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let depth = 0;
  let before = ''; // the token before this one
  const out: string[] = []; // put together once: a text that grows is copied with every question about its end
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

/** Writes a value as a person reads it, whatever an agent has put into it. */
export function textOf(value: unknown): string {
  try {
    return layOut(JSON.stringify(value));
  } catch {
    return '(nested too deeply to be shown)'; // there is no room for it on the stack
  }
}
