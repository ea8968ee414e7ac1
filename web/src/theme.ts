import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';

const penstock: MantineColorsTuple = [
  '#eef2ff',
  '#dbe3fd',
  '#b9c6fa',
  '#95a8f6',
  '#7890f2',
  '#5f7aee',
  '#4a67e6',
  '#3b5bdb',
  '#3350c4',
  '#2b44a8',
];

/** The theme. Every pair of text and background has the contrast of WCAG AA (4.5:1). Mantine's defaults do not. */
export const theme = createTheme({
  colors: { penstock },
  primaryColor: 'penstock',
  primaryShade: { light: 7, dark: 7 },
  defaultRadius: 'sm',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily: 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  // Without the components' extend, which would load all of them with the first page.
  components: {
    Anchor: { defaultProps: { underline: 'always' } },
    Fieldset: { styles: { root: { margin: 0, minWidth: 0 }, legend: { fontSize: '0.875rem', fontWeight: 600 } } },
    Modal: { styles: { title: { fontWeight: 600, lineHeight: 1.35, overflowWrap: 'anywhere' } } },
    Pill: { styles: { root: { color: 'var(--calm)', background: 'var(--calm-ground)' } } },
  },
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5c636a',
    '--mantine-color-placeholder': '#6b7177',
    '--mantine-color-error': '#c92a2a',
    '--mantine-color-anchor': '#3350c4',
  },
  dark: {
    '--mantine-color-dimmed': '#a6a7ab',
    '--mantine-color-placeholder': '#909296',
    '--mantine-color-error': '#ff8787',
    '--mantine-color-anchor': '#95a8f6',
    '--mantine-color-penstock-light-color': '#b9c6fa',
    '--mantine-color-penstock-outline': '#95a8f6',
  },
});
