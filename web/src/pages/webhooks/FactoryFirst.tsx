import { Anchor, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';

/** Links to the factories if none exists yet. */
export function FactoryFirst({ things }: { things: string }) {
  return (
    <Text>
      {things} belong to a factory.{' '}
      <Anchor component={Link} to="/factories" inherit>
        Create a factory
      </Anchor>{' '}
      first.
    </Text>
  );
}
