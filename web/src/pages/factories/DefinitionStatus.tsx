import type { Factory } from '@penstock/sdk';
import { Status } from '../../ui/Status.tsx';

/** The state of a factory's definition. */
export function DefinitionStatus({ factory: { definition } }: { factory: Factory }) {
  if (definition.problem) {
    return <Status tone="bad">Unreachable</Status>;
  }
  switch (definition.status) {
    case 'applied':
      return <Status tone="good">{`Revision ${definition.revision}`}</Status>;
    case 'syncing':
      return (
        <Status tone="busy" pulse>
          Syncing
        </Status>
      );
    default:
      return <Status tone="bad">Rejected</Status>;
  }
}
