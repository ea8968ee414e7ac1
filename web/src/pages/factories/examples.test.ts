import { expect, test } from 'vitest';
import { examples } from './examples.ts';

test('the examples of the repository are complete', () => {
  expect(examples.map(({ folder }) => folder)).toEqual(['ci-failure', 'code-review', 'dependency-audit', 'incident-response']);
  for (const { name, description, files } of examples) {
    expect([name, description]).not.toContain('');
    expect(Object.keys(files)).toContain('factory.yaml');
    expect(Object.keys(files).some((path) => path.startsWith('automations/'))).toBe(true);
    expect(Object.keys(files).some((path) => path.startsWith('agents/'))).toBe(true);
  }
  expect(examples.find(({ folder }) => folder === 'code-review')?.secrets.sort()).toEqual(['GITHUB_REVIEW_TOKEN', 'GITHUB_WEBHOOK_SECRET']);
});
