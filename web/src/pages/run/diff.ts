import { structuredPatch } from 'diff';

/** A line of a diff. */
export interface DiffLine {
  kind: 'same' | 'added' | 'removed' | 'gap';
  text: string;
}

/** Files with more lines are not compared, since that would take too long. */
const longest = 20_000;

/** The diff of two texts with three lines of context, or undefined if it would take too long. */
export function diffLines(before: string, after: string): DiffLine[] | undefined {
  if (lines(before) + lines(after) > longest) {
    return undefined;
  }
  const patch = structuredPatch('', '', before, after, '', '', { context: 3, timeout: 500 });
  return patch?.hunks.flatMap((hunk, i) => [
    ...(i > 0 || hunk.oldStart > 1 ? [{ kind: 'gap' as const, text: `@@ line ${hunk.newStart}` }] : []),
    ...hunk.lines.filter((line) => !line.startsWith('\\')).map(lineOf),
  ]);
}

function lineOf(line: string): DiffLine {
  const kinds: Record<string, DiffLine['kind']> = { '+': 'added', '-': 'removed' };
  return { kind: kinds[line.charAt(0)] ?? 'same', text: line.slice(1) };
}

function lines(text: string): number {
  let n = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    n++;
  }
  return n;
}
