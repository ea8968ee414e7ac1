import { CloseButton, TextInput, type TextInputProps } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';
import { Icon } from './Icon.tsx';

interface SearchBoxProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  /** What is looked for, as the address has it. */
  value: string;
  change: (value: string) => void;
}

/** Looks for what is typed once the typing rests. Where the address changes otherwise, as by the way back, it says what that looks for. */
export function SearchBox({ value, change, ...input }: SearchBoxProps) {
  const [text, setText] = useState(value);
  const asked = useRef(value);
  const later = useDebouncedCallback((next: string) => {
    asked.current = next;
    change(next);
  }, 250);
  useEffect(() => {
    // Its own answer is not put into the field: a space at the end, or what was typed meanwhile, would be lost.
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
      leftSection={<Icon name="search" />}
      rightSection={text ? <CloseButton size="sm" aria-label="Clear the search" onClick={() => type('')} /> : null}
      value={text}
      onChange={(event) => type(event.currentTarget.value)}
      {...input}
    />
  );
}
