import { useDebouncedValue } from '@mantine/hooks';
import type { Diagnostic, FileTree } from '@penstock/sdk';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { client } from '../../api.ts';

const none: Diagnostic[] = [];

/** The server's findings in files, after the user stops typing. A new version makes a new request. */
export function useDiagnostics(uid: string, files: FileTree, version: number, enabled: boolean) {
  const [asked] = useDebouncedValue(version, 350);
  const validation = useQuery({
    queryKey: ['factory-files', uid, asked],
    enabled: enabled && asked === version,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => client.factoryFiles.validate({ files }, { signal }),
  });
  return {
    diagnostics: validation.data?.diagnostics ?? none,
    error: validation.error,
    /** Whether the findings belong to the current files. */
    settled: !enabled || (asked === version && !validation.isFetching),
  };
}
