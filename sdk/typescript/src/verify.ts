import { PenstockError } from './errors.js';
import type { EventMessage } from './types.gen.js';

/** What is wrong with the body, the headers or a secret, or the time or signature of a message. */
export type VerificationReason = 'body' | 'header' | 'secret' | 'too_old' | 'from_future' | 'no_match';

/** A message to an event endpoint was refused. The message says why and what to do, and never contains a secret. */
export class VerificationError extends PenstockError {
  override name = 'VerificationError';
  /** What is wrong. */
  readonly reason: VerificationReason;

  constructor(reason: VerificationReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Headers of a request: those of Node (`request.headers`), of `fetch`, a Map, pairs, or any object with names and values. */
export type MessageHeaders =
  | Iterable<readonly [string, string]>
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Options of {@link verify}. */
export interface VerifyOptions {
  /** How far the time of the signature may be from `receivedAt`, in milliseconds. 5 minutes by default. */
  tolerance?: number;
  /** When the message came, as a Date or in milliseconds since 1970. Now by default. For messages that wait in a queue of yours. */
  receivedAt?: Date | number;
}

/** A secret has at least so many bytes (Standard Webhooks). An empty key would let anybody sign. */
const shortestKey = 24;

/** From here on, a time in seconds is one in milliseconds. */
const tooManySeconds = 100_000_000_000;

/**
 * Verifies a message to an event endpoint, as Standard Webhooks say, and returns it.
 *
 * `body` is the body as it was received, before anything parses it. `headers` are those of the request; the case of their
 * names does not matter. `secret` is that of the endpoint, or several of which one must match.
 *
 * Throws a {@link VerificationError}. A type of message that this version does not know is returned like the others.
 * Messages may come twice and in any order: deduplicate them by the header `webhook-id`, and compare `data.sequence` of
 * the same run.
 */
export async function verify(
  body: string | Uint8Array | ArrayBuffer,
  headers: MessageHeaders,
  secret: string | Iterable<string>,
  options: VerifyOptions = {},
): Promise<EventMessage> {
  const raw = bytesOf(body);
  const keys = keysOf(secret);
  const id = single(headers, 'webhook-id');
  const sent = single(headers, 'webhook-timestamp');
  const signatures = signaturesOf(headers);
  checkTime(sent, Number(options.receivedAt ?? Date.now()), options.tolerance ?? 300_000);
  const content = concat(new TextEncoder().encode(`${id}.${sent}.`), raw);
  let matched = false;
  for (const key of keys) {
    const want = await mac(key, content);
    for (const signature of signatures) {
      matched = equal(want, signature) || matched;
    }
  }
  if (!matched) {
    throw new VerificationError(
      'no_match',
      'No signature matches. Either the secret is not that of this endpoint (each has its own, and rotation replaces it), or the body ' +
        'is not the bytes that were received: pass them before anything parses them, not JSON that was printed again.',
    );
  }
  return messageOf(raw);
}

function bytesOf(body: unknown): Uint8Array {
  if (typeof body === 'string') {
    return new TextEncoder().encode(body);
  }
  // Not instanceof: a value of another realm, as in tests or a worker, has other classes.
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  }
  if (Object.prototype.toString.call(body) === '[object ArrayBuffer]') {
    return new Uint8Array(body as ArrayBuffer);
  }
  if (isPromise(body)) {
    throw new VerificationError('body', 'The body is a promise: await it first.');
  }
  throw new VerificationError(
    'body',
    'The body must be the bytes that were received (or their text), not an object that was parsed: ' +
      'await request.text() with fetch, express.raw({ type: "application/json" }) with Express.',
  );
}

function keysOf(secret: unknown): Uint8Array[] {
  const secrets = typeof secret !== 'string' && isIterable(secret) ? [...secret] : [secret];
  return (secrets.length ? secrets : ['']).map(keyOf);
}

function keyOf(secret: unknown): Uint8Array {
  const wrong = (what: string) =>
    new VerificationError('secret', `${what} It is shown once, as whsec_…, when the endpoint is created or its secret rotated.`);
  if (typeof secret !== 'string') {
    throw wrong(`A secret must be a string, not ${secret === null ? 'null' : typeof secret}.`);
  }
  // A file ends with a line feed, and an environment file may keep quotes.
  const text = secret
    .replace(/\s+/g, '')
    .replace(/^["']+|["']+$/g, '')
    .replace(/^whsec_/, '')
    .replace(/=+$/, '');
  if (!text) {
    throw wrong('A secret is empty.');
  }
  let key: Uint8Array;
  try {
    key = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  } catch {
    throw wrong('A secret is not whsec_ with base64.');
  }
  if (key.length < shortestKey) {
    throw wrong(`A secret has ${key.length} bytes, fewer than ${shortestKey}: was it cut?`);
  }
  return key;
}

/** The values of a header, without empty ones. */
function valuesOf(headers: unknown, name: string): string[] {
  if (isPromise(headers)) {
    throw new VerificationError('header', 'The headers are a promise: await it first.');
  }
  if (typeof headers !== 'object' || headers === null) {
    throw new VerificationError('header', 'The headers must be an object with names and values: pass those of the request.');
  }
  const found: string[] = [];
  const add = (key: unknown, value: unknown) => {
    if (String(key).toLowerCase() === name) {
      found.push(...[value].flat().map((each) => String(each ?? '').trim()));
    }
  };
  if (isIterable(headers)) {
    for (const pair of headers) {
      if (!Array.isArray(pair)) {
        throw new VerificationError('header', 'The headers must be pairs of names and values: pass `headers`, not `rawHeaders`.');
      }
      add(pair[0], pair[1]);
    }
  } else if ('get' in headers && typeof headers.get === 'function') {
    add(name, headers.get(name));
  } else {
    for (const [key, value] of Object.entries(headers)) {
      add(key, value);
    }
  }
  if (!found.some(Boolean)) {
    throw new VerificationError(
      'header',
      `The header ${name} is missing. Either the request is not a message of Penstock, or a proxy or framework removed it: pass all ` +
        'headers of the request.',
    );
  }
  return found;
}

function single(headers: unknown, name: string): string {
  // Where a proxy repeats a header, Node and fetch join the values with a comma.
  const found = new Set(valuesOf(headers, name).flatMap((value) => value.split(',').map((part) => part.trim())));
  if (found.size > 1) {
    throw new VerificationError('header', `The header ${name} is there twice, with different values.`);
  }
  return [...found].join();
}

/** The signatures of version 1; others are ignored. */
function signaturesOf(headers: unknown): string[] {
  const text = valuesOf(headers, 'webhook-signature').join(' ');
  const found = [...text.matchAll(/(?:^|[\s,])v1,([A-Za-z0-9+/]+=*)/g)].map((match) => match[1] ?? '');
  if (!found.length) {
    throw new VerificationError('header', 'The header webhook-signature has no signature that begins with v1,');
  }
  return found;
}

function checkTime(sent: string, now: number, tolerance: number): void {
  if (!/^\d{1,15}$/.test(sent) || Number(sent) > tooManySeconds) {
    throw new VerificationError('header', 'The header webhook-timestamp is not a number of seconds since 1970.');
  }
  if (now < tooManySeconds) {
    throw new VerificationError('header', 'receivedAt must be in milliseconds, not seconds.');
  }
  const age = now - Number(sent) * 1000;
  if (Math.abs(age) <= tolerance) {
    return;
  }
  const seconds = Math.round(Math.abs(age) / 1000);
  const advice = `At most ${tolerance / 1000} s are allowed. Compare the clock of this machine`;
  if (age > 0) {
    throw new VerificationError(
      'too_old',
      `The message was signed ${seconds} s ago. ${advice}. If messages wait in a queue, verify them before, or pass receivedAt.`,
    );
  }
  throw new VerificationError('from_future', `The message was signed ${seconds} s ahead. ${advice}.`);
}

async function mac(key: Uint8Array, content: Uint8Array): Promise<string> {
  const subtle = globalThis.crypto?.subtle;
  if (!subtle) {
    throw new PenstockError('verify needs crypto.subtle, which this runtime or an insecure page does not have');
  }
  const imported = await subtle.importKey('raw', key as BufferSource, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const digest = await subtle.sign('HMAC', imported, content as BufferSource);
  return btoa(String.fromCharCode(...new Uint8Array(digest)));
}

/** Compares in a time that does not depend on where the texts differ. */
function equal(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) {
    difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  }
  return difference === 0;
}

function messageOf(raw: Uint8Array): EventMessage {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(raw));
    if (
      typeof value === 'object' &&
      value !== null &&
      'type' in value &&
      typeof value.type === 'string' &&
      'data' in value &&
      typeof value.data === 'object' &&
      value.data !== null
    ) {
      return value as EventMessage;
    }
  } catch {
    // It is not JSON.
  }
  throw new VerificationError('body', 'The signature is right, but the body is not a message of Penstock.');
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as Iterable<unknown>)[Symbol.iterator] === 'function';

const isPromise = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && typeof (value as PromiseLike<unknown>).then === 'function';
