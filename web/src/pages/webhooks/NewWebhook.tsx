import { Button, Checkbox, Group, List, PasswordInput, Radio, Select, Stack, Text, TextInput } from '@mantine/core';
import type { Factory, SignaturePreset, Webhook } from '@penstock/sdk';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { client } from '../../api.ts';
import { signatureSchemesQuery } from '../../queries.ts';
import { Dialog } from '../../ui/Dialog.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { type Draft, emptyDraft, factsOf, requestOf, secretNameOf, wantsGuard } from './draft.ts';
import { EditElsewhere } from './EditElsewhere.tsx';
import { SecretForm } from './FinishSetup.tsx';
import { Reveal } from './Reveal.tsx';
import { SignatureFields } from './SignatureFields.tsx';

/** Creates a webhook. Then it shows the URL and the secret once, or asks for the secret if the sender creates it after it has the URL. */
export default function NewWebhook({
  factories,
  factory,
  close,
}: {
  factories: Factory[];
  factory: string | undefined;
  close: () => void;
}) {
  const queries = useQueryClient();
  const [into, setInto] = useState<string | null>(factory ?? factories.find(({ source }) => source === 'service')?.uid ?? null);
  const creating = useMutation({
    mutationFn: (draft: Draft) => client.webhooks.create(into ?? '', requestOf(draft)),
    onSuccess: () =>
      Promise.all([queries.invalidateQueries({ queryKey: ['webhooks'] }), queries.invalidateQueries({ queryKey: ['factories'] })]),
  });
  const made = creating.data;
  const chosen = factories.find(({ uid }) => uid === into);
  return (
    <Dialog title={made ? made.label : 'New webhook'} close={close} size="lg" stays={made !== undefined}>
      {made ? (
        <Made webhook={made} factory={into ?? ''} done={close} />
      ) : (
        <Stack gap="sm">
          <Select
            label="Factory"
            required
            searchable
            allowDeselect={false}
            data={factories.map(({ uid, name }) => ({ value: uid, label: name }))}
            value={into}
            onChange={setInto}
          />
          <EditElsewhere factory={chosen} file="webhooks/<name>.yaml" />
          {chosen && chosen.source !== 'repository' && (
            <Fields create={creating.mutate} creating={creating.isPending} error={creating.error} close={close} />
          )}
        </Stack>
      )}
    </Dialog>
  );
}

/** The next step for a new webhook: its secret, or the page on which its deliveries appear. */
function Made({ webhook, factory, done }: { webhook: Webhook; factory: string; done: () => void }) {
  const navigate = useNavigate();
  const open = (): void => {
    done();
    void navigate({ to: '/factory/$uid/webhooks/$wuid', params: { uid: factory, wuid: webhook.uid }, search: {} });
  };
  if (webhook.pending_secret) {
    return <SecretForm webhook={webhook} factory={factory} later={done} finished={open} />;
  }
  return <Reveal webhook={webhook} factory={factory} done={open} />;
}

interface FieldsProps {
  create: (draft: Draft) => void;
  creating: boolean;
  error: unknown;
  close: () => void;
}

function Fields({ create, creating, error, close }: FieldsProps) {
  const schemes = useQuery(signatureSchemesQuery);
  const [draft, setDraft] = useState(emptyDraft);
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const preset = schemes.data?.find(({ scheme }) => scheme === draft.scheme);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create(draft);
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label="Name"
          required
          data-autofocus
          placeholder="Deploy events"
          maxLength={100}
          value={draft.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
        <Radio.Group label="Authentication" value={draft.mode} onChange={(mode) => set({ mode: mode as Draft['mode'] })}>
          <Stack gap={6} mt={4}>
            <Radio
              value="token"
              label="Bearer token"
              description="The sender sends the header Authorization. Penstock generates the token."
            />
            <Radio
              value="url_token"
              label="Token in the URL"
              description="For senders that only take a URL. Anyone with the URL can send deliveries."
            />
            <Radio
              value="signature"
              label="Signature"
              description="The sender signs each delivery. The safest choice, if the sender supports it."
            />
          </Stack>
        </Radio.Group>
        {draft.mode === 'signature' && <Sender draft={draft} set={set} schemes={schemes.data ?? []} preset={preset} />}
        <Group grow align="start">
          <TextInput
            label="Managed secret"
            description="If the secret exists, its value does not change"
            placeholder={secretNameOf(draft.name)}
            value={draft.secretName}
            onChange={(event) => set({ secretName: event.currentTarget.value })}
          />
          <TextInput
            label="Delivery ID header"
            description="Identifies a delivery. Default: the sender’s own"
            placeholder={preset?.forms[0]?.id_header && draft.mode === 'signature' ? preset.forms[0].id_header : 'X-Penstock-Delivery-Id'}
            value={draft.deliveryIdHeader}
            onChange={(event) => set({ deliveryIdHeader: event.currentTarget.value })}
          />
        </Group>
        <Stack gap={6}>
          {draft.mode === 'signature' && wantsGuard(preset, draft.deliveryIdHeader) && (
            <Checkbox
              label="Replay guard: the same signed bytes with another delivery ID are a duplicate"
              checked={draft.replayGuard}
              onChange={(event) => set({ replayGuard: event.currentTarget.checked })}
            />
          )}
          <Checkbox
            label="Use a new value of the managed secret at once"
            checked={draft.immediate}
            onChange={(event) => set({ immediate: event.currentTarget.checked })}
          />
          <Checkbox
            label="Enabled as soon as it has its secret"
            checked={draft.enabled}
            onChange={(event) => set({ enabled: event.currentTarget.checked })}
          />
        </Stack>
        <Failure error={error ?? schemes.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Close
          </Button>
          <Button type="submit" loading={creating} disabled={draft.name.trim() === ''}>
            Create
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface SenderProps {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  schemes: SignaturePreset[];
  preset: SignaturePreset | undefined;
}

/** Selects the sender, shows its facts, and takes its secret. */
function Sender({ draft, set, schemes, preset }: SenderProps) {
  const later = preset?.secret_after_url || (preset && !preset.secret_generated);
  return (
    <>
      <Select
        label="Sender"
        searchable
        allowDeselect={false}
        data={schemes.map(({ scheme, sender }) => ({ value: scheme, label: sender }))}
        value={draft.scheme}
        onChange={(scheme) => set({ scheme: scheme ?? draft.scheme })}
      />
      {preset && (
        <section aria-label={`About ${preset.sender}`}>
          <Text size="sm">{preset.hint}</Text>
          <List size="sm" c="dimmed">
            {factsOf(preset).map((fact) => (
              <List.Item key={fact}>{fact}</List.Item>
            ))}
          </List>
        </section>
      )}
      <SignatureFields scheme={draft.scheme} signature={draft.signature} change={(signature) => set({ signature })} />
      <PasswordInput
        label="Secret"
        description={
          later ? 'Leave empty if the sender shows it only after it has the URL, and enter it later.' : 'Leave empty to generate one.'
        }
        autoComplete="off"
        value={draft.secret}
        onChange={(event) => set({ secret: event.currentTarget.value })}
        visibilityToggleButtonProps={{ 'aria-label': 'Show the secret' }}
      />
    </>
  );
}
