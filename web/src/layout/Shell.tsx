import { ActionIcon, AppShell, Burger, Group, NavLink, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { APIConnectionError, APIError } from '@penstock/sdk';
import { notifyManager, useQuery } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useRouter } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useSyncExternalStore } from 'react';
import { queryClient, sessionQuery, signOut } from '../api.ts';
import { Icon } from '../ui/Icon.tsx';
import { Keyboard, openPalette } from './Keyboard.tsx';
import { may, places } from './nav.ts';
import { mayNotify, useNotify } from './notify.ts';
import classes from './Shell.module.css';

const Notifications = lazy(() => import('./Notifications.tsx'));

/** The frame of all pages: navigation, the signed-in user and the state of the connection. */
export function Shell() {
  const [opened, { toggle, close }] = useDisclosure();
  const { data: session } = useQuery({ ...sessionQuery, refetchOnWindowFocus: 'always' }); // another tab may have signed in as another user
  const [notify] = useNotify();
  const router = useRouter();
  useEffect(() => {
    if (session === null) {
      void router.invalidate(); // the session has ended: this goes to the sign-in
    }
  }, [session, router]);
  return (
    <AppShell header={{ height: 48 }} navbar={{ width: 200, breakpoint: 'sm', collapsed: { mobile: !opened } }} padding="md">
      <a className="skip-link" href="#main">
        Skip to content
      </a>
      <AppShell.Header className={classes.header ?? ''}>
        <Group gap="sm" wrap="nowrap">
          <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" aria-expanded={opened} />
          <Link to="/" className={classes.brand}>
            Penstock
          </Link>
          <Connection />
        </Group>
        <Group gap="xs" wrap="nowrap">
          <Text size="sm" c="dimmed" visibleFrom="xs" className="clip" maw={220} title={session?.actor.email ?? session?.actor.uid}>
            {session?.actor.display_name ?? session?.actor.uid}
          </Text>
          <ActionIcon variant="subtle" color="gray" c="dimmed" aria-label="Go to" title="Go to (Ctrl+K)" onClick={openPalette}>
            <Icon name="search" />
          </ActionIcon>
          <Theme />
          <SignOut />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Main">
        {places
          .filter((place) => may(session?.scopes, place.scope))
          .map((place) => (
            <NavLink
              key={place.to}
              component={Link}
              to={place.to}
              label={place.label}
              leftSection={<Icon name={place.icon} />}
              onClick={close}
              className={classes.place ?? ''}
            />
          ))}
      </AppShell.Navbar>
      <Keyboard />
      {notify && mayNotify() && (
        <Suspense>
          <Notifications />
        </Suspense>
      )}
      <AppShell.Main id="main" tabIndex={-1}>
        <Outlet />
      </AppShell.Main>
    </AppShell>
  );
}

/** Whether an error means that the server cannot be reached, or is temporarily unavailable. */
function isAway(error: unknown): boolean {
  return error instanceof APIConnectionError || (error instanceof APIError && error.statusCode >= 500);
}

const queries = queryClient.getQueryCache();

function subscribeQueries(changed: () => void): () => void {
  return queries.subscribe(notifyManager.batchCalls(changed));
}

/** Whether a query of the page could not reach the server. A 4xx response reached it. One with `elsewhere` also fails if a forge is away. */
function isLost(): boolean {
  return queries.getAll().some((query) => query.isActive() && !query.meta?.elsewhere && isAway(query.state.fetchFailureReason));
}

/** Warns that the page may be out of date while the server cannot be reached. */
function Connection() {
  const lost = useSyncExternalStore(subscribeQueries, isLost);
  return (
    <span role="status" className={classes.lost}>
      {lost ? 'Reconnecting…' : ''}
    </span>
  );
}

function Theme() {
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme('light') === 'dark';
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      c="dimmed"
      aria-label={dark ? 'Light theme' : 'Dark theme'}
      title={dark ? 'Light theme' : 'Dark theme'}
      onClick={() => setColorScheme(dark ? 'light' : 'dark')}
    >
      <Icon name={dark ? 'sun' : 'moon'} />
    </ActionIcon>
  );
}

function SignOut() {
  const navigate = useNavigate();
  const leave = async (): Promise<void> => {
    await signOut();
    await navigate({ to: '/sign-in', search: {} });
  };
  return (
    <button type="button" className={classes.leave} onClick={() => void leave()}>
      Sign out
    </button>
  );
}
