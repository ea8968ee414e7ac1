import type { EventEndpoint } from '@penstock/sdk';
import { Status } from '../../ui/Status.tsx';
import { stateOf } from './endpoint.ts';

/** Whether an endpoint gets messages. */
export function EndpointStatus({ endpoint }: { endpoint: EventEndpoint }) {
  const { tone, word } = stateOf(endpoint);
  return <Status tone={tone}>{word}</Status>;
}
