import { APIConnectionError } from './errors.js';

/** An event as it was sent. */
export interface RawEvent {
  /** Undefined when this event had none of its own. */
  id: string | undefined;
  event: string;
  data: string;
}

/** More than any event of the API has; a stream without line ends must not fill the memory. */
const longest = 64 << 20;

/** Reads a stream of events (HTML Standard §9.2.6), in chunks that may end anywhere. */
export class SSEParser {
  /** How many milliseconds the server asks to wait before the next connection, once. */
  #retry: number | undefined;
  #decoder = new TextDecoder();
  #rest = '';
  #event = '';
  #id: string | undefined;
  #data: string[] = [];

  /** A new connection begins: what was cut off in the middle is dropped. */
  restart(): void {
    this.#decoder = new TextDecoder();
    this.#rest = '';
    this.#clear();
  }

  /** The wait that the server has asked for since the last look. */
  get retry(): number | undefined {
    const retry = this.#retry;
    this.#retry = undefined;
    return retry;
  }

  /** The events that the chunk completes. */
  *push(chunk: Uint8Array): Generator<RawEvent, void, undefined> {
    let text = this.#rest + this.#decoder.decode(chunk, { stream: true });
    // A CR at the end may be half of a CRLF.
    const half = text.endsWith('\r') ? '\r' : '';
    text = half ? text.slice(0, -1) : text;
    const lines = text.split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? '') + half;
    if (this.#rest.length > longest) {
      throw new APIConnectionError(`a line of the stream is longer than ${longest} characters`);
    }
    for (const line of lines) {
      const event = this.#line(line);
      if (event) {
        yield event;
      }
    }
  }

  /** Takes one line; an empty one ends an event. */
  #line(line: string): RawEvent | undefined {
    if (line === '') {
      const event = { id: this.#id, event: this.#event || 'message', data: this.#data.join('\n') };
      const isEmpty = this.#data.length === 0;
      this.#clear();
      return isEmpty ? undefined : event;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') {
      this.#data.push(value);
    } else if (field === 'event') {
      this.#event = value;
    } else if (field === 'id' && /^\d+$/.test(value)) {
      this.#id = value;
    } else if (field === 'retry' && /^\d+$/.test(value)) {
      this.#retry = Math.min(Number(value), 60_000);
    }
    return undefined;
  }

  #clear(): void {
    this.#event = '';
    this.#id = undefined;
    this.#data = [];
  }
}
