import { Anchor, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';

/** For an address that no page has. */
export function NotFound() {
  return (
    <Stack p="xl" gap="xs">
      <Title order={1} size="h3">
        There is nothing at this address
      </Title>
      <Text>
        It may have been deleted, or the link is not whole.{' '}
        <Anchor component={Link} to="/runs">
          To the runs
        </Anchor>
      </Text>
    </Stack>
  );
}
