import type { Delivery } from '@penstock/sdk';
import type { Place } from './lines.ts';

/** A part of a sentence. code is the name of a key or a value, which the server puts between backticks. */
interface Part {
  text: string;
  code: boolean;
}

/** Splits a sentence of the server. Values have no backticks of their own. */
export function partsOf(sentence: string): Part[] {
  return sentence
    .split('`')
    .map((text, i) => ({ text, code: i % 2 === 1 }))
    .filter(({ text }) => text !== '');
}

/** The places of a payload that the filters of automations did not match, each with the server's sentence. */
export function placesOf({ matches }: Pick<Delivery, 'matches'>): Place[] {
  return matches.flatMap(({ automation, check, failed_at, reason = '' }) =>
    check === 'payload' && failed_at?.startsWith('/') ? [{ pointer: failed_at, note: `${automation}: ${reason.replaceAll('`', '')}` }] : [],
  );
}
