import { Button, Group, MultiSelect, Select, SimpleGrid, TagsInput, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { formatWord } from '../../format.ts';
import { firstOf, type Params, valuesOf } from '../../search.ts';
import { type Filter, filters, withFilter } from './filters.ts';

const sorts = [
  { value: 'created_at', label: 'Created' },
  { value: 'updated_at', label: 'Changed' },
  { value: 'title', label: 'Title' },
  { value: 'agent', label: 'Agent' },
];

/** Every filter of the API, and the order. A change holds at once; texts do when they are left or entered. */
export default function FilterPanel({ search, change }: { search: Params; change: (search: Params) => void }) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="xs" role="group" aria-label="Filters">
      {filters.map((filter) => (
        <Field key={filter.name} filter={filter} search={search} change={change} />
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
          { value: 'desc', label: 'Newest or last first' },
          { value: 'asc', label: 'Oldest or first first' },
        ]}
        value={firstOf(search.sort_order) ?? 'desc'}
        allowDeselect={false}
        onChange={(value) => change(withFilter(search, 'sort_order', value ?? ''))}
      />
    </SimpleGrid>
  );
}

function Field({ filter, search, change }: { filter: Filter; search: Params; change: (search: Params) => void }) {
  const { name, label, hint } = filter;
  const set = (value: string | string[]): void => change(withFilter(search, name, value));
  const data = filter.values?.map((value) => ({ value, label: formatWord(value) }));
  if (data && filter.many) {
    return <MultiSelect label={label} data={data} value={valuesOf(search[name])} onChange={set} clearable />;
  }
  if (data) {
    return <Select label={label} data={data} value={firstOf(search[name]) ?? null} onChange={(value) => set(value ?? '')} clearable />;
  }
  if (filter.many) {
    return <TagsInput label={label} placeholder={hint ?? ''} value={valuesOf(search[name])} onChange={set} />;
  }
  return <TextField key={firstOf(search[name]) ?? ''} filter={filter} value={firstOf(search[name]) ?? ''} set={set} />;
}

function TextField({ filter, value, set }: { filter: Filter; value: string; set: (value: string) => void }) {
  const [text, setText] = useState(filter.time ? toLocal(value) : value);
  const enter = (): void => {
    const next = filter.time ? fromLocal(text) : text.trim();
    if (next !== value) {
      set(next);
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

/** A time of the API as a field for local times has it, and back. */
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
