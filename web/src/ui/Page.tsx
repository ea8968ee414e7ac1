import { Group, Stack, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import classes from './Page.module.css';

/** The frame of every page: the heading, the window's title and the actions. */
export function Page({
  title,
  heading,
  actions,
  fill,
  children,
}: {
  title: string;
  heading?: ReactNode;
  actions?: ReactNode;
  /** Whether the page is at least as high as the window. */
  fill?: boolean;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Penstock`;
  }, [title]);
  return (
    <Stack gap="md" {...(fill ? { className: classes.fill ?? '' } : {})}>
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
