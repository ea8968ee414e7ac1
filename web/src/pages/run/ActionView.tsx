import { useState } from 'react';
import { formatDuration, formatWord } from '../../format.ts';
import { textOf } from '../../json.ts';
import { Code } from '../../ui/Code.tsx';
import { Icon, type IconName } from '../../ui/Icon.tsx';
import classes from './ActionView.module.css';
import { DiffView, type FileChange } from './DiffView.tsx';
import type { ActionItem } from './transcript.ts';

const icons: Record<string, IconName> = {
  command: 'terminal',
  files: 'file',
  search: 'search',
  integration: 'link',
  documents: 'file',
  review: 'user',
  skill: 'bolt',
  computer: 'server',
};

/** The label of an action while it runs, and after it finished. */
const verbs: Record<string, readonly [string, string]> = {
  run_command: ['Running', 'Ran'],
  read_files: ['Reading', 'Read'],
  edit_files: ['Editing', 'Edited'],
  search_files: ['Searching for', 'Searched for'],
  call_mcp_tool: ['Calling', 'Called'],
  read_skill: ['Reading the skill', 'Read the skill'],
  create_artifact: ['Saving the artifact', 'Saved the artifact'],
  ask_user: ['Asking', 'Asked'],
  update_plan: ['Updating the plan', 'Updated the plan'],
  fetch_url: ['Fetching', 'Fetched'],
  switch_mode: ['Switching the mode', 'Switched the mode'],
  think: ['Thinking', 'Thought'],
};

/** The label of an action. An unknown action is shown by its name. */
export function verbOf({ name, state }: Pick<ActionItem, 'name' | 'state'>): string {
  const known = verbs[name];
  return known ? known[state === 'running' ? 0 : 1] : formatWord(name);
}

interface ActionViewProps {
  item: ActionItem;
  /** undefined: the reader has not toggled it, and its kind decides. */
  opened: boolean | undefined;
  open: (to: boolean) => void;
}

/** An action of the agent in one line. When opened, it also shows the input and the result. */
export function ActionView({ item, opened, open }: ActionViewProps) {
  const changes = changesOf(item);
  const shown = opened ?? changes.length > 0;
  return (
    <details
      className={classes.action}
      open={shown}
      onToggle={(event) => event.currentTarget.open !== shown && open(event.currentTarget.open)}
    >
      <summary className={classes.line}>
        <Icon name={icons[item.category] ?? 'bolt'} />
        <span className={classes.what}>
          {verbOf(item)} <span className="mono">{subjectOf(item)}</span>
        </span>
        <Outcome item={item} />
        <Icon name="chevron" size={12} />
      </summary>
      {shown && (
        <div className={classes.more}>
          {changes.map((change) => (
            <DiffView key={change.path + change.new_text.length} change={change} />
          ))}
          {changes.length === 0 && <Values label="Input" values={item.input} />}
          <Values label="Result" values={rest(item.output)} />
        </div>
      )}
    </details>
  );
}

/** Whether an action failed. */
export function isFailed({ state, output }: Pick<ActionItem, 'state' | 'output'>): boolean {
  const code = output?.exit_code;
  return state === 'failed' || state === 'denied' || (typeof code === 'number' && code !== 0);
}

/** The same action several times in a row, as one line until it is opened. */
export function GroupView({ items }: { items: readonly ActionItem[] }) {
  const [shown, show] = useState(false);
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(new Map());
  const last = items.at(-1);
  return (
    last && (
      <details className={classes.action} open={shown} onToggle={(event) => show(event.currentTarget.open)}>
        <summary className={classes.line}>
          <Icon name={icons[last.category] ?? 'bolt'} />
          <span className={classes.what}>
            {verbOf(last)} <span className="mono">{subjectOf(last)}</span>
          </span>
          <span className={classes.outcome}>{items.length} times</span>
          <Outcome item={last} />
          <Icon name="chevron" size={12} />
        </summary>
        {shown &&
          items.map((item) => (
            <ActionView
              key={item.key}
              item={item}
              opened={opened.get(item.key)}
              open={(to) => setOpened((before) => new Map(before).set(item.key, to))}
            />
          ))}
      </details>
    )
  );
}

function Outcome({ item }: { item: ActionItem }) {
  const { exit_code: code, duration_ms: took } = item.output ?? {};
  const bad = isFailed(item);
  const words = [
    item.state === 'running' || item.state === 'completed' ? '' : item.state,
    typeof code === 'number' ? `exit ${code}` : '',
    typeof took === 'number' ? formatDuration(took) : '',
  ];
  return (
    <span className={classes.outcome} data-bad={bad || undefined}>
      {words.filter(Boolean).join(' · ')}
    </span>
  );
}

/** The subject of an action, on one line. */
export function subjectOf({ input }: Pick<ActionItem, 'input'>): string {
  for (const name of ['command', 'query', 'paths', 'path', 'question', 'url', 'tool', 'name', 'skill_path', 'title', 'description']) {
    const value = input[name];
    const text = Array.isArray(value) ? value.join(', ') : value;
    if (typeof text === 'string' && text) {
      return text.split('\n', 1)[0] ?? '';
    }
  }
  return '';
}

/** The changed files, if the agent reported the changes. */
function changesOf({ name, output }: ActionItem): FileChange[] {
  const files = name === 'edit_files' && Array.isArray(output?.files) ? (output.files as Record<string, unknown>[]) : [];
  return files.map((file) => ({
    path: String(file.path ?? ''),
    old_text: typeof file.old_text === 'string' ? file.old_text : undefined,
    new_text: typeof file.new_text === 'string' ? file.new_text : '',
  }));
}

/** The result without the parts that are already shown. */
function rest(output: Record<string, unknown> | undefined): Record<string, unknown> {
  const { files: _, exit_code: __, duration_ms: ___, ...others } = output ?? {};
  return others;
}

/** Formats a value. A list of strings becomes lines. */
function readable(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) {
    return value.join(', ');
  }
  return typeof value === 'string' ? value : textOf(value);
}

function Values({ label, values }: { label: string; values: Record<string, unknown> }) {
  const entries = Object.entries(values);
  if (entries.length === 0) {
    return null;
  }
  const [only] = entries;
  const plain = entries.length === 1 && typeof only?.[1] === 'string' ? only[1] : undefined;
  const text = plain ?? entries.map(([name, value]) => `${name}: ${readable(value)}`).join('\n');
  return (
    <div>
      <div className={classes.label}>{label}</div>
      <Code label={label}>{text}</Code>
    </div>
  );
}
