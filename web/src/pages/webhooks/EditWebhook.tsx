import type { Webhook } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { changeOf, settingsOf } from './draft.ts';
import { SettingsFields } from './SettingsFields.tsx';
import { SignatureFields } from './SignatureFields.tsx';
import { usePreset } from './usePreset.ts';

/** Edits what can change after the sender was configured. */
export default function EditWebhook({ webhook, factory, close }: { webhook: Webhook; factory: string; close: () => void }) {
  const queries = useQueryClient();
  const [before] = useState(() => settingsOf(webhook)); // only differences from it are sent
  const [settings, setSettings] = useState(before);
  const { preset } = usePreset(webhook.signature_scheme);
  const change = changeOf(webhook.signature_scheme, before, settings);
  const submit = async (): Promise<void> => {
    await client.webhooks.update(factory, webhook.uid, change);
    await Promise.all(['webhooks', 'webhook'].map((noun) => queries.invalidateQueries({ queryKey: [noun] })));
  };
  return (
    <FormDialog
      title={`Edit ${webhook.label}`}
      close={close}
      action="Save"
      submit={submit}
      incomplete={Object.keys(change).length === 0}
      size="lg"
    >
      <SettingsFields
        settings={settings}
        set={(next) => setSettings((now) => ({ ...now, ...next }))}
        mode={webhook.auth_mode}
        preset={preset}
      />
      {webhook.signature_scheme && (
        <SignatureFields
          scheme={webhook.signature_scheme}
          signature={settings.signature}
          change={(signature) => setSettings((now) => ({ ...now, signature }))}
        />
      )}
    </FormDialog>
  );
}
