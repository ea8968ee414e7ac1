import { Alert, Anchor, Loader, Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { hasStarted, signIn } from '../../api.ts';
import { Failure } from '../../ui/Failure.tsx';
import { safeNext } from './next.ts';
import classes from './SignInPage.module.css';

/** Where an identity provider sends the browser back. */
export function CallbackPage() {
  const search = useSearch({ from: '/sign-in/callback' });
  const [{ state, code, iss, error, error_description }] = useState(search); // before it is taken out of the address
  const router = useRouter();
  const signing = useMutation({ mutationFn: signIn });
  const sent = useRef(false);
  const { mutate } = signing;
  useEffect(() => {
    document.title = 'Sign in · Penstock';
    window.history.replaceState(window.history.state, '', '/sign-in/callback'); // the code is in no history and in no bookmark
    if (!error && state && code && !sent.current) {
      sent.current = true;
      mutate({ state, code, ...(iss ? { iss } : {}) }, { onSuccess: (next) => router.history.replace(safeNext(next)) });
    }
  }, [state, code, iss, error, mutate, router]);
  const reason = hasStarted(state) ? (error_description ?? error) : undefined;
  const says = error
    ? `The identity provider did not sign you in${reason ? `: ${reason}` : '.'}`
    : !state || !code
      ? 'The address has no answer of an identity provider.'
      : undefined;
  return (
    <main className={classes.place}>
      <Stack className={classes.card}>
        <Title order={1} size="h3">
          Sign in to Penstock
        </Title>
        {says && (
          <Alert role="alert" color="red" variant="light">
            {says}
          </Alert>
        )}
        <Failure error={signing.error} />
        {says || signing.error ? (
          <Anchor href="/sign-in">Sign in again</Anchor>
        ) : (
          <Text c="dimmed" role="status">
            <Loader size="xs" mr="xs" /> Signing in…
          </Text>
        )}
      </Stack>
    </main>
  );
}
