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
  let out = '';
  for (const token of text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? []) {
    const opens = token === '{' || token === '[';
    const closes = token === '}' || token === ']';
    const empty = closes && /[{[]$/.test(out);
    if (closes) {
      depth--;
    }
    const fresh = out === '' || out.endsWith(': ');
    out += token === ',' || token === ':' || empty || fresh ? '' : closes || /[{[,]$/.test(out) ? `\n${'  '.repeat(depth)}` : '';
    out += token === ':' ? ': ' : token;
    if (opens) {
      depth++;
    }
  }
  return out;
}
