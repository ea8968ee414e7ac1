import { TextInput, type TextInputProps } from '@mantine/core';
import { useState } from 'react';

interface AppliedInputProps extends Omit<TextInputProps, 'value' | 'onChange' | 'onBlur' | 'onKeyDown'> {
  /** The applied text. The field follows it. */
  value: string;
  /** Called with another text, without space around it. */
  apply: (text: string) => void;
  /** Called after Enter. */
  entered?: () => void;
}

/** A field whose text applies on Enter, or when the user leaves the field. */
export function AppliedInput({ value, apply, entered, ...input }: AppliedInputProps) {
  const [text, setText] = useState(value);
  const [applied, follow] = useState(value);
  if (value !== applied) {
    follow(value);
    setText(value);
  }
  const applyText = (): void => {
    if (text.trim() !== value) {
      apply(text.trim());
    }
  };
  return (
    <TextInput
      {...input}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={applyText}
      onKeyDown={(event) => {
        if (event.key === 'Enter') {
          event.preventDefault(); // else it would press the button that gets the focus
          applyText();
          entered?.();
        }
      }}
    />
  );
}

/** An {@link AppliedInput} for a time of the API, in the time zone of the browser. An empty field is an empty text. */
export function AppliedTime({ value, apply, ...input }: AppliedInputProps) {
  return <AppliedInput {...input} type="datetime-local" value={toLocal(value)} apply={(text) => apply(fromLocal(text))} />;
}

/** Converts a time of the API to the value of a datetime-local field. */
function toLocal(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? '' : new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Converts the value of a datetime-local field to a time of the API. */
export function fromLocal(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? '' : at.toISOString();
}
