import { Anchor, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';

/** The page for an unknown URL. */
export function NotFound() {
  return (
    <Stack p="xl" gap="xs">
      <Title order={1} size="h3">
        Page not found
      </Title>
      <Text>
        It may have been deleted, or the link may be incomplete.{' '}
        <Anchor component={Link} to="/runs">
          Go to runs
        </Anchor>
      </Text>
    </Stack>
  );
}
