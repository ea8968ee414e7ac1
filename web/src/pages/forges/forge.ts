import type { Forge } from '@penstock/sdk';
import { formatWord } from '../../format.ts';
import type { Tone } from '../../states.ts';
import { errorAt } from '../../ui/Failure.tsx';

const tones: Record<string, Tone> = { pending: 'busy', connected: 'good', degraded: 'warn', revoked: 'bad' };

/** Whether a connection works. */
export function stateOf({ status }: Pick<Forge, 'status'>): { tone: Tone; word: string } {
  return { tone: tones[status] ?? 'calm', word: formatWord(status) };
}

/** The software that people know. An unknown one is shown by its API name. */
export function providerOf({ provider }: Pick<Forge, 'provider'>): string {
  return { github: 'GitHub', gitea: 'Gitea or Forgejo' }[provider as string] ?? formatWord(provider);
}

/** The repositories in a text, with one per line or with commas. */
export function repositoriesIn(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** The server's error about the repositories, or the first of them, which it names. */
export function repositoryError(error: unknown, repositories: readonly string[]): string | undefined {
  const whole = errorAt(error, '/repositories');
  if (whole) {
    return whole;
  }
  for (const [i, repository] of repositories.entries()) {
    const detail = errorAt(error, `/repositories/${i}`);
    if (detail) {
      return `${repository}: ${detail}`;
    }
  }
  return;
}
