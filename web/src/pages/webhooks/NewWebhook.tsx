import { Button, Checkbox, Group, List, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core';
import type { Factory, SignaturePreset, Webhook } from '@penstock/sdk';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { client } from '../../api.ts';
import { signatureSchemesQuery } from '../../queries.ts';
import { Dialog } from '../../ui/Dialog.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Advanced } from './Advanced.tsx';
import { type Draft, emptyDraft, factsOf, requestOf, secretNameOf, senderOf, sendersOf, takesAnySecret, withSender } from './draft.ts';
import { EditElsewhere } from './EditElsewhere.tsx';
import { SecretForm } from './FinishSetup.tsx';
import { Reveal } from './Reveal.tsx';
import { SettingsFields } from './SettingsFields.tsx';
import { SignatureFields } from './SignatureFields.tsx';

/** Creates a webhook, from its sender on. Then it shows the URL and the secret once, or asks for the secret if the sender creates it after it has the URL. */
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
        <Fields
          factory={
            <>
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
            </>
          }
          possible={chosen !== undefined && chosen.source !== 'repository'}
          create={creating.mutate}
          creating={creating.isPending}
          error={creating.error}
          close={close}
        />
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
  factory: ReactNode;
  /** Whether the chosen factory can have new webhooks. */
  possible: boolean;
  create: (draft: Draft) => void;
  creating: boolean;
  error: unknown;
  close: () => void;
}

function Fields({ factory, possible, create, creating, error, close }: FieldsProps) {
  const schemes = useQuery(signatureSchemesQuery);
  const [draft, setDraft] = useState(emptyDraft);
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const preset = schemes.data?.find(({ scheme }) => draft.mode === 'signature' && scheme === draft.scheme);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create(draft);
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Select
          label="Sender"
          data-autofocus
          searchable
          openOnFocus={false}
          selectFirstOptionOnChange
          // Without it, the list forgets a moment after it opens which option it has marked, and Enter does nothing.
          selectFirstOptionOnDropdownOpen
          allowDeselect={false}
          nothingFoundMessage="No matches. Choose how the sender authenticates."
          data={sendersOf(schemes.data ?? [])}
          value={senderOf(draft)}
          onChange={(sender) => sender && setDraft((before) => withSender(before, sender, schemes.data ?? []))}
        />
        <AboutSender draft={draft} preset={preset} />
        <TextInput
          label="Name"
          required
          placeholder="Deploy events"
          maxLength={100}
          value={draft.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
        {factory}
        {draft.mode === 'signature' && (
          <SignatureFields scheme={draft.scheme} signature={draft.signature} change={(signature) => set({ signature })} />
        )}
        {preset && !preset.secret_generated && <OwnSecret description={hintOf(preset)} draft={draft} set={set} />}
        <Advanced>
          {preset?.secret_generated && <OwnSecret description="Leave empty to generate one." draft={draft} set={set} />}
          <TextInput
            label="Managed secret"
            description={`To use an existing secret, enter its name${draft.secret ? ', and clear the secret above' : ''}`}
            placeholder={secretNameOf(draft.name)}
            value={draft.secretName}
            onChange={(event) => set({ secretName: event.currentTarget.value })}
          />
          <SettingsFields settings={draft} set={set} mode={draft.mode} preset={preset} />
          <Checkbox
            label="Enabled as soon as it has its secret"
            checked={draft.enabled}
            onChange={(event) => set({ enabled: event.currentTarget.checked })}
          />
        </Advanced>
        <Failure error={error ?? schemes.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Close
          </Button>
          <Button type="submit" loading={creating} disabled={!possible || draft.name.trim() === ''}>
            Create
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** How the sender authenticates, and where its secret comes from. */
function AboutSender({ draft: { mode }, preset }: { draft: Draft; preset: SignaturePreset | undefined }) {
  if (mode !== 'signature') {
    return (
      <Text size="sm" c="dimmed">
        {mode === 'token'
          ? 'The sender sends the header Authorization. Penstock generates the token.'
          : 'For senders that only take a URL. Penstock generates the token. Anyone with the URL can send deliveries.'}
      </Text>
    );
  }
  return (
    preset && (
      <section aria-label={`About ${preset.sender}`}>
        <Text size="sm">{preset.hint}</Text>
        <List size="sm" c="dimmed">
          {factsOf(preset).map((fact) => (
            <List.Item key={fact}>{fact}</List.Item>
          ))}
        </List>
      </section>
    )
  );
}

/** What to do with the field of the secret. */
function hintOf({ scheme, secret_after_url }: SignaturePreset): string {
  if (takesAnySecret(scheme)) {
    return 'Generated here, and shown after Create. The sender takes any secret, so you can enter another one.';
  }
  return secret_after_url
    ? 'Leave empty. The sender shows it after it has the URL, and you enter it then.'
    : 'Enter it now, or leave empty to enter it after you have registered the URL.';
}

interface OwnSecretProps {
  description: string;
  draft: Draft;
  set: (change: Partial<Draft>) => void;
}

function OwnSecret({ description, draft, set }: OwnSecretProps) {
  return (
    <PasswordInput
      label="Secret"
      description={description}
      autoComplete="off"
      value={draft.secret}
      onChange={(event) => set({ secret: event.currentTarget.value })}
      visibilityToggleButtonProps={{ 'aria-label': 'Show the secret' }}
    />
  );
}
