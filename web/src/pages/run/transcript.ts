import type { ArtifactItem, ContentBlock, Plan, RequestUsage, RunEvent, RunStatusMessage, TimelineEvent } from '@penstock/sdk';
import { textOf } from '../../json.ts';

/** A line of the transcript. A changed item is a new object, so that unchanged items do not render again. */
export type Item = (MessageItem | ThoughtItem | ActionItem | StateItem | MarkItem) & {
  /** The run went back to an earlier turn since. */
  superseded?: boolean;
};

export interface MessageItem {
  kind: 'message';
  key: string;
  role: string;
  text: string;
  at: string | undefined;
  /** The agent is still writing it. */
  partial: boolean;
  /** What became of a follow-up. It is undelivered if the run ended first, and unsent if the server did not accept it. */
  delivery?: 'sending' | 'queued' | 'delivered' | 'undelivered' | 'unsent';
}

export interface ThoughtItem {
  kind: 'thought';
  key: string;
  text: string;
}

export interface ActionItem {
  kind: 'action';
  key: string;
  category: string;
  name: string;
  input: Record<string, unknown>;
  state: string;
  output: Record<string, unknown> | undefined;
}

export interface StateItem {
  kind: 'state';
  key: string;
  state: string;
  execution: number | undefined;
  message: RunStatusMessage | undefined;
}

/** Where the run went back to an earlier turn. */
export interface MarkItem {
  kind: 'mark';
  key: string;
  text: string;
}

/** The state of a run, folded from its log: everything that its page shows live. */
export interface Transcript {
  items: readonly Item[];
  timeline: readonly TimelineEvent[];
  /** The ids of the follow-ups that the agent has not received yet. */
  queued: readonly string[];
  artifacts: readonly ArtifactItem[];
  plan: Plan | undefined;
  usage: RequestUsage | undefined;
  state: string | undefined;
  statusMessage: RunStatusMessage | undefined;
  execution: number;
  /** The number of states and messages of users so far. Each of them can change what other queries answer, even if the state is the same again. */
  steps: number;
  /** The id of the last event in it. */
  lastId: number;
  /** The log has ended, since the run is finished. A follow-up can extend it. */
  done: boolean;
}

export const emptyTranscript: Transcript = {
  items: [],
  timeline: [],
  queued: [],
  artifacts: [],
  plan: undefined,
  usage: undefined,
  state: undefined,
  statusMessage: undefined,
  execution: 0,
  steps: 0,
  lastId: 0,
  done: false,
};

/** States that have a line in the transcript. */
const told = new Set(['BLOCKED', 'SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED']);

/** Adds events in order to transcripts of one run. It knows the position of each message and action. */
export class Folder {
  readonly #places = new Map<string, number>();
  readonly #delivered = new Set<string>();

  /** Returns the transcript with the events added. It skips events that the transcript already has. */
  fold(before: Transcript, events: readonly RunEvent[]): Transcript {
    const next = { ...before, items: [...before.items], timeline: [...before.timeline], artifacts: [...before.artifacts] };
    for (const event of events) {
      const id = 'id' in event && typeof event.id === 'number' ? event.id : undefined;
      if (id !== undefined && id <= next.lastId) {
        continue;
      }
      next.lastId = id ?? next.lastId;
      this.#add(next, event);
    }
    return next;
  }

