import { Alert, Button, Divider, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { goToProvider, providersQuery, sessionQuery, signIn } from '../../api.ts';
import { Code } from '../../ui/Code.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { keyCommand } from './command.ts';
import { safeNext } from './next.ts';
import classes from './SignInPage.module.css';

/** Starts a session at an identity provider, or with an API key. The browser does not store the key. */
export function SignInPage() {
  const { next, ended } = useSearch({ from: '/sign-in' });
  const navigate = useNavigate();
  const router = useRouter();
  const [key, setKey] = useState('');
  const { data: session } = useQuery({ ...sessionQuery, refetchOnWindowFocus: 'always' }); // another tab may have signed in
  const signing = useMutation({ mutationFn: signIn });
  const providers = useQuery(providersQuery);
  const going = useMutation({ mutationFn: goToProvider });
  const list = providers.data ?? [];
  useEffect(() => {
    document.title = 'Sign in · Penstock';
  }, []);
  useEffect(() => {
    if (session) {
      router.history.replace(safeNext(next));
    }
  }, [session, next, router]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    signing.mutate({ api_key: key.trim() }, { onSuccess: () => void navigate({ href: safeNext(next), replace: true }) });
  };
  return (
    <main className={classes.place}>
      <form className={classes.card} onSubmit={submit}>
        <Stack>
          <Title order={1} size="h3">
            Sign in to Penstock
          </Title>
          {ended && !signing.error && (
            <Alert role="status" variant="default">
              Your session has ended. Sign in to continue.
            </Alert>
          )}
          <Failure error={providers.error ?? going.error} />
          {list.map(({ name }) => (
            <Button
              key={name}
              disabled={going.isPending || going.isSuccess}
              onClick={() => going.mutate({ provider: name, next: safeNext(next) })}
            >
              Sign in with {name}
            </Button>
          ))}
          {list.length > 0 && <Divider label="or with an API key" />}
          <PasswordInput
            label="API key"
            description="It begins with psk_. The browser stores a session, not the key."
            placeholder="psk_…"
            autoComplete="current-password"
            required
            autoFocus={list.length === 0}
            value={key}
            onChange={(event) => setKey(event.currentTarget.value)}
            visibilityToggleButtonProps={{ 'aria-label': 'Show the key' }}
          />
          <Failure error={signing.error} />
          <Button type="submit" variant={list.length > 0 ? 'default' : 'filled'} loading={signing.isPending} disabled={key.trim() === ''}>
            Sign in
          </Button>
          <Text size="sm" c="dimmed">
            At its first start, the server wrote an admin key to <code>admin.key</code> in its data folder. To create a key with fewer
            rights, run this command in that folder:
          </Text>
          <Code label="create a key">{keyCommand(window.location.origin)}</Code>
        </Stack>
      </form>
    </main>
  );
}
