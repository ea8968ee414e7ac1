import { Alert, Text } from '@mantine/core';
import type { Factory } from '@penstock/sdk';

/** Lists webhooks that still use an old value of their secret. */
export function OutdatedSecrets({ factory: { definition, source } }: { factory: Factory }) {
  const names = definition.outdated_webhooks ?? [];
  const first = names[0];
  if (first === undefined) {
    return null;
  }
  return (
    <Alert variant="default" title="A new secret value is not in use yet">
      <Text size="sm">
        {names.length === 1 ? 'The webhook ' : 'The webhooks '}
        <span className="mono plain">{names.join(', ')}</span>
        {names.length === 1 ? ' still uses the old value of its managed secret.' : ' still use the old values of their managed secrets.'}
      </Text>
      {source === 'repository' ? (
        <Text size="sm">
          To apply it, push a commit that changes one of the factory’s files. With <span className="mono">secretRefresh: immediate</span> in{' '}
          <span className="mono plain">webhooks/{first}.yaml</span>, later values apply at once.
        </Text>
      ) : (
        <Text size="sm">To use it, change one of the factory’s files, or disable and enable the webhook.</Text>
      )}
    </Alert>
  );
}
