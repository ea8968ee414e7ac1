import { Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './Advanced.module.css';

/** The fields of a form that most users leave as they are. */
export function Advanced({ children }: { children: ReactNode }) {
  return (
    <details className={classes.advanced}>
      <summary>Advanced</summary>
      <Stack gap="sm" mt="xs">
        {children}
      </Stack>
    </details>
  );
}
