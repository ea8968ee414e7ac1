import { useDebouncedValue } from '@mantine/hooks';
import type { Diagnostic, FileTree } from '@penstock/sdk';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { client } from '../../api.ts';

const none: Diagnostic[] = [];

/** What the server finds in files, once the typing rests. The version stands for the files: another one is asked for anew. */
export function useDiagnostics(uid: string, files: FileTree, version: number, enabled: boolean) {
  const [asked] = useDebouncedValue(version, 350);
  const verdict = useQuery({
    queryKey: ['factory-files', uid, asked],
    enabled: enabled && asked === version,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => client.factoryFiles.validate({ files }, { signal }),
  });
  return {
    diagnostics: verdict.data?.diagnostics ?? none,
    error: verdict.error,
    /** Whether the findings are those of the files as they are now. */
    settled: !enabled || (asked === version && !verdict.isFetching),
  };
}
