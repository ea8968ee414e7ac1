import { PenstockError } from './errors.js';
import type { HeaderValues, RequestOptions, Settings } from './options.js';
import { version } from './version.js';

/** What an operation says about its request. */
export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below /api/v1, with the names of its arguments in braces. */
  path: string;
  args?: Record<string, string>;
  body?: unknown;
  /** A body that is sent as it is. */
  content?: Blob;
  query?: object | undefined;
  /** Fields that the body, or the query of a call without one, must have. */
  needs?: readonly string[];
  /** Fields of which it must have one. */
  needsOneOf?: readonly string[];
  /** The parameters that the query may have. */
  known?: readonly string[];
  headers?: HeaderValues;
  /** Whether it is a POST that knows no idempotency key. */
  once?: boolean;
  /** Whether the response may be a redirect to follow. */
  isLink?: boolean;
}

/** A request that can be sent, as often as needed. */
export interface Request {
  /** For messages: the operation's method and path, without values. */
  name: string;
  /** For the log. */
  facts: Record<string, unknown>;
  url: string;
  init: RequestInit;
  /** Whether sending it twice does not do it twice. */
  repeatable: boolean;
  isLink: boolean;
}

/** Checks a call and makes its request. Nothing has been sent when it throws. */
export async function encode(settings: Settings, call: Call, options: RequestOptions, accept: string): Promise<Request> {
  check(call);
  const headers = new Headers({ Accept: accept });
  const body = call.content ? await encodeContent(call.content, headers) : await encodeBody(call.body, headers);
  if (settings.apiKey !== null) {
    headers.set('Authorization', `Bearer ${settings.apiKey}`);
  }
  if ((globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node) {
    headers.set('User-Agent', `penstock-typescript/${version}`); // a browser's own is not to be replaced
  }
  if (options.idempotencyKey !== undefined || (call.method === 'POST' && !call.once)) {
    headers.set('Idempotency-Key', checkKey(options.idempotencyKey ?? randomKey()));
  }
  for (const values of [settings.defaultHeaders, call.headers, options.headers]) {
    setHeaders(headers, values);
  }
  // A path of the caller's own may hold what is nobody else's business.
  const path = call.path.replace(/[?#].*/s, '').replace(/^\/(downloads|uploads)\/[^{]+/, '/$1/…');
  return {
    name: `${call.method} ${path}`,
    facts: { method: call.method, path },
    url: `${settings.baseURL}/api/v1${encodeQuery(fillPath(call.path, call.args), { ...call.query, ...options.query })}`,
    init: { ...settings.fetchOptions, method: call.method, headers, redirect: 'manual', ...(body === undefined ? {} : { body }) },
    repeatable: call.method === 'GET' || headers.has('Idempotency-Key'),
    isLink: call.isLink ?? false,
  };
}

/** Finds wrong arguments that the type checker did not see. */
function check(call: Call): void {
  if (typeof call.path !== 'string' || !/^\/(?!\/)/.test(call.path)) {
    throw new PenstockError('the path must begin with one /, such as /agent/runs');
  }
  const name = `${call.method} ${call.path}`;
  if ('content' in call && !(call.content instanceof Blob)) {
    throw new PenstockError(`${name}: the content must be a Blob`);
  }
  for (const part of ['body', 'query'] as const) {
    const value: unknown = call[part];
    if (part in call && (part === 'body' || value !== undefined) && (typeof value !== 'object' || value === null || Array.isArray(value))) {
      throw new PenstockError(`${name}: the ${part} must be an object`);
    }
  }
  const given = { ...call.query, ...(call.body as object) } as Record<string, unknown>;
  for (const field of call.needs ?? []) {
    if (given[field] === undefined) {
      throw new PenstockError(`${name}: ${field} is required`);
    }
  }
  if (call.needsOneOf && !call.needsOneOf.some((field) => given[field] !== undefined)) {
    throw new PenstockError(`${name}: one of ${call.needsOneOf.join(', ')} is required`);
  }
  for (const parameter of Object.keys(call.known ? (call.query ?? {}) : {})) {
    if (!call.known?.includes(parameter)) {
      throw new PenstockError(`${name}: there is no parameter ${parameter} (options.query takes others)`);
    }
  }
}

/** Puts arguments into a path. One that is empty, or would be taken for a step in the path, would make it another path. */
function fillPath(path: string, args: Record<string, string> = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value: unknown = args[name];
    if (typeof value !== 'string' || value === '' || value === '.' || value === '..') {
      throw new PenstockError(`${path}: ${name} must be a string that is not empty`);
    }
    return encodeURIComponent(value);
  });
}

/** Puts a query behind a path. Lists are repeated, objects written as name[key]=value, what is undefined or null is left out. */
function encodeQuery(path: string, query: Record<string, unknown>): string {
  const params = new URLSearchParams();
  const add = (name: string, value: unknown): void => {
    if (value === undefined || value === null) {
      return;
    }
    if (Array.isArray(value)) {
      for (const item of value) {
        add(name, item);
      }
    } else if (value instanceof Date) {
      params.append(name, value.toISOString());
    } else if (typeof value === 'object') {
      for (const [key, item] of Object.entries(value)) {
        add(`${name}[${key}]`, item);
      }
    } else {
      params.append(name, String(value));
    }
  };
  for (const [name, value] of Object.entries(query)) {
    add(name, value);
  }
  return params.size > 0 ? `${path}${path.includes('?') ? '&' : '?'}${params}` : path;
}

/** JSON, or a form where the body has a file. */
async function encodeBody(body: unknown, headers: Headers): Promise<BodyInit | undefined> {
  if (body === undefined) {
    return undefined;
  }
  const fields = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  if (!fields.some(([, value]) => value instanceof Blob)) {
    headers.set('Content-Type', 'application/json');
    return JSON.stringify(body);
  }
  const form = new FormData();
  for (const [name, value] of fields) {
    if (value !== undefined) {
      form.append(name, value instanceof Blob ? value : String(value));
    }
  }
  // Written out once: each time that fetch does it the boundary is another, and the same Idempotency-Key would come with another body.
  const written = new Response(form);
  headers.set('Content-Type', written.headers.get('Content-Type') ?? 'multipart/form-data');
  return await written.arrayBuffer();
}

/** Read once, so that each try sends the same bytes. */
async function encodeContent(content: Blob, headers: Headers): Promise<BodyInit> {
  headers.set('Content-Type', content.type || 'application/octet-stream');
  return await content.arrayBuffer();
}

function setHeaders(headers: Headers, values: HeaderValues | undefined): void {
  for (const [name, value] of Object.entries(values ?? {})) {
    if (value === null) {
      headers.delete(name);
    } else if (value !== undefined) {
      headers.set(name, value);
    }
  }
}

function checkKey(key: string): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw new PenstockError('idempotencyKey must have 1 to 255 printable characters of ASCII');
  }
  return key;
}

/** 128 random bits. (crypto.randomUUID is missing on pages without TLS.) */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
