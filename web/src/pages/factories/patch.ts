/** The kind of a line of a unified diff. */
export type PatchLine = 'head' | 'place' | 'added' | 'removed' | 'same';

export function kindOf(line: string): PatchLine {
  if (/^(--- |\+\+\+ |diff )/.test(line)) {
    return 'head';
  }
  const kinds: Record<string, PatchLine> = { '@': 'place', '+': 'added', '-': 'removed' };
  return kinds[line.charAt(0)] ?? 'same';
}
