import { PasswordInput, Textarea } from '@mantine/core';
import { errorAt } from '../../ui/Failure.tsx';
import { repositoriesIn, repositoryError } from './forge.ts';

interface TokensProps {
  token: string;
  readToken: string;
  set: (change: { token?: string; readToken?: string }) => void;
  /** The error of the last request. */
  error: unknown;
  /** What the token must be able to do. Without it, the connection has a token, which the server does not show. */
  needs?: string;
  /** Whether the connection has a read token. */
  hasReadToken?: boolean;
}

/** The tokens of a connection. */
export function TokenFields({ token, readToken, set, error, needs, hasReadToken = false }: TokensProps) {
  const keep = 'Leave empty to keep the present one, which is not shown';
  const kept = needs === undefined;
  return (
    <>
      <PasswordInput
        label={kept ? 'New token' : 'Token'}
        description={kept ? keep : needs}
        required={!kept}
        data-autofocus={kept || undefined}
        autoComplete="off"
        error={errorAt(error, '/token')}
        value={token}
        onChange={(event) => set({ token: event.currentTarget.value })}
      />
      <PasswordInput
        label={hasReadToken ? 'New read token' : 'Read token'}
        description={
          hasReadToken ? keep : 'Optional. Requests of runs are sent with it instead. If it can only read, nothing that they send can write'
        }
        autoComplete="off"
        error={errorAt(error, '/read_token')}
        value={readToken}
        onChange={(event) => set({ readToken: event.currentTarget.value })}
      />
    </>
  );
}

/** The repositories that runs may use through a connection. */
export function RepositoriesField({ text, set, error }: { text: string; set: (text: string) => void; error: unknown }) {
  return (
    <Textarea
      label="Repositories"
      description="One per line or with commas: owner/name, or owner/* for all of an owner. Leave empty for all that the bot can read"
      placeholder={'acme/shop\nacme-tools/*'}
      autosize
      minRows={2}
      maxRows={8}
      spellCheck={false}
      classNames={{ input: 'mono' }}
      error={repositoryError(error, repositoriesIn(text))}
      value={text}
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}
