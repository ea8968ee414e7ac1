import { PasswordInput, Radio, Stack, Text } from '@mantine/core';
import type { Example } from './examples.ts';

interface ExampleFieldsProps {
  examples: readonly Example[];
  example: Example | undefined;
  choose: (folder: string) => void;
  /** The secrets of the example that do not exist yet. */
  missing: readonly string[];
  values: Readonly<Record<string, string>>;
  setValue: (name: string, value: string) => void;
}

/** Chooses an example, and takes the values of its secrets. */
export function ExampleFields({ examples, example, choose, missing, values, setValue }: ExampleFieldsProps) {
  return (
    <>
      <Radio.Group label="Example" value={example?.folder ?? null} onChange={choose}>
        <Stack gap={6} mt={4}>
          {examples.map(({ folder, name, description }) => (
            <Radio key={folder} value={folder} label={name} description={description} />
          ))}
        </Stack>
      </Radio.Group>
      <Text size="sm" c="dimmed">
        This copies its agents, automations and webhooks. Adapt them on the factory’s page, under Files.
      </Text>
      {missing.map((name) => (
        <PasswordInput
          key={name}
          label={`Secret ${name}`}
          description="Leave empty to set it later."
          autoComplete="off"
          value={values[name] ?? ''}
          onChange={(event) => setValue(name, event.currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-label': `Show ${name}` }}
        />
      ))}
    </>
  );
}
