import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { formatAbsolute, formatClock } from '../../format.ts';
import { Failure } from '../../ui/Failure.tsx';
import { Markdown } from '../../ui/Markdown.tsx';
import { RunStatus } from '../../ui/Status.tsx';
import { ActionView, GroupView } from './ActionView.tsx';
import { promptOf, type Row, rowsOf } from './rows.ts';
import { TranscriptTools } from './TranscriptTools.tsx';
import classes from './TranscriptView.module.css';
import type { Item, MessageItem } from './transcript.ts';

/** The distance from the end that counts as the end. */
const nearEnd = 48;

export interface TranscriptViewProps {
  runId: string;
  title: string;
  items: readonly Item[];
  /** Whether more items can come. */
  working: boolean;
  /** Sends an undelivered follow-up again; undefined if the reader may not. */
  sendAgain: ((text: string) => Promise<void>) | undefined;
  /** What a reader can do with a turn whose files are kept, by its message; undefined if the reader may not. */
  turnActions?: (messageId: string) => ReactNode;
}

/** The transcript. Only visible lines are in the page. A reader at the end stays at the end when more lines come. */
export function TranscriptView({ runId, title, items: all, working, sendAgain, turnActions }: TranscriptViewProps) {
  const [query, setQuery] = useState('');
  const [errors, setErrors] = useState(false);
  const items = useMemo(() => rowsOf(all, query, errors), [all, query, errors]);
  const prompt = useMemo(() => promptOf(all), [all]);
  const narrowed = errors || query.trim() !== '';
  const box = useRef<HTMLElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(new Map());
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: (i) => (items[i]?.kind === 'action' ? 44 : 90),
    getItemKey: (i) => items[i]?.key ?? i,
    overscan: 8,
  });
  const last = items.at(-1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when items are added
  useEffect(() => {
    if (atEnd && items.length > 0) {
      virtual.scrollToIndex(items.length - 1, { align: 'end' });
    }
  }, [items.length, last, atEnd]);
  const stay = useRef<() => void>(() => {});
  stay.current = () => atEnd && items.length > 0 && virtual.scrollToIndex(items.length - 1, { align: 'end' });
  // A new window size wraps lines differently without a scroll event.
  useEffect(() => {
    const observer = new ResizeObserver(() => stay.current());
    if (box.current) {
      observer.observe(box.current);
    }
    return () => observer.disconnect();
  }, []);
  const seen = useRef({ top: 0, height: 0, width: 0 });
  const scrolled = (): void => {
    const { scrollHeight: height = 0, scrollTop: top = 0, clientHeight = 0, clientWidth: width = 0 } = box.current ?? {};
    const before = seen.current;
    seen.current = { top, height, width };
    if (width !== before.width && atEnd) {
      virtual.scrollToIndex(items.length - 1, { align: 'end' }); // the lines wrapped differently; the reader did not scroll
    } else if (height - top - clientHeight < nearEnd) {
      setAtEnd(true);
    } else if (top < before.top && height >= before.height) {
      setAtEnd(false); // the reader scrolled up; new items alone do not count
    }
  };
  return (
    <div className={classes.frame}>
      <TranscriptTools {...{ runId, title, query, setQuery, errors, setErrors }} items={all} shown={narrowed ? items.length : undefined} />
      {/* It scrolls, which a keyboard must be able to do. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can */}
      <section ref={box} className={classes.box} aria-label="Transcript" tabIndex={0} onScroll={scrolled}>
        <ol className={classes.list} style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((row) => {
            const item = items[row.index];
            return (
              item && (
                <li
                  key={row.key}
                  data-index={row.index}
                  ref={virtual.measureElement}
                  className={classes.row}
                  data-superseded={item.kind !== 'group' && item.superseded ? true : undefined}
                  style={{ transform: `translateY(${row.start}px)` }}
                >
                  <Line
                    item={item}
                    first={item.key === prompt}
                    opened={opened.get(item.key)}
                    open={(to) => setOpened((before) => new Map(before).set(item.key, to))}
                    sendAgain={sendAgain}
                    turnActions={turnActions}
                  />
                </li>
              )
            );
          })}
        </ol>
        {items.length === 0 && (
          <p className={classes.nothing}>
            {narrowed ? 'No line matches.' : working ? 'The agent has not started yet.' : 'The transcript is empty.'}
          </p>
        )}
      </section>
      {!atEnd && (
        <Button size="xs" className={classes.jump ?? ''} onClick={() => setAtEnd(true)}>
          Jump to the end
        </Button>
      )}
    </div>
  );
}

