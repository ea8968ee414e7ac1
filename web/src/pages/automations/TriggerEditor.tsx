import { Alert, Button, Group, List, Select, Stack } from '@mantine/core';
import type { FieldError, Webhook } from '@penstock/sdk';
import { formatWord } from '../../format.ts';
import { FilterFields } from './FilterFields.tsx';
import { ScheduleFields } from './ScheduleFields.tsx';
import classes from './TriggerEditor.module.css';
import { inactiveReasonOf, type Provider, type TriggerDraft } from './triggers.ts';

export interface TriggerEditorProps {
  factory: string;
  /** Its heading. */
  name: string;
  trigger: TriggerDraft;
  change: (trigger: TriggerDraft) => void;
  remove: (() => void) | undefined;
  providers: Provider[];
  webhooks: Webhook[] | undefined;
  /** The server's problems with the stored trigger. */
  problems: FieldError[];
  readOnly: boolean;
}

/** Edits one trigger of an automation. */
export function TriggerEditor(props: TriggerEditorProps) {
  const { name: heading, trigger, change, remove, providers, webhooks, problems, readOnly } = props;
  const provider = providers.find(({ name }) => name === trigger.provider);
  const inactiveReason = inactiveReasonOf(trigger.provider, webhooks);
  return (
    <fieldset className={classes.trigger}>
      <legend>{heading}</legend>
      <Stack gap="sm">
        <Group gap="xs" align="end">
          <Select
            label="When"
            readOnly={readOnly}
            allowDeselect={false}
            data={providers.map(({ name }) => ({
              value: name,
              label: formatWord(name) + (inactiveReasonOf(name, webhooks) ? ' (not connected)' : ''),
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
        {inactiveReason && problems.length === 0 && (
          <Alert variant="default" p="xs">
            {inactiveReason}
          </Alert>
        )}
        {problems.length > 0 && (
          <List size="sm" c="var(--warn)">
            {problems.map(({ pointer, detail }) => (
              <List.Item key={pointer + detail}>{detail}</List.Item>
            ))}
          </List>
        )}
        {trigger.provider === 'schedule' ? <ScheduleFields {...props} /> : <FilterFields {...props} keys={provider?.keys ?? []} />}
      </Stack>
    </fieldset>
  );
}
