import { Alert, Button, Group, List, MultiSelect, Radio, Select, Stack, Text, TextInput } from '@mantine/core';
import { APIError, type FieldError, type Webhook } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { client } from '../../api.ts';
import { formatWord } from '../../format.ts';
import { schedulesQuery } from '../../queries.ts';
import type { Finding } from './JsonEditor.tsx';
import { NextTimes } from './NextTimes.tsx';
import { aboutOf, TestFilter } from './TestFilter.tsx';
import classes from './TriggerEditor.module.css';
import { type Provider, silenceOf, type TriggerDraft } from './triggers.ts';

const JsonEditor = lazy(() => import('./JsonEditor.tsx'));

interface TriggerEditorProps {
  factory: string;
  /** Which of the automation's triggers it is, from 1 on. */
  number: number;
  trigger: TriggerDraft;
  change: (trigger: TriggerDraft) => void;
  remove: (() => void) | undefined;
  providers: Provider[];
  webhooks: Webhook[] | undefined;
  /** What the server finds wrong with it as it is stored. */
  problems: FieldError[];
  readOnly: boolean;
}

/** One event that an automation waits for. */
export function TriggerEditor(props: TriggerEditorProps) {
  const { number, trigger, change, remove, providers, webhooks, problems, readOnly } = props;
  const provider = providers.find(({ name }) => name === trigger.provider);
  const silence = silenceOf(trigger.provider, webhooks);
  return (
    <fieldset className={classes.trigger}>
      <legend>Trigger {number}</legend>
      <Stack gap="sm">
        <Group gap="xs" align="end">
          <Select
            label="When"
            readOnly={readOnly}
            allowDeselect={false}
            data={providers.map(({ name }) => ({
              value: name,
              label: formatWord(name) + (silenceOf(name, webhooks) ? ' (not connected)' : ''),
            }))}
            value={trigger.provider}
            onChange={(name) => {
              const next = providers.find((one) => one.name === name);
              change({ ...trigger, provider: next?.name ?? trigger.provider, event: next?.events[0] ?? '', filter: '' });
            }}
          />
          {(provider?.events.length ?? 0) > 1 && (
            <Select
              label="Event"
              readOnly={readOnly}
              searchable
              allowDeselect={false}
              w={260}
              data={provider?.events.map((event) => ({ value: event, label: formatWord(event) })) ?? []}
              value={trigger.event}
              onChange={(event) => change({ ...trigger, event: event ?? trigger.event })}
            />
          )}
          {remove && !readOnly && (
            <Button variant="subtle" color="gray" c="dimmed" ml="auto" onClick={remove}>
              Remove
            </Button>
          )}
        </Group>
        {silence && problems.length === 0 && (
          <Alert variant="default" p="xs">
            {silence}
          </Alert>
        )}
        {problems.length > 0 && (
          <List size="sm" c="var(--warn)">
            {problems.map(({ pointer, detail }) => (
              <List.Item key={pointer + detail}>{detail}</List.Item>
            ))}
          </List>
        )}
        {trigger.provider === 'schedule' ? <Clock {...props} /> : <Filtered {...props} keys={provider?.keys ?? []} />}
      </Stack>
    </fieldset>
  );
}

function Clock({ trigger, change, readOnly }: TriggerEditorProps) {
  const schedules = useQuery(schedulesQuery);
  const { clock } = trigger;
  return (
    <>
      <Radio.Group
        aria-label="Which clock"
        value={trigger.own ? 'own' : 'schedules'}
        onChange={(which) => change({ ...trigger, own: which === 'own' })}
      >
        <Group>
          <Radio value="own" label="A clock of its own" disabled={readOnly && !trigger.own} />
          <Radio value="schedules" label="Schedules of the team" disabled={readOnly && trigger.own} />
        </Group>
      </Radio.Group>
      {trigger.own ? (
        <Group align="start" gap="lg">
          <Stack gap="xs">
            <TextInput
              label="Cron"
              readOnly={readOnly}
              description="minute hour day month weekday, or @daily, @every 1h30m"
              value={clock.cron}
              onChange={(event) => change({ ...trigger, clock: { ...clock, cron: event.currentTarget.value } })}
            />
            <Select
              label="Time zone"
              readOnly={readOnly}
              searchable
              allowDeselect={false}
              data={[...new Set(['UTC', clock.timezone ?? 'UTC', ...Intl.supportedValuesOf('timeZone')])]}
              value={clock.timezone ?? 'UTC'}
              onChange={(timezone) => change({ ...trigger, clock: { ...clock, timezone: timezone ?? 'UTC' } })}
            />
            <TextInput
              label="Name"
              readOnly={readOnly}
              description="What its runs show"
              value={clock.name ?? ''}
              onChange={(event) => change({ ...trigger, clock: { ...clock, name: event.currentTarget.value } })}
            />
          </Stack>
          <NextTimes cron={clock.cron} timezone={clock.timezone ?? 'UTC'} />
        </Group>
      ) : (
        <MultiSelect
          label="Schedules"
          readOnly={readOnly}
          data={schedules.data?.schedules.map(({ id, name }) => ({ value: id, label: name })) ?? []}
          value={trigger.scheduleIds}
          onChange={(scheduleIds) => change({ ...trigger, scheduleIds })}
        />
      )}
    </>
  );
}

