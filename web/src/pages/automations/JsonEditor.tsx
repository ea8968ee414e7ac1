import { autocompletion, type Completion, type CompletionSource, closeBrackets, completionKeymap } from '@codemirror/autocomplete';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { bracketMatching, ensureSyntaxTree, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, linter, lintGutter } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, keymap, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { minimalSetup } from 'codemirror';
import { useEffect, useRef } from 'react';
import { nonce } from '../../nonce.ts';
import classes from './JsonEditor.module.css';
import { keepsNumber, rangeOf, repeatedKeys } from './pointer.ts';

/** A problem at a place of the text, as a JSON pointer. */
export interface Finding {
  pointer: string;
  detail: string;
}

export interface JsonEditorProps {
  label: string;
  value: string;
  change: (value: string) => void;
  /** Returns the server's problems with a valid JSON text. Called when the user stops typing. */
  check?: (value: unknown) => Promise<Finding[]>;
  /** The completions for a key. */
  keys?: readonly { label: string; detail: string }[];
  hint?: string;
  readOnly?: boolean;
}

const colors = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--busy)' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
]);

const look = EditorView.theme({
  '&': { fontSize: '0.8125rem', backgroundColor: 'transparent', color: 'inherit' },
  '.cm-content': { fontFamily: 'var(--mantine-font-family-monospace)', minHeight: '4.5em', caretColor: 'currentColor' },
  '.cm-scroller': { maxHeight: '24em' },
  '.cm-cursor': { borderLeftColor: 'currentColor' },
  '.cm-gutters': { backgroundColor: 'transparent', border: '0' },
  '.cm-placeholder': { color: 'var(--mantine-color-placeholder)' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'inherit', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--busy-ground)', color: 'var(--busy)' },
  '&.cm-focused': { outline: 'none' },
});

/** Edits JSON and marks problems in place. Tab leaves the editor, as it leaves every field. */
export default function JsonEditor(props: JsonEditorProps) {
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const made = new EditorView({ parent: parent.current as HTMLDivElement, state: stateOf(() => latest.current) });
    view.current = made;
    return () => made.destroy();
  }, []);
  useEffect(() => {
    const { current } = view;
    if (current && current.state.doc.toString() !== props.value) {
      current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: props.value } });
    }
  }, [props.value]);
  return <div ref={parent} className={classes.editor} />;
}

function stateOf(props: () => JsonEditorProps): EditorState {
  const { label, value, hint = '', readOnly = false } = props();
  return EditorState.create({
    doc: value,
    extensions: [
      EditorView.cspNonce.of(nonce),
      minimalSetup,
      drawSelection(),
      bracketMatching(),
      closeBrackets(),
      indentOnInput(),
      json(),
      syntaxHighlighting(colors),
      look,
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ 'aria-label': label, role: 'textbox', 'aria-multiline': 'true', tabindex: '0' }),
      placeholder(hint),
      autocompletion({ override: [completeKeys(() => props().keys ?? [])], icons: false }),
      keymap.of(completionKeymap),
      lintGutter(),
      linter((view) => diagnose(view, props().check), { delay: 400 }),
      EditorState.readOnly.of(readOnly),
      EditorView.updateListener.of((update) => update.docChanged && props().change(update.state.doc.toString())),
    ],
  });
}

const syntax = jsonParseLinter();

async function diagnose(view: EditorView, check: JsonEditorProps['check']): Promise<Diagnostic[]> {
  const text = view.state.doc.toString();
  if (text.trim() === '') {
    return [];
  }
  const broken = syntax(view);
  if (broken.length > 0) {
    return broken;
  }
  const tree = ensureSyntaxTree(view.state, text.length, 1000);
  if (!tree) {
    return [];
  }
  const found: Diagnostic[] = [];
  tree.iterate({
    enter: ({ name, from, to, node }) => {
      if (name === 'Object') {
        found.push(...repeatedKeys(node, text).map((key): Diagnostic => ({ ...key, severity: 'error', message: 'Duplicate key.' })));
      }
      if (name === 'Number' && !keepsNumber(text.slice(from, to))) {
        found.push({
          from,
          to,
          severity: 'error',
          message: 'A browser would round this number. Set it through the API or in the files.',
        });
      }
    },
  });
  const told = (await check?.(JSON.parse(text))) ?? [];
  return [
    ...found,
    ...told.map(({ pointer, detail }): Diagnostic => ({ ...rangeOf(tree, text, pointer), severity: 'error', message: detail })),
  ];
}

function completeKeys(keys: () => NonNullable<JsonEditorProps['keys']>): CompletionSource {
  return (context) => {
    const before = context.matchBefore(/"?\w*/);
    const line = context.state.sliceDoc(0, before?.from ?? context.pos).trimEnd();
    if (!before || (before.from === before.to && !context.explicit) || !(line === '' || /[{,]$/.test(line))) {
      return null;
    }
    const closed = context.state.sliceDoc(context.pos, context.pos + 1) === '"';
    const options = keys().map(
      ({ label, detail }): Completion => ({
        label: `"${label}"`,
        detail,
        apply: (view, _, from, to) => {
          const insert = `"${label}": `;
          view.dispatch({ changes: { from, to: closed ? to + 1 : to, insert }, selection: { anchor: from + insert.length } });
        },
      }),
    );
    return { from: before.from, options };
  };
}
