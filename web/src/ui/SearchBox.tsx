import { CloseButton, TextInput, type TextInputProps } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';
import { Icon } from './Icon.tsx';

interface SearchBoxProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  /** The search text in the URL. */
  value: string;
  change: (value: string) => void;
}

/** Searches when the user stops typing. If the URL changes in another way, such as by Back, the field follows it. */
export function SearchBox({ value, change, ...input }: SearchBoxProps) {
  const [text, setText] = useState(value);
  const asked = useRef(value);
  const later = useDebouncedCallback((next: string) => {
    asked.current = next;
    change(next);
  }, 250);
  useEffect(() => {
    // Its own change does not reset the field: a trailing space, or newer input, would be lost.
    if (value !== asked.current) {
      asked.current = value;
      setText(value);
    }
  }, [value]);
  const type = (next: string): void => {
    setText(next);
    later(next.trim());
  };
  return (
    <TextInput
      data-search
      leftSection={<Icon name="search" />}
      rightSection={text ? <CloseButton size="sm" aria-label="Clear the search" onClick={() => type('')} /> : null}
      value={text}
      onChange={(event) => type(event.currentTarget.value)}
      {...input}
    />
  );
}
