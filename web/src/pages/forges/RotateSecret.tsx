import { Text } from '@mantine/core';
import type { Forge } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { client } from '../../api.ts';
import { RotateDialog } from '../../ui/RotateDialog.tsx';
import { RevealSecret } from './RevealSecret.tsx';

/** Replaces the secret with which a forge signs its events, and shows the new one once. */
export default function RotateSecret({ forge: { uid, name }, close }: { forge: Forge; close: () => void }) {
  const queries = useQueryClient();
  const title = `Rotate the secret of ${name}`;
  const rotate = async (seconds: number): Promise<Forge> => {
    const next = await client.forges.rotateSecret(uid, { overlap_seconds: seconds });
    await queries.invalidateQueries({ queryKey: ['forges'] });
    await queries.invalidateQueries({ queryKey: ['deliveries', uid] });
    return next;
  };
  return (
    <RotateDialog
      title={title}
      close={close}
      rotate={rotate}
      shown={(rotated) => <RevealSecret forge={rotated} title={title} rotated close={close} />}
    >
      <Text size="sm">
        The new secret applies from the next event on. While both are valid, replace the secret of each webhook on the forge.
      </Text>
    </RotateDialog>
  );
}