interface LineProps {
  item: Row;
  /** Whether it is the prompt of the run. Later messages of users are follow-ups. */
  first: boolean;
  opened: boolean | undefined;
  open: (to: boolean) => void;
  sendAgain: TranscriptViewProps['sendAgain'];
  turnActions: TranscriptViewProps['turnActions'];
}

const Line = memo(
  ({ item, first, opened, open, sendAgain, turnActions }: LineProps) => {
    switch (item.kind) {
      case 'message':
        return <MessageView {...{ item, first, sendAgain, turnActions }} />;
      case 'mark':
        return <div className={classes.state}>{item.text}</div>;
      case 'thought':
        return (
          <details className={classes.thought} open={opened ?? false} onToggle={(event) => open(event.currentTarget.open)}>
            <summary>Thought</summary>
            <div className="plain">{item.text}</div>
          </details>
        );
      case 'action':
        return <ActionView item={item} opened={opened} open={open} />;
      case 'group':
        return <GroupView items={item.items} />;
      default:
        return (
          <div className={classes.state}>
            <RunStatus state={item.state} />
            {item.message && <span className="plain">{item.message.message}</span>}
          </div>
        );
    }
  },
  (before, after) =>
    before.item === after.item &&
    before.first === after.first &&
    before.opened === after.opened &&
    before.sendAgain === after.sendAgain &&
    before.turnActions === after.turnActions,
);

/** What became of a follow-up. */
const deliveries: Record<MessageItem['delivery'] & string, string> = {
  sending: 'Sending…',
  queued: 'Queued: delivered after this turn',
  delivered: 'Delivered',
  undelivered: 'Not delivered',
  unsent: 'Not delivered',
};

/** Longer texts are cut until the reader asks for the rest. */
const longest = 20_000;

function MessageView({
  item,
  first,
  sendAgain,
  turnActions,
}: Pick<LineProps, 'first' | 'sendAgain' | 'turnActions'> & { item: MessageItem & { superseded?: boolean } }) {
  const [whole, setWhole] = useState(false);
  const cut = item.text.length > longest && !whole;
  const text = cut ? item.text.slice(0, longest) : item.text;
  const mine = item.role === 'user';
  const failed = item.delivery === 'undelivered' || item.delivery === 'unsent';
  return (
    <article className={classes.message} data-role={item.role}>
      <header className={classes.who}>
        {mine ? (first ? 'Prompt' : 'Follow-up') : 'Agent'}
        {item.delivery && (
          <span className={classes.delivery} data-bad={failed || undefined}>
            {deliveries[item.delivery]}
          </span>
        )}
        {item.superseded && <span className={classes.delivery}>Superseded</span>}
        {item.at && (
          <time dateTime={item.at} title={formatAbsolute(item.at)}>
            {formatClock(item.at)}
          </time>
        )}
        {mine && !item.superseded && turnActions?.(item.key.slice(2))}
      </header>
      {mine ? <div className="plain">{text}</div> : <Markdown>{text}</Markdown>}
      {cut && (
        <Button size="compact-xs" variant="default" onClick={() => setWhole(true)}>
          Show all {Math.round(item.text.length / 1000)} kB
        </Button>
      )}
      {failed && sendAgain && <SendAgain text={item.text} send={sendAgain} />}
    </article>
  );
}

/** Sends a follow-up again, once. It then appears at the end of the transcript. */
function SendAgain({ text, send }: { text: string; send: (text: string) => Promise<void> }) {
  const sending = useMutation({ mutationFn: () => send(text) });
  return (
    <>
      <Button size="compact-xs" variant="default" loading={sending.isPending} disabled={sending.isSuccess} onClick={() => sending.mutate()}>
        {sending.isSuccess ? 'Sent again' : 'Send again'}
      </Button>
      <Failure error={sending.error} />
    </>
  );
}
