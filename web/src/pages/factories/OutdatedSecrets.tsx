import { Alert, Text } from '@mantine/core';
import type { Factory } from '@penstock/sdk';

/** Which webhooks have not taken the new value of their secret, and how they do. */
export function OutdatedSecrets({ factory: { definition, source } }: { factory: Factory }) {
  const names = definition.outdated_webhooks ?? [];
  const first = names[0];
  if (first === undefined) {
    return null;
  }
  return (
    <Alert variant="default" title="A new secret value is not applied yet">
      <Text size="sm">
        {names.length === 1 ? 'The webhook ' : 'The webhooks '}
        <span className="mono plain">{names.join(', ')}</span>
        {names.length === 1
          ? ' has not taken the new value of its managed secret.'
          : ' have not taken the new values of their managed secrets.'}
      </Text>
      {source === 'repository' ? (
        <Text size="sm">
          To apply it, push a commit that changes one of the factory’s files. With <span className="mono">secretRefresh: immediate</span> in{' '}
          <span className="mono plain">webhooks/{first}.yaml</span>, later values apply at once.
        </Text>
      ) : (
        <Text size="sm">To apply it, change one of the factory’s files, or switch the webhook off and on.</Text>
      )}
    </Alert>
  );
}
