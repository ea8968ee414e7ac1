import { Select } from '@mantine/core';
import type { Factory } from '@penstock/sdk';

/** Selects one factory, or all of them. */
export function FactoryFilter({
  factories,
  value,
  change,
}: {
  factories: readonly Factory[];
  value: string | undefined;
  change: (uid: string | undefined) => void;
}) {
  return (
    <Select
      aria-label="Factory"
      placeholder="All factories"
      clearable
      searchable
      clearButtonProps={{ 'aria-label': 'All factories' }}
      w={240}
      data={factories.map(({ uid, name }) => ({ value: uid, label: name }))}
      value={value ?? null}
      onChange={(uid) => change(uid ?? undefined)}
    />
  );
}
