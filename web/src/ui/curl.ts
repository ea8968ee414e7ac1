/** Writes a text so that a POSIX shell takes it as one word. */
export function quote(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The command that sends a request of the API to this server; the key is the reader's, in PENSTOCK_API_KEY. */
export function curl(method: string, path: string, body?: unknown): string {
  const words = ['curl', ...(method === 'GET' ? [] : [`-X ${method}`]), quote(`${location.origin}/api/v1${path}`)];
  const lines = [words.join(' '), `-H "Authorization: Bearer $PENSTOCK_API_KEY"`];
  if (body !== undefined) {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(body))}`);
  }
  return lines.join(' \\\n  ');
}
