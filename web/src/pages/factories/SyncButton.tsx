import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Failure } from '../../ui/Failure.tsx';

/** Makes the server poll the repository now. */
export function SyncButton({ syncing, sync }: { syncing: boolean; sync: () => Promise<void> }) {
  const asking = useMutation({ mutationFn: sync });
  return (
    <>
      <Button variant="default" loading={asking.isPending || syncing} onClick={() => asking.mutate()}>
        Sync
      </Button>
      <Failure error={asking.error} />
    </>
  );
}
