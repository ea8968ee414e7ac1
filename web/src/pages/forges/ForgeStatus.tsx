import type { Forge } from '@penstock/sdk';
import { Status } from '../../ui/Status.tsx';
import { stateOf } from './forge.ts';

/** Whether a connection works. */
export function ForgeStatus({ forge }: { forge: Forge }) {
  const { tone, word } = stateOf(forge);
  return <Status tone={tone}>{word}</Status>;
}
