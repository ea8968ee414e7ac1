/** Quotes a text as one word of a POSIX shell. */
export function quote(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The curl command for an API request to this server. It reads the key from PENSTOCK_API_KEY. */
export function curl(method: string, path: string, body?: unknown): string {
  const words = ['curl', ...(method === 'GET' ? [] : [`-X ${method}`]), quote(`${location.origin}/api/v1${path}`)];
  const lines = [words.join(' '), `-H "Authorization: Bearer $PENSTOCK_API_KEY"`];
  if (body !== undefined) {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(body))}`);
  }
  return lines.join(' \\\n  ');
}
