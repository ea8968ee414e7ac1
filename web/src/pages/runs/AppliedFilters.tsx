import { Anchor, Group, Pill } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Params } from '../../search.ts';
import { useChoices } from './choices.ts';
import { type Active, nounsOf, without, wordOf } from './filters.ts';

interface AppliedFiltersProps {
  search: Params;
  active: Active[];
  change: (search: Params) => void;
}

/** The active filters. Each can be removed. */
export function AppliedFilters({ search, active, change }: AppliedFiltersProps) {
  const choices = useChoices(nounsOf(active));
  return (
    <Group gap="xs" role="group" aria-label="Applied filters">
      {active.map((filter) => {
        const word = wordOf(filter, choices);
        return (
          <Pill
            key={filter.name + filter.value}
            size="md"
            withRemoveButton
            removeButtonProps={{ 'aria-label': `Remove filter ${filter.label}: ${word}`, tabIndex: 0, 'aria-hidden': false }}
            onRemove={() => change(without(search, filter))}
          >
            {filter.label}: {word}
          </Pill>
        );
      })}
      <Anchor component={Link} to="/runs" search={{} as never} size="sm">
        Clear
      </Anchor>
    </Group>
  );
}
