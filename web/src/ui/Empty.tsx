import { Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** What stands in the place of an empty list: what such things are for, and how to get the first. */
export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack py="xl" maw={720} mx="auto" w="100%" gap="sm">
      <Title order={2} size="h4">
        {title}
      </Title>
      {children}
    </Stack>
  );
}
