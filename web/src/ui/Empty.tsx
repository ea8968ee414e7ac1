import { Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** Replaces an empty list. It says what the list is for, and how to create the first entry. */
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