const operators = [
  { label: 'in', detail: 'one of these values' },
  { label: 'not_in', detail: 'none of these values' },
  { label: 'exists', detail: 'whether the key is there' },
];

function Filtered({ factory, trigger, change, webhooks, readOnly, keys }: TriggerEditorProps & { keys: string[] }) {
  const ofWebhook = trigger.provider === 'webhook';
  const example = ofWebhook ? '{"status": ["failed"], "branch": {"not_in": ["scratch"]}}' : `{"${keys[0] ?? 'key'}": ["…"]}`;
  const hint = readOnly ? '' : example;
  const testable = ofWebhook || trigger.provider === 'github' || trigger.provider === 'linear';
  const seen = webhooks?.filter(({ uid, name, signature_scheme }) =>
    ofWebhook ? trigger.webhookIds.includes(uid) || trigger.webhookIds.includes(name) : signature_scheme === trigger.provider,
  );
  const check = async (filter: unknown): Promise<Finding[]> => {
    if (!testable) {
      return [];
    }
    const event = trigger.provider === 'github' ? { github_event: 'push' } : {};
    try {
      await client.automations.testFilter(factory, {
        ...aboutOf(trigger),
        filter: filter as Record<string, unknown>,
        ...event,
        payload: {},
      });
      return [];
    } catch (error) {
      const fields = error instanceof APIError ? error.errors : [];
      return fields.map(({ pointer, detail }) => ({ pointer: pointer.replace(/^\/filter/, ''), detail }));
    }
  };
  return (
    <>
      {ofWebhook && (
        <MultiSelect
          label="Webhooks"
          readOnly={readOnly}
          searchable
          data={namesOf(webhooks, trigger.webhookIds)}
          value={trigger.webhookIds.map((id) => webhooks?.find(({ uid }) => uid === id)?.name ?? id)}
          onChange={(webhookIds) => change({ ...trigger, webhookIds })}
        />
      )}
      <div>
        <Text size="sm" fw={600} component="div">
          Filter
        </Text>
        <Text size="xs" c="dimmed" mb={4}>
          {ofWebhook
            ? 'Each key must match the payload: a list of values, in, not_in and exists, or an object. Empty: every delivery.'
            : `Each key must match: a list of values, or in and not_in. Keys: ${keys.join(', ')}. Empty: every such event.`}
        </Text>
        {ofWebhook && <FilterHelp />}
        <Suspense fallback={<div style={{ height: 90 }} />}>
          <JsonEditor
            key={hint}
            label="Filter"
            value={trigger.filter}
            change={(filter) => change({ ...trigger, filter })}
            check={check}
            keys={[...keys.map((label) => ({ label, detail: trigger.provider })), ...operators]}
            hint={hint}
            readOnly={readOnly}
          />
        </Suspense>
      </div>
      {testable && <TestFilter factory={factory} trigger={trigger} webhooks={seen ?? []} />}
    </>
  );
}

const examples: [string, string][] = [
  ['{"status": ["failed", "error"]}', 'status is one of these'],
  ['{"branch": {"not_in": ["scratch"]}}', 'branch is missing, or none of these'],
  ['{"pull_request": {"exists": true}}', 'there is a pull_request, whatever is in it'],
  ['{"repository": {"name": ["shop"]}}', 'within repository, name is this'],
  ['{"status": ["failed"], "attempt": [1]}', 'both; a number is no text, and case counts'],
];

/** What a filter of payloads can say, by example. */
function FilterHelp() {
  return (
    <details className={classes.help}>
      <summary>How filters are written</summary>
      <dl>
        {examples.map(([filter, meaning]) => (
          <div key={filter}>
            <dt className="mono">{filter}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** The webhooks to choose from, and those that are chosen though they are not there. */
function namesOf(webhooks: Webhook[] | undefined, chosen: string[]): { value: string; label: string }[] {
  const known = webhooks?.map(({ name, label }) => ({ value: name, label: label || name })) ?? [];
  const gone = chosen.filter((id) => !webhooks?.some(({ uid, name }) => uid === id || name === id));
  return [...known, ...gone.map((id) => ({ value: id, label: `${id} (not there)` }))];
}
