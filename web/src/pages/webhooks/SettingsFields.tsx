import { Checkbox, Stack, TextInput } from '@mantine/core';
import type { SignaturePreset } from '@penstock/sdk';
import { type Settings, wantsGuard } from './draft.ts';

interface SettingsFieldsProps {
  settings: Settings;
  set: (change: Partial<Settings>) => void;
  /** How the webhook authenticates. */
  mode: string;
  preset: SignaturePreset | undefined;
}

/** The settings of a webhook that can change later. */
export function SettingsFields({ settings, set, mode, preset }: SettingsFieldsProps) {
  const signs = mode === 'signature';
  return (
    <>
      <TextInput
        label="Delivery ID header"
        description="Identifies a delivery. Default: the sender’s own"
        placeholder={(signs && preset?.forms[0]?.id_header) || 'X-Penstock-Delivery-Id'}
        value={settings.deliveryIdHeader}
        onChange={(event) => set({ deliveryIdHeader: event.currentTarget.value })}
      />
      <TextInput
        label="Equal bodies are duplicates for"
        description="If nothing else identifies a delivery: such as 20h, or 0 if each one counts. Default: the setting of the server"
        placeholder="168h"
        value={settings.dedupBodyWindow}
        onChange={(event) => set({ dedupBodyWindow: event.currentTarget.value })}
      />
      <Stack gap={6}>
        {signs && (settings.replayGuard || wantsGuard(preset, settings.deliveryIdHeader)) && (
          <Checkbox
            label="Replay guard: the same signed bytes with another delivery ID are a duplicate"
            checked={settings.replayGuard}
            onChange={(event) => set({ replayGuard: event.currentTarget.checked })}
          />
        )}
        <Checkbox
          label="Evaluate a delivery again if it comes again and had started no run"
          checked={settings.retryUnmatched}
          onChange={(event) => set({ retryUnmatched: event.currentTarget.checked })}
        />
        {signs && (settings.setupPings || preset?.setup_pings) && (
          <Checkbox
            label="Answer unsigned setup requests with 200 until the first verified delivery"
            checked={settings.setupPings}
            onChange={(event) => set({ setupPings: event.currentTarget.checked })}
          />
        )}
        <Checkbox
          label="Use a new value of the managed secret at once"
          checked={settings.immediate}
          onChange={(event) => set({ immediate: event.currentTarget.checked })}
        />
      </Stack>
    </>
  );
}
