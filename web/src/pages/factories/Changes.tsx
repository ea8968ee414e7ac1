import { List, Text } from '@mantine/core';
import type { ResourceChange } from '@penstock/sdk';
import type { Tone } from '../../states.ts';
import { Status } from '../../ui/Status.tsx';

/** Lists the resources that a plan creates, changes and deletes. */
export function Changes({
  plan,
}: {
  plan: { created: readonly ResourceChange[]; changed: readonly ResourceChange[]; removed: readonly ResourceChange[] };
}) {
  const kinds: [Tone, string, readonly ResourceChange[]][] = [
    ['good', 'New', plan.created],
    ['busy', 'Changed', plan.changed],
    ['bad', 'Removed', plan.removed],
  ];
  if (kinds.every(([, , list]) => list.length === 0)) {
    return <Text size="sm">No agent, automation, webhook or other resource changes.</Text>;
  }
  return (
    <List listStyleType="none" spacing={4} size="sm">
      {kinds.flatMap(([tone, word, list]) =>
        list.map(({ kind, name, fields, again }) => (
          <List.Item key={`${word} ${kind} ${name}`}>
            <Status tone={tone}>{word}</Status> {kind} <strong style={{ overflowWrap: 'anywhere' }}>{name}</strong>
            {fields && fields.length > 0 && `: ${fields.join(', ')}`}
            {again && ' (created again, with a new UID)'}
          </List.Item>
        )),
      )}
    </List>
  );
}
