import { formatWord } from './format.ts';

/** The tone of a status, shown as a color. */
export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'calm';

interface StateWord {
  word: string;
  tone: Tone;
  /** Whether work is in progress. */
  pulse?: boolean;
}

/** The states of a run. Lists, filters, charts and timelines use the same word. */
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

/** The word and tone of a state. An unknown state is shown by its API name. */
export function wordOfState(state: string): StateWord {
  return state in states ? states[state as State] : { word: formatWord(state), tone: 'calm' };
}

/** What became of a time of a schedule, or of an event about a subject. The words are the names in the API, which the CLI prints. */
const fates = {
  waiting: { word: 'Waiting', tone: 'busy' },
  started: { word: 'Started', tone: 'good' },
  continued: { word: 'Continued', tone: 'good' },
  merged_into: { word: 'Merged into', tone: 'good' },
  superseded: { word: 'Superseded', tone: 'calm' },
  no_match: { word: 'No match', tone: 'calm' },
  duplicate: { word: 'Duplicate', tone: 'calm' },
  rejected: { word: 'Rejected', tone: 'bad' },
  skipped: { word: 'Skipped', tone: 'warn' },
  missed: { word: 'Missed', tone: 'bad' },
  failed: { word: 'Failed', tone: 'bad' },
} satisfies Record<string, StateWord>;

/** The word and tone of a fate. An unknown fate is shown by its API name. */
export function wordOfFate(fate: string): StateWord {
  return fate in fates ? fates[fate as keyof typeof fates] : { word: formatWord(fate), tone: 'calm' };
}
