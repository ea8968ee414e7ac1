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
  { label: 'not_in', detail: 'any other value, or a missing key' },
  { label: 'exists', detail: 'true: the key is present; false: it is missing' },
];

/** Returns the server's errors in a filter. It tests the filter with an empty payload and ignores the result. */
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
  /** The filter keys of the provider's events. */
  keys: string[];
}

/** Edits the webhooks and the filter of a trigger. */
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
            ? 'Every key must match the payload. A key takes a list of values, an object with in, not_in or exists, or a nested object. Leave empty to match every delivery.'
            : `Every key must match. A key takes a list of values, or an object with in or not_in. Keys: ${keys.join(', ')}. Leave empty to match every event.`}
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
  ['{"status": ["failed", "error"]}', 'status is failed or error'],
  ['{"branch": {"not_in": ["scratch"]}}', 'branch is missing, or is not scratch'],
  ['{"pull_request": {"exists": true}}', 'pull_request is present, with any value'],
  ['{"repository": {"name": ["shop"]}}', 'name inside repository is shop'],
  ['{"status": ["failed"], "attempt": [1]}', 'both keys match; 1 does not match "1", and case matters'],
];

/** Explains payload filters by example. */
function FilterHelp() {
  return (
    <details className={classes.help}>
      <summary>Filter syntax</summary>
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

/** The webhooks to choose from, with selected ones that do not exist. */
function namesOf(webhooks: Webhook[] | undefined, selected: string[]): { value: string; label: string }[] {
  const known = webhooks?.map(({ name, label }) => ({ value: name, label: label || name })) ?? [];
  const missing = selected.filter((id) => !webhooks?.some(({ uid, name }) => uid === id || name === id));
  return [...known, ...missing.map((id) => ({ value: id, label: `${id} (not found)` }))];
}
