import type { SignaturePreset } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { signatureSchemesQuery } from '../../queries.ts';

/** What the server knows of a signature scheme; undefined while it is read, or where there is none. `ready` says which. */
export function usePreset(scheme: string | undefined): { preset: SignaturePreset | undefined; ready: boolean } {
  const { data } = useQuery(signatureSchemesQuery);
  return { preset: data?.find((one) => one.scheme === scheme), ready: data !== undefined };
}
