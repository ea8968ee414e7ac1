import { Anchor, Stack, Text, Title } from '@mantine/core';
import { Link, useLocation } from '@tanstack/react-router';
import { places } from '../layout/nav.ts';

/** The page for an unknown URL. */
export function NotFound() {
  const { pathname } = useLocation();
  const { to, label } = places.find((place) => place.to !== '/' && pathname.startsWith(`${place.to}/`)) ?? { to: '/', label: 'Home' };
  return (
    <Stack p="xl" gap="xs">
      <Title order={1} size="h3">
        Page not found
      </Title>
      <Text>
        It may have been deleted, or the link may be incomplete.{' '}
        <Anchor component={Link} to={to as never}>
          Go to {label}
        </Anchor>
      </Text>
    </Stack>
  );
}
