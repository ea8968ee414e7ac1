import { Group, SegmentedControl, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { APIError, type TestFilterRequest, type Webhook } from '@penstock/sdk';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { client, clientWithPayload } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { isJSON } from '../../json.ts';
import { Failure } from '../../ui/Failure.tsx';
import { Status } from '../../ui/Status.tsx';
import { ChosenDelivery, FailedChecks, TestedDeliveries } from './TestedDeliveries.tsx';
import { readFilter, type TriggerDraft } from './triggers.ts';

const JsonEditor = lazy(() => import('./JsonEditor.tsx'));

interface TestFilterProps {
  factory: string;
  trigger: TriggerDraft;
  /** The webhooks that the trigger uses. */
  webhooks: Webhook[];
}

/** Tests a trigger's filter while it is edited: with the last deliveries of a webhook, with one that the URL names, or with a pasted payload. */
export function TestFilter({ factory, trigger, webhooks }: TestFilterProps) {
  const named = useSearch({ strict: false }) as { webhook?: string; delivery?: string };
  const [on, setOn] = useState('delivery');
  const [chosen, setChosen] = useState<string | null>(named.webhook ?? null);
  const [payload, setPayload] = useState('');
  const [githubEvent, setGithubEvent] = useState('push');
  const webhook = webhooks.find(({ uid }) => uid === chosen) ?? webhooks[0];
  const pasted = on === 'payload' || !webhook;
  return (
    <Stack gap="xs" role="group" aria-label="Test filter">
      <Group gap="xs" align="end">
        <SegmentedControl
          size="xs"
          aria-label="Test with"
          value={pasted ? 'payload' : 'delivery'}
          onChange={setOn}
          data={[
            { value: 'delivery', label: 'Stored deliveries', disabled: !webhook },
            { value: 'payload', label: 'Pasted payload' },
          ]}
        />
        {webhooks.length > 1 && !pasted && (
          <Select
            size="xs"
            aria-label="Webhook to test with"
            allowDeselect={false}
            data={webhooks.map(({ uid, label }) => ({ value: uid, label }))}
            value={webhook.uid}
            onChange={setChosen}
          />
        )}
        {pasted && trigger.provider === 'github' && (
          <TextInput size="xs" label="X-GitHub-Event" value={githubEvent} onChange={(event) => setGithubEvent(event.currentTarget.value)} />
        )}
      </Group>
      {pasted ? (
        <>
          <Suspense fallback={<div style={{ height: 90 }} />}>
            <JsonEditor label="Payload" value={payload} change={setPayload} hint='{"status": "failed"}' />
          </Suspense>
          <Pasted factory={factory} trigger={trigger} payload={payload} githubEvent={githubEvent} />
        </>
      ) : (
        <Stored
          factory={factory}
          trigger={trigger}
          webhook={webhook.uid}
          delivery={named.webhook === webhook.uid ? named.delivery : undefined}
        />
      )}
    </Stack>
  );
}

/** The filter and the event of a test request. */
export function aboutOf(trigger: TriggerDraft): TestFilterRequest {
  const filter = readFilter(trigger.filter) ?? {};
  return trigger.provider === 'webhook' ? { filter } : { filter, provider: trigger.provider as 'github' | 'linear', event: trigger.event };
}

/** What a filter is tested with. A payload is the text of the JSON, as it was pasted. */
type Subject = Omit<Partial<TestFilterRequest>, 'payload'> & { payload?: string };

/** Returns the result of the filter as it is typed. While it is invalid, the last result stays. */
function useFilterTest(factory: string, trigger: TriggerDraft, subject: Subject | undefined) {
  const valid = readFilter(trigger.filter) !== undefined && subject !== undefined;
  const [request] = useDebouncedValue(JSON.stringify({ ...aboutOf(trigger), ...subject }), 300);
  const query = useQuery({
    queryKey: ['filter-test', factory, request],
    queryFn: ({ signal }) => {
      const { payload, ...tested } = JSON.parse(request) as Subject & Pick<TestFilterRequest, 'filter'>;
      const sender = payload === undefined ? client : clientWithPayload(payload);
      return sender.automations.testFilter(factory, tested, { signal });
    },
    placeholderData: keepPreviousData,
    enabled: valid,
    retry: false,
  });
  // The editor marks the place of an error in the filter.
  const marked = !valid || (query.error instanceof APIError && query.error.errors.some(({ pointer }) => pointer.startsWith('/filter')));
  return { result: query.data, error: marked ? undefined : query.error, marked };
}

interface StoredProps {
  factory: string;
  trigger: TriggerDraft;
  webhook: string;
  /** The delivery to show first. */
  delivery: string | undefined;
}

function Stored({ factory, trigger, webhook, delivery }: StoredProps) {
  const all = useFilterTest(factory, trigger, { webhook_uid: webhook });
  const one = useFilterTest(factory, trigger, delivery ? { webhook_uid: webhook, delivery_id: delivery } : undefined);
  const sample = all.result?.sample;
  return (
    <>
      {all.marked && (
        <Text size="sm" c="dimmed">
          The filter has an error. The results are those of the last valid filter.
        </Text>
      )}
      {delivery && one.result && (
        <ChosenDelivery
          factory={factory}
          webhook={webhook}
          delivery={delivery}
          result={one.result}
          onPayload={trigger.provider === 'webhook'}
        />
      )}
      <Failure error={all.error ?? one.error} />
      {all.result && <FailedChecks checks={all.result.checks.filter(({ check }) => check === 'webhook')} />}
      {sample && (
        <Text size="sm" role="status">
          {sample.of === 0
            ? 'The webhook has not accepted a delivery yet.'
            : `Matches ${sample.matched} of the last ${formatCount(sample.of, 'delivery', 'deliveries')}.`}
        </Text>
      )}
      {sample && sample.of > 0 && <TestedDeliveries factory={factory} webhook={webhook} deliveries={sample.deliveries} />}
    </>
  );
}

interface PastedProps {
  factory: string;
  trigger: TriggerDraft;
  payload: string;
  githubEvent: string;
}

function Pasted({ factory, trigger, payload, githubEvent }: PastedProps) {
  const valid = isJSON(payload);
  const event = trigger.provider === 'github' ? { github_event: githubEvent } : {};
  const { result, error } = useFilterTest(factory, trigger, valid ? { payload, ...event } : undefined);
  return (
    <>
      <Failure error={error} />
      {result && valid && (
        <div role="status">
          <Status tone={result.would_trigger ? 'good' : 'calm'}>{result.would_trigger ? 'Would trigger' : 'Would not trigger'}</Status>
          <FailedChecks checks={result.checks} />
        </div>
      )}
    </>
  );
}
