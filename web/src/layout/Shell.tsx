import { ActionIcon, AppShell, Burger, Group, NavLink, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { APIConnectionError, APIError } from '@penstock/sdk';
import { notifyManager, useQuery } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useRouter } from '@tanstack/react-router';
import { useEffect, useSyncExternalStore } from 'react';
import { queryClient, sessionQuery, signOut } from '../api.ts';
import { Icon } from '../ui/Icon.tsx';
import { may, places } from './nav.ts';
import classes from './Shell.module.css';

/** What all pages have around them: the way to the others, who has signed in, and whether the server answers. */
export function Shell() {
  const [opened, { toggle, close }] = useDisclosure();
  const { data: session } = useQuery({ ...sessionQuery, refetchOnWindowFocus: 'always' }); // another tab may have signed in as somebody else
  const router = useRouter();
  useEffect(() => {
    if (session === null) {
      void router.invalidate(); // it has ended while nothing else was asked: this leads to the sign-in
    }
  }, [session, router]);
  return (
    <AppShell header={{ height: 48 }} navbar={{ width: 200, breakpoint: 'sm', collapsed: { mobile: !opened } }} padding="md">
      <a className="skip-link" href="#main">
        To the content
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
      <AppShell.Main id="main" tabIndex={-1}>
        <Outlet />
      </AppShell.Main>
    </AppShell>
  );
}

/** Whether an error says that the server does not answer, or cannot now. */
function isAway(error: unknown): boolean {
  return error instanceof APIConnectionError || (error instanceof APIError && error.statusCode >= 500);
}

const queries = queryClient.getQueryCache();

function subscribeQueries(changed: () => void): () => void {
  return queries.subscribe(notifyManager.batchCalls(changed));
}

/** Whether a query of the page lacks an answer; one that says no is an answer. */
function isLost(): boolean {
  return queries.getAll().some((query) => query.isActive() && isAway(query.state.fetchFailureReason));
}

/** Says that what is shown may be old, while the server does not answer. */
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
