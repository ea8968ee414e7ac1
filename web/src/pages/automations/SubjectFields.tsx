import { Checkbox, Group, Select, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { whensBusy } from '../../choices.ts';
import { errorAt } from '../../ui/Failure.tsx';
import classes from '../webhooks/Advanced.module.css';
import type { PartProps } from './AutomationForm.tsx';
import { type SubjectField, subjectFields } from './change.ts';
import { Triggers } from './Triggers.tsx';

const scopes = [
  { value: 'automation', label: 'Only this automation' },
  { value: 'factory', label: 'All automations of the factory that say so' },
];

const periods: { field: SubjectField; label: string; description: string; placeholder: string }[] = [
  { field: 'quiet', label: 'Quiet', description: 'How long no event must come before they start something.', placeholder: '30s' },
  { field: 'longest_wait', label: 'Longest wait', description: 'The most that events wait for that.', placeholder: '5m' },
  { field: 'keep', label: 'Keep', description: 'How long after its success events continue a run.', placeholder: '14d' },
  {
    field: 'max_followups',
    label: 'Follow-ups',
    description: 'How often events continue a run before a person must answer.',
    placeholder: '20',
  },
];

interface SubjectFieldsProps extends PartProps {
  /** The error of the last request. Each field shows its own part. */
  error: unknown;
  factory: string;
}

/** What events are about, so that later events about the same reach the same run. It opens for an error of one of its fields. */
export function SubjectFields({ draft: { texts, continueOn, closes, closesRun }, set, error, readOnly, factory }: SubjectFieldsProps) {
  const change = (field: SubjectField, value: string): void => set({ texts: { ...texts, [field]: value } });
  const errorOf = (field: SubjectField): string | undefined => errorAt(error, `/${field}`);
  const [opened, setOpened] = useState(texts.subject !== '');
  const [seen, see] = useState<unknown>();
  if (error !== seen) {
    see(error);
    setOpened(opened || subjectFields.some(errorOf) || ['/continue_on', '/closes'].some((list) => errorAt(error, list)));
  }
  return (
    <details className={classes.advanced} open={opened} onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>One run for each subject</summary>
      <Stack gap="sm" mt="xs">
        <TextInput
          label="Subject"
          description="What events are about, or auto for GitHub and Linear. Later events about the same reach the same run."
          placeholder="{{repository.full_name}}#{{pull_request.number}}"
          maxLength={200}
          readOnly={readOnly}
          error={errorOf('subject')}
          value={texts.subject}
          onChange={(event) => change('subject', event.currentTarget.value)}
        />
        <Select
          label="Who shares the run of a subject"
          description="Automations that share runs need the same agent, secrets and network."
          placeholder="Only this automation"
          clearable
          readOnly={readOnly}
          data={scopes}
          clearButtonProps={{ 'aria-label': 'Clear who shares the run of a subject' }}
          error={errorOf('subject_scope')}
          value={texts.subject_scope || null}
          onChange={(value) => change('subject_scope', value ?? '')}
        />
        <Select
          label="While its run works, events"
          placeholder="Wait for its turn to end, then together"
          clearable
          readOnly={readOnly}
          data={whensBusy}
          clearButtonProps={{ 'aria-label': 'Clear while its run works' }}
          error={errorOf('when_busy')}
          value={texts.when_busy || null}
          onChange={(value) => change('when_busy', value ?? '')}
        />
        <Group grow align="start" preventGrowOverflow={false}>
          {periods.map(({ field, ...props }) => (
            <TextInput
              key={field}
              {...props}
              readOnly={readOnly}
              error={errorOf(field)}
              value={texts[field]}
              onChange={(event) => change(field, event.currentTarget.value)}
            />
          ))}
        </Group>
        <Textarea
          label="Prompt for later events"
          placeholder="The prompt"
          autosize
          maxRows={8}
          readOnly={readOnly}
          error={errorOf('followup_prompt')}
          value={texts.followup_prompt}
          onChange={(event) => change('followup_prompt', event.currentTarget.value)}
        />
        <Text size="sm" c="dimmed">
          Events that continue reach the run on their subject, and start none. Events that close drop what waits, and nothing starts until a
          newer event of the triggers.
        </Text>
        <Triggers
          name="Continues on"
          field="continue_on"
          triggers={continueOn}
          set={(list) => set({ continueOn: list })}
          factory={factory}
          readOnly={readOnly}
        />
        <Triggers
          name="Closed by"
          field="closes"
          triggers={closes}
          set={(list) => set({ closes: list })}
          factory={factory}
          readOnly={readOnly}
        />
        <Checkbox
          label="Closing also cancels the run"
          disabled={readOnly}
          checked={closesRun}
          onChange={(event) => set({ closesRun: event.currentTarget.checked })}
        />
      </Stack>
    </details>
  );
}
