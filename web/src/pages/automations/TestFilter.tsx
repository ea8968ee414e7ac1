import { Button, Group, SegmentedControl, Select, Stack, Text, TextInput } from '@mantine/core';
import type { FilterVerdict, TestFilterRequest, Webhook } from '@penstock/sdk';
import { useMutation, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { client } from '../../api.ts';
import { formatCount, formatRelative } from '../../format.ts';
import { deliveriesQuery } from '../../queries.ts';
import { Failure } from '../../ui/Failure.tsx';
import { Status } from '../../ui/Status.tsx';
import { keepsNumbers } from './pointer.ts';
import { readFilter, type TriggerDraft } from './triggers.ts';

const JsonEditor = lazy(() => import('./JsonEditor.tsx'));

interface TestFilterProps {
  factory: string;
  trigger: TriggerDraft;
  /** The webhooks that the trigger uses. */
  webhooks: Webhook[];
}

/** Tests a trigger's filter with a stored delivery, a pasted payload, or the last deliveries of a webhook. */
export function TestFilter({ factory, trigger, webhooks }: TestFilterProps) {
  const [on, setOn] = useState('delivery');
  const [chosen, setChosen] = useState<string | null>(null);
  const [delivery, setDelivery] = useState<string | null>(null);
  const [payload, setPayload] = useState('');
  const [githubEvent, setGithubEvent] = useState('push');
  const webhook = webhooks.find(({ uid }) => uid === chosen) ?? webhooks[0];
  const pasted = on === 'payload' || !webhook;
  const testing = useMutation({
    mutationFn: async () => {
      const about = aboutOf(trigger);
      const subject: Partial<TestFilterRequest> = pasted
        ? { payload: JSON.parse(payload), ...(trigger.provider === 'github' ? { github_event: githubEvent } : {}) }
        : { webhook_uid: webhook.uid, ...(delivery ? { delivery_id: delivery } : {}) };
      const [verdict, sample] = await Promise.all([
        client.automations.testFilter(factory, { ...about, ...subject }),
        webhook ? client.automations.testFilter(factory, { ...about, webhook_uid: webhook.uid }) : undefined,
      ]);
      return { verdict, sample: sample?.sample, one: pasted || delivery !== null };
    },
  });
  const ready = readFilter(trigger.filter) !== undefined && (!pasted || isJSON(payload));
  return (
    <Stack gap="xs" role="group" aria-label="Test filter">
      <Group gap="xs" align="end">
        <SegmentedControl
          size="xs"
          aria-label="Test with"
          value={pasted ? 'payload' : 'delivery'}
          onChange={setOn}
          data={[
            { value: 'delivery', label: 'Stored delivery', disabled: !webhook },
            { value: 'payload', label: 'Pasted payload' },
          ]}
        />
        {webhooks.length > 1 && (
          <Select
            size="xs"
            aria-label="Webhook to test with"
            allowDeselect={false}
            data={webhooks.map(({ uid, label }) => ({ value: uid, label }))}
            value={webhook?.uid ?? null}
            onChange={(uid) => {
              setChosen(uid);
              setDelivery(null);
            }}
          />
        )}
        {!pasted && <ChooseDelivery factory={factory} webhook={webhook.uid} value={delivery} change={setDelivery} />}
        {pasted && trigger.provider === 'github' && (
          <TextInput size="xs" label="X-GitHub-Event" value={githubEvent} onChange={(event) => setGithubEvent(event.currentTarget.value)} />
        )}
        <Button size="xs" variant="default" loading={testing.isPending} disabled={!ready} onClick={() => testing.mutate()}>
          Test filter
        </Button>
      </Group>
      {pasted && (
        <Suspense fallback={<div style={{ height: 90 }} />}>
          <JsonEditor label="Payload" value={payload} change={setPayload} hint='{"status": "failed"}' />
        </Suspense>
      )}
      {testing.data && <Verdict {...testing.data} />}
      <Failure error={testing.error} />
    </Stack>
  );
}

/** The filter and the event of a test request. */
export function aboutOf(trigger: TriggerDraft): TestFilterRequest {
  const filter = readFilter(trigger.filter) ?? {};
  return trigger.provider === 'webhook' ? { filter } : { filter, provider: trigger.provider as 'github' | 'linear', event: trigger.event };
}

/** Whether a text is JSON that the browser can send unchanged. */
function isJSON(text: string): boolean {
  try {
    JSON.parse(text);
    return keepsNumbers(text);
  } catch {
    return false;
  }
}

interface ChooseDeliveryProps {
  factory: string;
  webhook: string;
  value: string | null;
  change: (id: string | null) => void;
}

function ChooseDelivery({ factory, webhook, value, change }: ChooseDeliveryProps) {
  const log = useQuery(deliveriesQuery(factory, webhook, { limit: 50, outcome: 'accepted' }));
  return (
    <Select
      size="xs"
      aria-label="Delivery"
      w={300}
      searchable
      clearable
      placeholder={log.data?.items.length === 0 ? 'No accepted deliveries yet' : 'The last 50 deliveries'}
      data={
        log.data?.items.map((one) => ({
          value: one.delivery_id,
          label: `${formatRelative(one.received_at, Date.now())} · ${one.size} B · ${one.delivery_id.slice(-12)}`,
        })) ?? []
      }
      value={value}
      onChange={change}
    />
  );
}

function Verdict({ verdict, sample, one }: { verdict: FilterVerdict; sample: FilterVerdict['sample']; one: boolean }) {
  const failed = verdict.checks.filter(({ passed }) => !passed);
  return (
    <div role="status">
      {one && (
        <Status tone={verdict.would_trigger ? 'good' : 'calm'}>{verdict.would_trigger ? 'Would trigger' : 'Would not trigger'}</Status>
      )}
      {failed
        .filter(({ check }) => one || check === 'webhook')
        .map(({ check, path, reason }) => (
          <Text key={check} size="sm" className="plain">
            {path && <code>{path}</code>} {reason}
          </Text>
        ))}
      {sample && (
        <Text size="sm" mt={4}>
          {sample.of === 0
            ? 'The webhook has not accepted a delivery yet.'
            : `Matches ${sample.matched} of the last ${formatCount(sample.of, 'delivery', 'deliveries')}.`}
        </Text>
      )}
    </div>
  );
}
