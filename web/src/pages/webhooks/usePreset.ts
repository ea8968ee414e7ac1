import type { SignaturePreset } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { signatureSchemesQuery } from '../../queries.ts';

/** The preset of a signature scheme, or undefined. `ready` is false while it is loading. */
export function usePreset(scheme: string | undefined): { preset: SignaturePreset | undefined; ready: boolean } {
  const { data } = useQuery(signatureSchemesQuery);
  return { preset: data?.find((one) => one.scheme === scheme), ready: data !== undefined };
}
