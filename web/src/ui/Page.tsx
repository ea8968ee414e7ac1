import { Group, Stack, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';

/** The frame of every page: the heading, the window's title and the actions. */
export function Page({
  title,
  heading,
  actions,
  children,
}: {
  title: string;
  heading?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Penstock`;
  }, [title]);
  return (
    <Stack gap="md">
      <Group justify="space-between" align="center" gap="sm" mih={36}>
        <Title order={1} size="h3" style={{ overflowWrap: 'anywhere' }}>
          {heading ?? title}
        </Title>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}
