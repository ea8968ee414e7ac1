import { textOf } from '../../json.ts';
import { isFailed, subjectOf, verbOf } from './ActionView.tsx';
import type { ActionItem, Item } from './transcript.ts';

/** The same action several times in a row. */
export interface GroupItem {
  kind: 'group';
  key: string;
  items: readonly ActionItem[];
}

export type Row = Item | GroupItem;

/** The lines of a transcript that have the text and, if errors is set, that failed. The same action in a row is one line. */
export function rowsOf(items: readonly Item[], query: string, errors: boolean): Row[] {
  const wanted = query.trim().toLowerCase();
  const rows: Row[] = [];
  for (const item of items) {
    if ((errors && !isError(item)) || (wanted && !wordsOf(item).toLowerCase().includes(wanted))) {
      continue;
    }
    const last = rows.at(-1);
    if (item.kind === 'action' && last?.kind === 'group' && isSame(last.items[0], item)) {
      rows[rows.length - 1] = { ...last, items: [...last.items, item] };
    } else if (item.kind === 'action' && last?.kind === 'action' && isSame(last, item)) {
      rows[rows.length - 1] = { kind: 'group', key: `g:${last.key}`, items: [last, item] };
    } else {
      rows.push(item);
    }
  }
  return rows;
}

/** Whether two actions are the same. Each edit counts, because its changes are shown. */
function isSame(a: ActionItem | undefined, b: ActionItem): boolean {
  return (
    b.name !== 'edit_files' &&
    a?.name === b.name &&
    subjectOf(a) === subjectOf(b) &&
    subjectOf(b) !== '' &&
    JSON.stringify(a.input) === JSON.stringify(b.input)
  );
}

function isError(item: Item): boolean {
  switch (item.kind) {
    case 'action':
      return isFailed(item);
    case 'state':
      return item.state === 'FAILED' || item.state === 'ERROR';
    case 'message':
      return item.delivery === 'undelivered' || item.delivery === 'unsent';
    default:
      return false;
  }
}

/** All words of a line, also those that are shown only when it is opened. */
function wordsOf(item: Item): string {
  switch (item.kind) {
    case 'action':
      return [verbOf(item), ...Object.values(item.input), ...Object.values(item.output ?? {})]
        .map((value) => (typeof value === 'string' ? value : textOf(value)))
        .join('\n');
    case 'state':
      return `${item.state} ${item.message?.message ?? ''}`;
    default:
      return item.text;
  }
}

/** The key of the prompt: the first message of a user. Later ones are follow-ups. */
export function promptOf(items: readonly Item[]): string | undefined {
  return items.find((item) => item.kind === 'message' && item.role === 'user')?.key;
}

/** The transcript as Markdown. */
export function markdownOf(title: string, items: readonly Item[]): string {
  const prompt = promptOf(items);
  return `${[`# ${title}`, ...items.map((item) => sectionOf(item, item.key === prompt))].join('\n\n')}\n`;
}

function sectionOf(item: Item, first: boolean): string {
  switch (item.kind) {
    case 'message':
      return `## ${item.role === 'user' ? (first ? 'Prompt' : 'Follow-up') : 'Agent'}\n\n${item.text}`;
    case 'thought':
      return `> ${item.text.split('\n').join('\n> ')}`;
    case 'action': {
      const parts = [textOf(item.input), item.output && textOf(item.output)].filter(Boolean);
      return `**${verbOf(item)} ${subjectOf(item)}**${isFailed(item) ? ' (failed)' : ''}\n\n${parts.map(fenced).join('\n\n')}`;
    }
    case 'mark':
      return `**${item.text}**`;
    default:
      return `**${item.state}** ${item.message?.message ?? ''}`.trim();
  }
}

/** A code block whose fence is longer than any in the text. */
function fenced(text: string | undefined): string {
  const longest = Math.max(2, ...(text?.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}json\n${text}\n${fence}`;
}
