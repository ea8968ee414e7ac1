import { Button, Group, MultiSelect, Select, SimpleGrid, TextInput } from '@mantine/core';
import { type FormEvent, memo, useEffect, useState } from 'react';
import { firstOf, type Params, valuesOf } from '../../search.ts';
import { type Choice, type Noun, useChoices } from './choices.ts';
import { type Filter, filters, withFilter, wordOfValue } from './filters.ts';

const sorts = [
  { value: 'created_at', label: 'Created' },
  { value: 'updated_at', label: 'Updated' },
  { value: 'title', label: 'Title' },
  { value: 'agent', label: 'Agent' },
];

const nouns: ReadonlySet<Noun> = new Set(filters.flatMap((filter) => filter.of ?? []));

interface FilterPanelProps {
  search: Params;
  change: (search: Params) => void;
}

/** All filters of the API, and the sort order. A change applies at once; a text field applies on blur or Enter. */
function FilterPanel({ search, change }: FilterPanelProps) {
  const choices = useChoices(nouns);
  const ofTexts = ['title', 'agent'].includes(firstOf(search.sort_by) ?? '');
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="xs" role="group" aria-label="Filters">
      {filters.map((filter) => (
        <Field key={filter.name} filter={filter} choices={filter.of && choices[filter.of]} search={search} change={change} />
      ))}
      <Metadata search={search} change={change} />
      <Select
        label="Order by"
        data={sorts}
        value={firstOf(search.sort_by) ?? 'created_at'}
        allowDeselect={false}
        onChange={(value) => change(withFilter(search, 'sort_by', value ?? ''))}
      />
      <Select
        label="Direction"
        data={[
          { value: 'desc', label: ofTexts ? 'Z to A' : 'Newest first' },
          { value: 'asc', label: ofTexts ? 'A to Z' : 'Oldest first' },
        ]}
        value={firstOf(search.sort_order) ?? 'desc'}
        allowDeselect={false}
        onChange={(value) => change(withFilter(search, 'sort_order', value ?? ''))}
      />
    </SimpleGrid>
  );
}

/** Memoized: these fields render only when the filter changes, not with every refetch of the list. */
export default memo(FilterPanel);

interface FieldProps {
  filter: Filter;
  /** The choices by name. The user can also type an id. */
  choices: Choice[] | undefined;
  search: Params;
  change: (search: Params) => void;
}

function Field({ filter, choices, search, change }: FieldProps) {
  const { name, label } = filter;
  const [typed, setTyped] = useState('');
  const set = (value: string | string[]): void => change(withFilter(search, name, value));
  const data =
    filter.values?.map((value) => ({ value, label: wordOfValue(filter, value) })) ??
    (choices && withIds(choices, valuesOf(search[name]), typed));
  const finding = choices ? { searchable: true, searchValue: typed, onSearchChange: setTyped } : {};
  if (data && filter.many) {
    return <MultiSelect label={label} data={data} value={valuesOf(search[name])} onChange={set} clearable {...finding} />;
  }
  if (data) {
    const value = firstOf(search[name]) ?? null;
    return <Select label={label} data={data} value={value} onChange={(next) => set(next ?? '')} clearable {...finding} />;
  }
  return <TextField filter={filter} value={firstOf(search[name]) ?? ''} set={set} />;
}

/** The choices, with applied ids that are not among them, and the typed text as an id. */
function withIds(choices: Choice[], values: string[], typed: string): Choice[] {
  const text = typed.trim();
  const isName = choices.some(({ value, label }) => value === text || label.toLowerCase().includes(text.toLowerCase()));
  const ids = [...values, ...(text === '' || isName ? [] : [text])].filter((id) => !choices.some(({ value }) => value === id));
  return [...choices, ...[...new Set(ids)].map((id) => ({ value: id, label: id }))];
}

function TextField({ filter, value, set }: { filter: Filter; value: string; set: (value: string) => void }) {
  const applied = filter.time ? toLocal(value) : value;
  const [text, setText] = useState(applied);
  useEffect(() => setText(applied), [applied]);
  const enter = (): void => {
    if (text.trim() !== applied) {
      set(filter.time ? fromLocal(text) : text.trim());
    }
  };
  return (
    <TextInput
      label={filter.label}
      placeholder={filter.hint ?? ''}
      type={filter.time ? 'datetime-local' : 'text'}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={enter}
      onKeyDown={(event) => event.key === 'Enter' && enter()}
    />
  );
}

/** Converts a time of the API to the value of a datetime-local field. */
function toLocal(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? '' : new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function fromLocal(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? '' : at.toISOString();
}

function Metadata({ search, change }: { search: Params; change: (search: Params) => void }) {
  const [text, setText] = useState('');
  const add = (event: FormEvent): void => {
    event.preventDefault();
    const [key, ...rest] = text.split('=');
    if (key?.trim() && rest.length > 0) {
      change(withFilter(search, `metadata[${key.trim()}]`, rest.join('=')));
      setText('');
    }
  };
  return (
    <form onSubmit={add}>
      <Group gap={4} align="end" wrap="nowrap">
        <TextInput
          label="Metadata"
          placeholder="key=value"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          flex={1}
        />
        <Button type="submit" variant="default" disabled={!/[^=]=/.test(text)}>
          Add
        </Button>
      </Group>
    </form>
  );
}
