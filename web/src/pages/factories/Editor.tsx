import { yaml, yamlFrontmatter } from '@codemirror/lang-yaml';
import { defineLanguageFacet, HighlightStyle, Language, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic as Finding, lintGutter, setDiagnostics } from '@codemirror/lint';
import { EditorState, type Extension, type Text } from '@codemirror/state';
import { tags } from '@lezer/highlight';
import { parser } from '@lezer/markdown';
import type { Diagnostic } from '@penstock/sdk';
import { basicSetup, EditorView } from 'codemirror';
import { useEffect, useRef } from 'react';
import { nonce } from '../../nonce.ts';

const theme = EditorView.theme({
  '&': { height: '100%', fontSize: '0.8125rem', backgroundColor: 'var(--raised)', color: 'inherit' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', overflow: 'auto' },
  '.cm-content': { caretColor: 'currentColor' },
  '.cm-cursor': { borderLeftColor: 'currentColor' },
  '.cm-gutters': { backgroundColor: 'var(--ground)', color: 'var(--mantine-color-dimmed)', border: '0' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'light-dark(#0000000a, #ffffff0d)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'light-dark(#cfdaff, #33406e) !important' },
  '.cm-tooltip, .cm-panels': { backgroundColor: 'var(--raised)', color: 'inherit', border: '1px solid var(--line)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--ground)', color: 'inherit', border: '1px solid var(--line)' },
});

const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName), tags.heading], color: 'var(--busy)' },
  { tag: [tags.string, tags.url], color: 'var(--good)' },
  { tag: [tags.bool, tags.number, tags.null, tags.keyword, tags.atom], color: 'var(--warn)' },
  { tag: [tags.comment, tags.meta, tags.processingInstruction], color: 'var(--mantine-color-dimmed)' },
  { tag: tags.heading, fontWeight: '600' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.strong, fontWeight: '600' },
]);

/** Markdown without syntax highlighting of its code blocks, whose grammars are many times as large. */
const markdown = new Language(defineLanguageFacet(), parser, [], 'markdown');

function languageOf(path: string): Extension {
  if (path.endsWith('.md')) {
    return yamlFrontmatter({ content: markdown });
  }
  return /\.ya?ml$/.test(path) ? yaml() : [];
}

export interface EditorProps {
  path: string;
  text: string;
  readOnly: boolean;
  /** The findings of this file. */
  diagnostics: Diagnostic[];
  /** The place to go to when it changes. */
  goTo: { line: number } | undefined;
  change: (text: string) => void;
}

/** Edits a file. Use the path as the key, so that each file has its own undo history. */
export default function Editor({ path, text, readOnly, diagnostics, goTo, change }: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const changed = useRef(change);
  changed.current = change;

  // biome-ignore lint/correctness/useExhaustiveDependencies: created once for a path; the text comes from this editor
  useEffect(() => {
    const extensions = [
      basicSetup,
      EditorView.cspNonce.of(nonce),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ 'aria-label': path }),
      EditorState.readOnly.of(readOnly),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) {
          changed.current(update.state.doc.toString());
        }
      }),
      languageOf(path),
      lintGutter(),
      theme,
      syntaxHighlighting(colors),
    ];
    const made = new EditorView({ doc: text, extensions, ...(place.current ? { parent: place.current } : {}) });
    view.current = made;
    return () => made.destroy();
  }, [path, readOnly]);

  useEffect(() => {
    const now = view.current;
    now?.dispatch(
      setDiagnostics(
        now.state,
        diagnostics.map((one) => findingOf(one, now.state.doc)),
      ),
    );
  }, [diagnostics]);

  useEffect(() => {
    const now = view.current;
    if (now && goTo) {
      const line = now.state.doc.line(Math.min(Math.max(goTo.line, 1), now.state.doc.lines));
      now.dispatch({ selection: { anchor: line.from }, effects: EditorView.scrollIntoView(line.from, { y: 'center' }) });
      now.focus();
    }
  }, [goTo]);

  return <div ref={place} style={{ height: '100%', minHeight: 0 }} />;
}

/** Marks a finding from its character to the end of the line. The text may have changed since. */
function findingOf({ line, column, severity, message, code, nearest }: Diagnostic, doc: Text): Finding {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const from = Math.min(at.from + Math.max(column - 1, 0), at.to);
  return {
    from,
    to: at.to,
    severity: severity === 'note' ? 'info' : severity === 'warning' ? 'warning' : 'error',
    message: nearest ? `${message}. Did you mean ${nearest}?` : message,
    source: code,
  };
}