  #add(next: Mutable, event: RunEvent): void {
    switch (event.event) {
      case 'state':
      case 'done':
        this.#state(next, event);
        break;
      case 'message_delta': {
        const { message_id, role, text } = event.data;
        const known = this.#known(next, `m:${message_id}`);
        const so = known?.kind === 'message' ? known.text : '';
        this.#put(next, { kind: 'message', key: `m:${message_id}`, role, text: so + text, at: undefined, partial: true });
        break;
      }
      case 'message':
        this.#supersede(next, event.data.content);
        next.steps += event.data.role === 'user' ? 1 : 0;
        for (const item of itemsOf(event.data.message_id, event.data.role, event.data.content, event.data.timestamp)) {
          this.#put(
            next,
            item.kind === 'message' && this.#delivered.has(event.data.message_id) ? { delivery: 'delivered', ...item } : item,
          );
        }
        break;
      case 'action': {
        const { id, category, name, input } = event.data;
        this.#put(next, { kind: 'action', key: `a:${id}`, category, name, input, state: 'running', output: undefined });
        break;
      }
      case 'action_result':
        this.#result(next, event.data);
        break;
      case 'plan':
        next.plan = event.data;
        break;
      case 'usage':
        next.usage = event.data;
        break;
      case 'artifact':
        next.artifacts.push(event.data);
        break;
      case 'timeline':
        next.timeline.push(event.data);
        this.#followUp(next, event.data);
        break;
      default: // unknown to this page
    }
  }

  /** Marks everything after the turn to which the run went back, if the message says so. */
  #supersede(next: Mutable, content: readonly ContentBlock[]): void {
    const block = content.find((one) => one.type === 'event' && one.name === 'rewound');
    if (block?.type !== 'event') {
      return;
    }
    const turn = this.#places.get(`m:${String(block.data.message_id)}`) ?? -1;
    const after = next.items.findIndex((item, i) => i > turn && item.kind === 'message' && item.role === 'user');
    for (let i = after; i >= 0 && i < next.items.length; i++) {
      next.items[i] = { ...(next.items[i] as Item), superseded: true };
    }
  }

  #followUp(next: Mutable, { event_type, payload }: TimelineEvent): void {
    const id = payload?.followup_id;
    if (typeof id !== 'string') {
      return;
    }
    if (event_type === 'followup_received') {
      next.queued = [...next.queued, id];
    } else if (event_type === 'followup_delivered' || event_type === 'followup_undelivered') {
      next.queued = next.queued.filter((one) => one !== id);
      const known = this.#known(next, `m:${id}`);
      if (event_type === 'followup_delivered') {
        this.#delivered.add(id);
        if (known?.kind === 'message') {
          this.#put(next, { ...known, delivery: 'delivered' });
        }
      }
    }
  }

  #state(next: Mutable, event: Extract<RunEvent, { event: 'state' | 'done' }>): void {
    const { state, status_message, execution_id } = event.data;
    const repeated = event.event === 'done' && next.state === state;
    next.state = state;
    next.steps++;
    next.statusMessage = status_message;
    next.execution = execution_id ?? next.execution;
    next.done = event.event === 'done';
    if (told.has(state) && !repeated) {
      this.#put(next, { kind: 'state', key: `s:${next.lastId}`, state, execution: execution_id, message: status_message });
    }
  }

  #result(
    next: Mutable,
    result: { action_id: string; category: string; name: string; state: string; output: Record<string, unknown> },
  ): void {
    const key = `a:${result.action_id}`;
    const known = this.#known(next, key);
    const { category, name, state, output } = result;
    this.#put(next, { kind: 'action', key, category, name, input: known?.kind === 'action' ? known.input : {}, state, output });
  }

  #known(next: Mutable, key: string): Item | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : next.items[place];
  }

  /** Replaces an item in place, or appends it. */
  #put(next: Mutable, item: Item): void {
    const place = this.#places.get(item.key);
    if (place === undefined) {
      this.#places.set(item.key, next.items.length);
      next.items.push(item);
    } else {
      next.items[place] = item;
    }
  }
}

type Mutable = Omit<Transcript, 'items' | 'timeline' | 'artifacts'> & {
  items: Item[];
  timeline: TimelineEvent[];
  artifacts: ArtifactItem[];
};

/** The items of a message: its texts joined, and its other parts. */
function itemsOf(id: string, role: string, content: readonly ContentBlock[], at: string | undefined): Item[] {
  const items: Item[] = [];
  const texts: string[] = [];
  let undelivered = false;
  for (const [i, block] of content.entries()) {
    switch (block.type) {
      case 'text':
        texts.push(block.text);
        break;
      case 'action':
        items.push({
          kind: 'action',
          key: `a:${block.id}`,
          category: block.category,
          name: block.name,
          input: block.input,
          state: 'running',
          output: undefined,
        });
        break;
      case 'event':
        if (block.name === 'rewound') {
          items.push({ kind: 'mark', key: `r:${id}`, text: `Back to turn ${String(block.data.turn)}` });
          break;
        }
        if (block.name === 'followup_undelivered') {
          undelivered = true;
          break;
        }
        items.push({ kind: 'thought', key: `t:${id}:${i}`, text: readable(block.data) });
        break;
      default: // a result belongs to its action; other types are unknown to this page
    }
  }
  const text = texts.join('\n\n');
  const message: MessageItem = {
    kind: 'message',
    key: `m:${id}`,
    role,
    text,
    at,
    partial: false,
    ...(undelivered && { delivery: 'undelivered' }),
  };
  return text ? [message, ...items] : items;
}

/** The readable part of an agent event. */
function readable(data: Record<string, unknown>): string {
  return typeof data.text === 'string' ? data.text : textOf(data);
}
