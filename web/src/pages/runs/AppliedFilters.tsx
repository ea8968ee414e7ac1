import { Button, Group, Pill, TextInput } from '@mantine/core';
import { type FormEvent, lazy, Suspense, useEffect, useRef, useState } from 'react';
import type { Params } from '../../search.ts';
import { Icon } from '../../ui/Icon.tsx';
import { useChoices } from './choices.ts';
import { type Active, metadataFilter, nounsOf, without, wordOf } from './filters.ts';
import classes from './RunsPage.module.css';

const FilterField = lazy(() => import('./FilterField.tsx'));

interface AppliedFiltersProps {
  search: Params;
  active: Active[];
  /** Whether the list is narrowed, also by a search. */
  narrowed: boolean;
  change: (search: Params, replace?: boolean) => void;
  /** Saves the search as a view. Absent if it is one. */
  save: ((name: string) => void) | undefined;
}

/** The active filters. Each can be changed and removed, and others can be added. */
export function AppliedFilters({ search, active, narrowed, change, save }: AppliedFiltersProps) {
  const choices = useChoices(nounsOf(active));
  const [open, setOpen] = useState<{ name?: string }>();
  const add = useRef<HTMLButtonElement>(null);
  const refocus = useRef(false);
  useEffect(() => {
    if (!open && refocus.current) {
      refocus.current = false;
      add.current?.focus();
    }
  }, [open]);
  const close = (again: boolean): void => {
    refocus.current = again;
    setOpen(undefined);
  };
  return (
    <Group gap="xs" role="group" aria-label="Applied filters" mih={30}>
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
            <button
              type="button"
              className={classes.chip}
              onClick={() => setOpen({ name: filter.name.startsWith('metadata[') ? metadataFilter : filter.name })}
            >
              {filter.label}: {word}
            </button>
          </Pill>
        );
      })}
      {open ? (
        <Suspense fallback={<span className={classes.field} />}>
          <FilterField key={open.name ?? ''} name={open.name} search={search} change={(next) => change(next, true)} close={close} />
        </Suspense>
      ) : (
        <Button ref={add} size="compact-sm" variant="default" leftSection={<Icon name="plus" size={12} />} onClick={() => setOpen({})}>
          Filter
        </Button>
      )}
      {narrowed && (
        <Button size="compact-sm" variant="subtle" onClick={() => change({})}>
          Clear
        </Button>
      )}
      {narrowed && save && <SaveView save={save} />}
    </Group>
  );
}

/** Saves the search under a name. */
function SaveView({ save }: { save: (name: string) => void }) {
  const [name, setName] = useState<string>();
  if (name === undefined) {
    return (
      <Button size="compact-sm" variant="subtle" onClick={() => setName('')}>
        Save view
      </Button>
    );
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim()) {
      save(name.trim());
    }
  };
  return (
    <form onSubmit={submit}>
      <Group gap={4} wrap="nowrap">
        <TextInput
          size="xs"
          autoFocus
          maxLength={40}
          aria-label="Name of the view"
          placeholder="Name of the view"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Escape' && setName(undefined)}
        />
        <Button type="submit" size="compact-sm" disabled={!name.trim()}>
          Save
        </Button>
      </Group>
    </form>
  );
}
