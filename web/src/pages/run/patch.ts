/** A line of a unified diff. */
export interface PatchLine {
  kind: 'added' | 'removed' | 'same' | 'gap' | 'file';
  text: string;
}

const kinds: Record<string, PatchLine['kind']> = { '+': 'added', '-': 'removed', '@': 'gap', '\\': 'gap' };

/** Reads the lines of a patch of Git. The lines between the name of a file and its first change are left out, except for binary files and modes. */
export function patchLines(patch: string): PatchLine[] {
  const lines: PatchLine[] = [];
  let inHead = false;
  let inBinary = false; // its lines are data
  for (const line of patch === '' ? [] : patch.replace(/\n$/, '').split('\n')) {
    if (line.startsWith('diff --git ')) {
      inHead = true;
      inBinary = false;
      lines.push({ kind: 'file', text: line.slice('diff --git '.length) });
    } else if (inBinary) {
    } else if (line === 'GIT binary patch') {
      inBinary = true;
      lines.push({ kind: 'gap', text: 'Binary file' });
    } else if (line.startsWith('@@')) {
      inHead = false;
      lines.push({ kind: 'gap', text: line });
    } else if (!inHead) {
      const kind = kinds[line.charAt(0)] ?? 'same';
      lines.push({ kind, text: kind === 'gap' ? line : line.slice(1) });
    } else if (!/^(index|---|\+\+\+|similarity) /.test(line)) {
      lines.push({ kind: 'gap', text: line });
    }
  }
  return lines;
}
