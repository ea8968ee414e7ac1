import { expect, test } from 'vitest';
import { kindOf } from './patch.ts';

test('lines of a unified diff are told apart', () => {
  const lines = ['--- a/x.md', '+++ b/x.md', '@@ -1,2 +1,2 @@', ' same', '-old', '+new', '--', ''];
  expect(lines.map(kindOf)).toEqual(['head', 'head', 'place', 'same', 'removed', 'added', 'removed', 'same']);
});
