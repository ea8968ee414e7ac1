import { Anchor, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';

/** Leads to the factories, while there is none that something could belong to. */
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
