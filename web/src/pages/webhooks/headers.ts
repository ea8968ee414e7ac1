/**
 * Reads pasted headers, one a line. Empty lines and a request line (POST / HTTP/1.1) are ignored, and a repeated header has all its values. Returns
 * the first line that is no header, if there is one.
 */
export function headersOf(text: string): { headers: Record<string, string>; wrong?: string } {
  const headers: Record<string, string> = {};
  for (const line of text.split('\n').map((one) => one.trim())) {
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+)\s*:\s*(.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) {
      const before = headers[name.toLowerCase()];
      headers[name.toLowerCase()] = before === undefined ? value : `${before}, ${value}`;
    } else if (line !== '' && !/^[A-Z]+ \S+( HTTP\/[\d.]+)?$/.test(line)) {
      return { headers, wrong: line };
    }
  }
  return { headers };
}
