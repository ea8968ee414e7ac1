// @vitest-environment jsdom
import { MantineProvider, TextInput } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { useState } from 'react';
import { afterEach, expect, test, vi } from 'vitest';
import { FormDialog } from './FormDialog.tsx';

afterEach(cleanup);

vi.stubGlobal('matchMedia', () => ({ matches: false, addEventListener() {}, removeEventListener() {} }));
vi.stubGlobal(
  'ResizeObserver',
  class {
    observe() {}
    unobserve() {}
    disconnect() {}
  },
);

function Form({ submit }: { submit: () => Promise<unknown> }) {
  const [opened, setOpened] = useState(true);
  return opened ? (
    <FormDialog title="New" close={() => setOpened(false)} action="Create" submit={submit}>
      {(error) => <TextInput label="Name" error={error instanceof Error ? `field: ${error.message}` : undefined} />}
    </FormDialog>
  ) : null;
}

test('an error reaches the fields, and nothing keeps what was sent', async () => {
  const client = new QueryClient();
  const submit = vi.fn().mockRejectedValueOnce(new Error('taken')).mockResolvedValueOnce(undefined);
  render(
    <QueryClientProvider client={client}>
      <MantineProvider env="test">
        <Form submit={submit} />
      </MantineProvider>
    </QueryClientProvider>,
  );
  fireEvent.click(screen.getByRole('button', { name: 'Create' }));
  await screen.findByText('field: taken');
  fireEvent.click(screen.getByRole('button', { name: 'Create' }));
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  await waitFor(() => expect(client.getMutationCache().getAll()).toEqual([]));
});
