import type { Automation, FilterCheck } from '@penstock/sdk';
import { keepsNumbers } from '../automations/pointer.ts';

/** A key of a payload, its value, and what the filter of an automation expects of it. */
export interface Mismatch {
  /** The key with those above it, such as data.status. */
  name: string;
  /** The values as JSON; none if the key is missing. */
  actual: string[];
  expected: Expected;
}

/** What a condition expects: words, and then values. */
interface Expected {
  words: string;
  values: string[];
}

const anObject = 'an object';

/** The most values of a sentence, and the longest one. */
const [most, longest] = [3, 80];

/**
 * Explains why the payload does not match the filter of an automation, at the JSON pointer where it failed. Returns undefined if the automation
 * has changed since and now expects nothing there, if a browser would round a number, or if the values alone do not explain it.
 */
export function mismatchOf(pointer: string, payload: string, { triggers }: Pick<Automation, 'triggers'>): Mismatch | undefined {
  const path = partsOf(pointer);
  for (const { provider, filter } of triggers) {
    const expected = provider === 'webhook' ? expectedOf(below(filter?.payload, path)) : undefined;
    if (expected !== undefined) {
      const values = parsed(payload);
      return values && explained(path, listed(valuesAt(values[0], path)), expected);
    }
  }
  return undefined;
}

/** Explains a failed check of a filter that was tested, from the values that the server found. */
export function mismatchOfCheck({ path, actual = [] }: Pick<FilterCheck, 'path' | 'actual'>, filter: unknown): Mismatch | undefined {
  const parts = partsOf(path ?? '');
  const expected = parts.length > 0 ? expectedOf(below(filter, parts)) : undefined;
  return expected && explained(parts, actual.length > most ? [...actual.slice(0, most), '…'] : actual, expected);
}

/** The sentence, unless an object is expected and found: then its keys or the others in its array are the reason. */
function explained(path: readonly string[], actual: string[], expected: Expected): Mismatch | undefined {
  const found = expected.words === anObject && actual.some((value) => value.startsWith('{'));
  return found ? undefined : { name: path.join('.'), actual, expected };
}

const partsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

function parsed(payload: string): [unknown] | undefined {
  try {
    return keepsNumbers(payload) ? [JSON.parse(payload)] : undefined;
  } catch {
    return undefined;
  }
}

function below(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), value);
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The values at a path. An array on the way stands for each of its elements. */
function valuesAt(value: unknown, [key, ...rest]: readonly string[]): unknown[] {
  if (Array.isArray(value)) {
    return value.flatMap((one) => valuesAt(one, key === undefined ? [] : [key, ...rest]));
  }
  if (key === undefined) {
    return [value];
  }
  return isObject(value) && Object.hasOwn(value, key) ? valuesAt(value[key], rest) : [];
}

/** What a condition expects; undefined without a condition. */
function expectedOf(condition: unknown): Expected | undefined {
  if (Array.isArray(condition)) {
    return oneOf(condition.length > 1 ? 'one of ' : '', condition);
  }
  if (!isObject(condition)) {
    return condition === undefined ? undefined : { words: '', values: [text(condition)] };
  }
  const { in: allowed, not_in: denied, exists } = condition;
  if (Array.isArray(allowed)) {
    return oneOf(allowed.length > 1 ? 'one of ' : '', allowed);
  }
  if (Array.isArray(denied)) {
    return oneOf(denied.length > 1 ? 'none of ' : 'not ', denied);
  }
  const words = exists === true ? 'a value' : exists === false ? 'no such key' : anObject;
  return { words, values: [] };
}

function oneOf(words: string, values: readonly unknown[]): Expected {
  return { words, values: listed(values) };
}

function listed(values: readonly unknown[]): string[] {
  return [...values.slice(0, most).map(text), ...(values.length > most ? [`${values.length - most} more`] : [])];
}

function text(value: unknown): string {
  const json = typeof value === 'string' ? value : JSON.stringify(value);
  return json.length > longest ? `${json.slice(0, longest)}…` : json;
}
