import { Button, Text } from '@mantine/core';
import type { EventEndpoint } from '@penstock/sdk';
import { Link } from '@tanstack/react-router';
import { Code } from '../../ui/Code.tsx';
import { OnlyOnce, RevealDialog } from '../../ui/ShownOnce.tsx';

interface RevealProps {
  endpoint: EventEndpoint;
  title: string;
  /** Whether the endpoint is new: then the dialog leads to its page. */
  rotated?: boolean;
  close: () => void;
}

/** Shows the new secret of an endpoint once. Those for Slack have none: then it says what to do next. */
export function RevealSecret({ endpoint, title, rotated = false, close }: RevealProps) {
  const secret = endpoint.secrets[0]?.secret;
  const open = (
    <Button variant="default" component={Link} to="/event-endpoints/$uid" params={{ uid: endpoint.uid } as never}>
      Open the endpoint
    </Button>
  );
  return (
    <RevealDialog title={title} secret={secret !== undefined} next={!rotated && open} close={close}>
      {secret ? (
        <>
          <OnlyOnce>The secret is shown only once. Copy it now: the receiver checks the signature of each message with it.</OnlyOnce>
          <Code label="Secret">{secret}</Code>
        </>
      ) : endpoint.interactivity_url ? (
        <>
          <Text size="sm">
            So that people can answer in Slack, turn Interactivity on in the Slack app, and set this as its Request URL. Invite the app to
            the channel.
          </Text>
          <Code label="Request URL">{endpoint.interactivity_url}</Code>
        </>
      ) : (
        <Text size="sm">Its messages are not signed, so it has no secret. Anybody who knows the URL can post to the channel.</Text>
      )}
    </RevealDialog>
  );
}
