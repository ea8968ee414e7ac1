import { expect, test } from 'vitest';
import { patchLines } from './patch.ts';

test('a patch has its files, places and lines, and a removed line that looks like a head stays', () => {
  const patch = `diff --git a/a.sql b/a.sql
index 1..2 100644
--- a/a.sql
+++ b/a.sql
@@ -1,2 +1,2 @@
 one
--- two
+three
\\ No newline at end of file
diff --git a/b.png b/b.png
new file mode 100644
index 0..3
GIT binary patch
literal 8
PcmXS6C}+rL;9>v(2tom6

literal 0
HcmV?d00001

diff --git a/c b/c
`;
  expect(patchLines(patch)).toEqual([
    { kind: 'file', text: 'a/a.sql b/a.sql' },
    { kind: 'gap', text: '@@ -1,2 +1,2 @@' },
    { kind: 'same', text: 'one' },
    { kind: 'removed', text: '-- two' },
    { kind: 'added', text: 'three' },
    { kind: 'gap', text: '\\ No newline at end of file' },
    { kind: 'file', text: 'a/b.png b/b.png' },
    { kind: 'gap', text: 'new file mode 100644' },
    { kind: 'gap', text: 'Binary file' },
    { kind: 'file', text: 'a/c b/c' },
  ]);
  expect(patchLines('')).toEqual([]);
});
