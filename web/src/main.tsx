import '@mantine/core/styles.css';
import './main.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { onSignedOut, queryClient, sessionQuery, watchOtherTabs } from './api.ts';
import { nonce } from './nonce.ts';
import { router } from './router.tsx';
import { cssVariables, theme } from './theme.ts';

setNonce(nonce); // for the library that stops scrolling behind a dialog

onSignedOut(() => {
  queryClient.setQueryData(sessionQuery.queryKey, null);
  void router.invalidate(); // pages that need a session then go to the sign-in
});
watchOtherTabs();

const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto" getStyleNonce={() => nonce}>
        <QueryClientProvider client={queryClient}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
