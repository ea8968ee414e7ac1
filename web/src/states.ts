import { formatWord } from './format.ts';

/** What a colour says again. */
export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'calm';

interface StateWord {
  word: string;
  tone: Tone;
  /** Somebody works on it at this moment. */
  pulse?: boolean;
}

/** The states of a run, each with its one word: in lists, filters, charts and timelines alike. */
export const states = {
  QUEUED: { word: 'Queued', tone: 'calm' },
  CLAIMED: { word: 'Claimed', tone: 'busy', pulse: true },
  PENDING: { word: 'Preparing', tone: 'busy', pulse: true },
  INPROGRESS: { word: 'Working', tone: 'busy', pulse: true },
  BLOCKED: { word: 'Blocked', tone: 'warn' },
  SUCCEEDED: { word: 'Succeeded', tone: 'good' },
  FAILED: { word: 'Failed', tone: 'bad' },
  ERROR: { word: 'Error', tone: 'bad' },
  CANCELLED: { word: 'Cancelled', tone: 'calm' },
} satisfies Record<string, StateWord>;

export type State = keyof typeof states;

/** The word of a state and its colour; one that is newer than this page is shown by its name in the API. */
export function wordOfState(state: string): StateWord {
  return state in states ? states[state as State] : { word: formatWord(state), tone: 'calm' };
}
