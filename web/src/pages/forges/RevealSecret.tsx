import { Button, Text } from '@mantine/core';
import type { Forge } from '@penstock/sdk';
import { Link } from '@tanstack/react-router';
import { Named, OnlyOnce, RevealDialog } from '../../ui/ShownOnce.tsx';

interface RevealProps {
  forge: Forge;
  title: string;
  /** Whether the connection is new: then the dialog leads to its page. */
  rotated?: boolean;
  close: () => void;
}

/** Shows the new secret of a connection once, with the URL, since the forge needs both. */
export function RevealSecret({ forge: { uid, secret, ingress_url }, title, rotated = false, close }: RevealProps) {
  const open = (
    <Button variant="default" component={Link} to="/forges/$uid" params={{ uid } as never}>
      Open the connection
    </Button>
  );
  return (
    <RevealDialog title={title} secret={secret !== undefined} next={!rotated && open} close={close}>
      {secret && <OnlyOnce>The secret is shown only once. Copy it now.</OnlyOnce>}
      <Text size="sm">
        {rotated
          ? 'Enter the new secret in the webhook on the forge.'
          : 'So that its events can start runs, add a webhook on the forge, for an organization or a repository. Its content type is application/json.'}
      </Text>
      {ingress_url && <Named name="URL">{ingress_url}</Named>}
      {secret && <Named name="Secret">{secret}</Named>}
    </RevealDialog>
  );
}
