import { Text, Title } from '@mantine/core';
import type { ForgeRepository } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { forgeRepositoriesQuery } from '../../queries.ts';
import { Clipped } from '../../ui/Clipped.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { ExternalLink } from '../../ui/ExternalLink.tsx';
import { Failure } from '../../ui/Failure.tsx';

const columns: Column<ForgeRepository>[] = [
  {
    header: 'Repository',
    main: true,
    cell: ({ path, url }) => (
      <span className="mono plain">
        <ExternalLink href={url.replace(/\.git$/, '')}>{path}</ExternalLink>
      </span>
    ),
  },
  { header: 'Default branch', width: 180, cell: ({ default_branch }) => <Clipped>{default_branch ?? '–'}</Clipped> },
  { header: 'Visibility', width: 110, cell: ({ private: hidden }) => (hidden ? 'Private' : 'Public') },
  {
    header: 'The bot can',
    width: 160,
    cell: ({ archived, writable }) => (archived ? 'Read (archived)' : writable ? 'Read and write' : 'Read'),
  },
];

/** The repositories that runs can use through a connection, as the forge lists them now. */
export function Repositories({ uid }: { uid: string }) {
  const { data, error, refetch } = useQuery(forgeRepositoriesQuery(uid));
  return (
    <section aria-labelledby="repositories">
      <Title order={2} size="h5" id="repositories" mb={4}>
        Repositories
      </Title>
      <Failure error={error} retry={() => void refetch()} />
      {!error && (
        <DataTable
          label="Repositories"
          columns={columns}
          rows={data?.repositories}
          rowKey={({ id }) => String(id)}
          empty={
            <Text py="xl" ta="center" c="dimmed">
              The bot can read none of them. Give it access on the forge, or choose other repositories.
            </Text>
          }
        />
      )}
      {data?.truncated && (
        <Text size="sm" c="dimmed" mt="xs">
          The forge has more repositories than are listed here. Runs can use them, too.
        </Text>
      )}
    </section>
  );
}
