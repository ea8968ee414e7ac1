// @vitest-environment jsdom
import { MantineProvider } from '@mantine/core';
import { render } from '@testing-library/react';
import { beforeAll, expect, test, vi } from 'vitest';
import { safeHref } from './ExternalLink.tsx';
import { Markdown } from './Markdown.tsx';

beforeAll(() => {
  // jsdom has none, and Mantine asks.
  vi.stubGlobal('matchMedia', () => ({ matches: false, addEventListener: () => {}, removeEventListener: () => {} }));
});

const show = (text: string): HTMLElement =>
  render(
    <MantineProvider>
      <Markdown>{text}</Markdown>
    </MantineProvider>,
  ).container;

test('Markdown is rendered', () => {
  const shown = show('# Title\n\n**bold** `code`\n\n- [x] one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\nls -l\n```\n');
  expect(shown.querySelector('strong')?.textContent).toBe('bold');
  expect(shown.querySelectorAll('li')).toHaveLength(2);
  expect(shown.querySelector('input')?.checked).toBe(true);
  expect(shown.querySelector('td')?.textContent).toBe('1');
  expect(shown.querySelector('pre')?.textContent).toBe('ls -l');
  expect(shown.querySelector('h1')).toBeNull();
});

test.each([
  '<script>alert(1)</script>',
  'a <img src=x onerror=alert(1)> b',
  '<svg onload=alert(1)>',
  '![x](javascript:alert(1))',
  '[x](javascript:alert(1))',
  '[x](data:text/html,<script>alert(1)</script>)',
  '<a href="javascript:alert(1)">x</a>',
  '[x]: javascript:alert(1)\n[x]',
])('%s makes no element that could do something', (text) => {
  expect(show(text).querySelectorAll('script, img, svg, iframe, a')).toHaveLength(0);
});

test('entities stay as they were written', () => {
  expect(show('a &lt;b&gt; `&amp;` & c').textContent).toContain('a &lt;b&gt; &amp; & c');
});

test('a link leads to http and https alone, in a tab that knows nothing of this one', () => {
  const link = show('[x](https://example.com/a)').querySelector('a');
  expect(link?.getAttribute('href')).toBe('https://example.com/a');
  expect(link?.getAttribute('rel')).toContain('noopener');
  expect(['javascript:alert(1)', 'file:///etc/passwd', '/relative', '', undefined].map(safeHref)).toEqual(Array(5).fill(undefined));
});

test.each([
  ['quotes', '>'.repeat(20_000)],
  ['lists', '- '.repeat(10_000)],
  ['quotes that the reader can follow', '>'.repeat(2_000)],
])('%s without end are shown as text', (_, text) => {
  const shown = show(`${text} the end`);
  expect(shown.textContent).toContain('the end');
  expect(shown.querySelectorAll('blockquote, li').length).toBeLessThan(100);
});

test('a text that would take its parser minutes is shown as it was written', () => {
  const shown = show(`${'a'.repeat(1_000_000)}@ **b**`);
  expect(shown.textContent?.endsWith('a@ **b**')).toBe(true);
  expect(shown.querySelector('strong')).toBeNull();
});
