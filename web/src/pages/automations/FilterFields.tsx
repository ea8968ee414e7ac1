import { MultiSelect, Text } from '@mantine/core';
import { APIError, type Webhook } from '@penstock/sdk';
import { lazy, Suspense } from 'react';
import { client } from '../../api.ts';
import type { Finding } from './JsonEditor.tsx';
import { aboutOf, TestFilter } from './TestFilter.tsx';
import classes from './TriggerEditor.module.css';
import type { TriggerEditorProps } from './TriggerEditor.tsx';
import { missingOf, type TriggerDraft } from './triggers.ts';

const JsonEditor = lazy(() => import('./JsonEditor.tsx'));

const operators = [
  { label: 'in', detail: 'one of these values' },
  { label: 'not_in', detail: 'none of these values' },
  { label: 'exists', detail: 'whether the key is there' },
];

/** What the server finds wrong with a filter. It is tried on an empty payload, whatever comes of that. */
async function findings(factory: string, trigger: TriggerDraft, filter: unknown): Promise<Finding[]> {
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
}

interface FilterFieldsProps extends Pick<TriggerEditorProps, 'factory' | 'trigger' | 'change' | 'webhooks' | 'readOnly'> {
  /** By which an event of the provider can be filtered. */
  keys: string[];
}

/** Which events a trigger fires by: of which webhooks, and with what in them. */
export function FilterFields({ factory, trigger, change, webhooks, readOnly, keys }: FilterFieldsProps) {
  const ofWebhook = trigger.provider === 'webhook';
  const example = ofWebhook ? '{"status": ["failed"], "branch": {"not_in": ["scratch"]}}' : `{"${keys[0] ?? 'key'}": ["…"]}`;
  const hint = readOnly ? '' : example;
  const testable = ofWebhook || trigger.provider === 'github' || trigger.provider === 'linear';
  const seen = webhooks?.filter(({ uid, name, signature_scheme }) =>
    ofWebhook ? trigger.webhookIds.includes(uid) || trigger.webhookIds.includes(name) : signature_scheme === trigger.provider,
  );
  const check = (filter: unknown): Promise<Finding[]> => (testable ? findings(factory, trigger, filter) : Promise.resolve([]));
  return (
    <>
      {ofWebhook && (
        <MultiSelect
          label="Webhooks"
          withAsterisk
          description={missingOf(trigger)}
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
