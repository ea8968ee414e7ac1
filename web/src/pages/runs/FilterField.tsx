import { Group, MultiSelect, Select } from '@mantine/core';
import { type FocusEvent, type KeyboardEvent, useState } from 'react';
import { firstOf, type Params, valuesOf } from '../../search.ts';
import { AppliedInput, AppliedTime } from '../../ui/AppliedInput.tsx';
import { type Choice, useChoices } from './choices.ts';
import { type Filter, filters, metadataFilter, withFilter, wordOfValue } from './filters.ts';

export interface FilterFieldProps {
  /** The filter to change. Without one, the user chooses it first. */
  name: string | undefined;
  search: Params;
  change: (search: Params) => void;
  /** Called when the field is done; refocus: by the keyboard, or by a choice. */
  close: (refocus: boolean) => void;
}

/** A field for one filter. A choice applies at once; a text applies on Enter or when the user leaves the field. */
export default function FilterField({ name, search, change, close }: FilterFieldProps) {
  const [chosen, choose] = useState(name);
  const filter = filters.find((one) => one.name === chosen);
  const leave = (event: FocusEvent): void => {
    if (!event.currentTarget.contains(event.relatedTarget)) {
      close(false);
    }
  };
  const onEscape = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') {
      event.stopPropagation();
      close(true);
    }
  };
  return (
    <Group gap="xs" w={260} onBlur={leave} onKeyDown={onEscape}>
      {chosen === metadataFilter && <Metadata search={search} change={change} close={close} />}
      {filter && <Field filter={filter} search={search} change={change} close={close} />}
      {chosen === undefined && (
        <Select
          size="xs"
          flex={1}
          autoFocus
          defaultDropdownOpened
          searchable
          selectFirstOptionOnChange
          maxDropdownHeight={720}
          aria-label="Filter by"
          placeholder="Filter by…"
          data={[...filters.map((one) => ({ value: one.name, label: one.label })), { value: metadataFilter, label: 'Metadata' }]}
          // Without a value, it forgets what was typed whenever the page changes.
          value={null}
          onChange={(value) => choose(value ?? undefined)}
        />
      )}
    </Group>
  );
}

interface FieldProps extends Omit<FilterFieldProps, 'name'> {
  filter: Filter;
}

function Field({ filter, search, change, close }: FieldProps) {
  const { name, label, of } = filter;
  const [typed, setTyped] = useState('');
  const choices = useChoices(new Set(of ? [of] : []));
  const set = (value: string | string[]): void => change(withFilter(search, name, value));
  const named = of && choices[of];
  const data =
    filter.values?.map((value) => ({ value, label: wordOfValue(filter, value) })) ??
    (named && withIds(named, valuesOf(search[name]), typed));
  const common = { size: 'xs', flex: 1, autoFocus: true, 'aria-label': label, placeholder: label } as const;
  const finding = { searchable: true, searchValue: typed, onSearchChange: setTyped, defaultDropdownOpened: true };
  if (data && filter.many) {
    return <MultiSelect {...common} {...finding} data={data} value={valuesOf(search[name])} onChange={set} />;
  }
  if (data) {
    const apply = (value: string | null): void => {
      set(value ?? '');
      close(true);
    };
    return <Select {...common} {...finding} data={data} value={firstOf(search[name]) ?? null} onChange={apply} />;
  }
  return <TextField filter={filter} value={firstOf(search[name]) ?? ''} set={set} close={close} />;
}

/** The choices, with applied ids that are not among them, and the typed text as an id. */
function withIds(choices: Choice[], values: string[], typed: string): Choice[] {
  const text = typed.trim();
  const isName = choices.some(({ value, label }) => value === text || label.toLowerCase().includes(text.toLowerCase()));
  const ids = [...values, ...(text === '' || isName ? [] : [text])].filter((id) => !choices.some(({ value }) => value === id));
  return [...choices, ...[...new Set(ids)].map((id) => ({ value: id, label: id }))];
}

interface TextFieldProps extends Pick<FilterFieldProps, 'close'> {
  filter: Filter;
  value: string;
  set: (value: string) => void;
}

function TextField({ filter: { label, time, hint }, value, set, close }: TextFieldProps) {
  const Input = time ? AppliedTime : AppliedInput;
  return (
    <Input
      size="xs"
      flex={1}
      autoFocus
      aria-label={label}
      placeholder={hint ?? label}
      value={value}
      apply={set}
      entered={() => close(true)}
    />
  );
}

function Metadata({ search, change, close }: Omit<FilterFieldProps, 'name'>) {
  const apply = (text: string): void => {
    const [key, ...rest] = text.split('=');
    if (key?.trim() && rest.length > 0) {
      change(withFilter(search, `metadata[${key.trim()}]`, rest.join('=')));
    }
  };
  return (
    <AppliedInput
      size="xs"
      flex={1}
      autoFocus
      aria-label="Metadata"
      placeholder="key=value"
      value=""
      apply={apply}
      entered={() => close(true)}
    />
  );
}
