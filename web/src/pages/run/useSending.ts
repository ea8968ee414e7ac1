import type { RunItem } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo, useRef, useState } from 'react';
import { client } from '../../api.ts';
import type { Item, MessageItem, Transcript } from './transcript.ts';

/** A message that this page has sent. */
interface Sent {
  /** Of the message until the server has named it. */
  key: string;
  /** The name that the server gave it. */
  id?: string;
  text: string;
  at: string;
  error?: unknown;
}

export interface Sending {
  /** Sends a message. It is in the transcript at once. */
  send: (text: string) => Promise<void>;
  /** The transcript with the messages that the agent has not received yet. */
  items: readonly Item[];
}

let keys = 0;

/** Sends messages to a run, and shows them before the log has them. */
export function useSending(run: RunItem, log: Transcript): Sending {
  const queries = useQueryClient();
  const [sent, setSent] = useState<readonly Sent[]>([]);
  const change = useCallback((key: string, to: Partial<Sent>): void => {
    setSent((before) => before.map((one) => (one.key === key ? { ...one, ...to } : one)));
  }, []);
  const state = useRef(sent);
  state.current = sent;
  const send = useCallback(
    async (text: string): Promise<void> => {
      keys++;
      const key = `sent:${keys}`;
      const kept = state.current.filter((one) => !(one.error && one.text === text)); // it is sent again
      setSent([...kept, { key, text, at: new Date().toISOString() }]);
      try {
        const { followup_id: id } = await client.runs.followUp(run.run_id, { message: text });
        change(key, { id });
      } catch (error) {
        change(key, { error });
        throw error;
      }
      await queries.invalidateQueries({ queryKey: ['run', run.run_id] });
    },
    [change, queries, run.run_id],
  );
  const { prompt, created_at: at } = run;
  const items = useMemo(() => withPrompt(withWaiting(log, sent), prompt, at), [log, sent, prompt, at]);
  return { send, items };
}

/** Adds to the transcript what waits for the agent: this page's messages, and other people's, whose text the log has only later. */
function withWaiting(log: Transcript, sent: readonly Sent[]): readonly Item[] {
  const known = new Set(log.items.map(({ key }) => key));
  const own = sent.filter(({ id }) => id === undefined || !known.has(`m:${id}`));
  const others = log.queued.filter((id) => !known.has(`m:${id}`) && !sent.some((one) => one.id === id));
  const inFlight = own.some(({ id, error }) => id === undefined && !error); // then a new id can belong to this message
  const waiting: MessageItem[] = [
    ...(inFlight ? [] : others).map((id) => messageOf(`m:${id}`, 'A message sent elsewhere.', undefined, 'queued')),
    ...own.map(({ key, id, text, at, error }) => messageOf(key, text, at, error ? 'unsent' : id ? 'queued' : 'sending')),
  ];
  return waiting.length > 0 ? [...log.items, ...waiting] : log.items;
}

/** Adds the prompt of a run that no agent has received yet. */
function withPrompt(items: readonly Item[], prompt: string | undefined, at: string): readonly Item[] {
  const received = items.some((item) => item.kind === 'message' && item.role === 'user' && item.key.startsWith('m:'));
  return received || !prompt ? items : [messageOf('prompt', prompt, at), ...items];
}

function messageOf(key: string, text: string, at: string | undefined, delivery?: MessageItem['delivery']): MessageItem {
  return { kind: 'message', key, role: 'user', text, at, partial: false, ...(delivery && { delivery }) };
}
