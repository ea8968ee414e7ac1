import type { Factory } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { secretsQuery } from '../../queries.ts';

/** The examples, the chosen one, and how a factory is created from it. */
export function useExample(enabled: boolean) {
  const queries = useQueryClient();
  const [folder, choose] = useState<string>();
  const [values, setValues] = useState<Record<string, string>>({});
  const examples = useQuery({
    queryKey: ['examples'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await import('./examples.ts')).examples,
    enabled,
  });
  const secrets = useQuery({ ...secretsQuery, enabled });
  const example = examples.data?.find((one) => one.folder === folder) ?? examples.data?.[0];
  const known = secrets.data?.secrets.map(({ name }) => name) ?? [];
  const missing = secrets.data ? (example?.secrets.filter((name) => !known.includes(name)) ?? []) : [];
  /** Declares the secrets that are missing, and creates the factory. */
  const create = async (): Promise<Factory> => {
    for (const name of missing) {
      await client.secrets.create({ name, ...(values[name] ? { value: values[name] } : {}) });
    }
    if (missing.length > 0) {
      await queries.invalidateQueries({ queryKey: secretsQuery.queryKey });
    }
    return client.factories.create({ files: example?.files ?? {} });
  };
  return {
    create,
    ready: example !== undefined && secrets.data !== undefined,
    error: examples.error ?? secrets.error,
    fields: {
      examples: examples.data ?? [],
      example,
      choose,
      missing,
      values,
      setValue: (name: string, value: string) => setValues((before) => ({ ...before, [name]: value })),
    },
  };
}
