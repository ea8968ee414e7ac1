import { Button } from '@mantine/core';
import type { Automation } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { automationSchemaQuery, webhooksQuery } from '../../queries.ts';
import { Icon } from '../../ui/Icon.tsx';
import { TriggerEditor } from './TriggerEditor.tsx';
import { emptyTrigger, providersOf, type TriggerDraft } from './triggers.ts';

interface TriggersProps {
  /** What one of them is called, such as Trigger. */
  name: string;
  /** The field of an automation that has them. Only triggers are required, and can be times. */
  field: 'triggers' | 'continue_on' | 'closes';
  triggers: TriggerDraft[];
  set: (triggers: TriggerDraft[]) => void;
  factory: string;
  automation?: Automation | undefined;
  readOnly: boolean;
}

/** Edits a list of triggers. */
export function Triggers({ name, field, triggers, set, factory, automation, readOnly }: TriggersProps) {
  const { data: session } = useQuery(sessionQuery);
  const schema = useQuery(automationSchemaQuery);
  const webhooks = useQuery({ ...webhooksQuery(factory), enabled: may(session?.scopes, 'factories:manage') });
  const fewest = field === 'triggers' ? 1 : 0;
  const providers = providersOf(schema.data).filter((provider) => field === 'triggers' || provider.name !== 'schedule');
  return (
    <>
      {triggers.map((trigger, i) => (
        <TriggerEditor
          key={trigger.key}
          factory={factory}
          name={`${name} ${i + 1}`}
          trigger={trigger}
          change={(next) => set(triggers.map((one) => (one.key === next.key ? next : one)))}
          remove={triggers.length > fewest ? () => set(triggers.filter(({ key }) => key !== trigger.key)) : undefined}
          providers={providers}
          webhooks={webhooks.data}
          problems={automation?.problems?.filter(({ pointer }) => new RegExp(`^/${field}/${i}(/|$)`).test(pointer)) ?? []}
          readOnly={readOnly}
        />
      ))}
      {!readOnly && (
        <div>
          <Button
            variant="default"
            size="xs"
            leftSection={<Icon name="plus" />}
            onClick={() => set([...triggers, emptyTrigger('webhook', 'received')])}
          >
            Add {field === 'triggers' ? 'a trigger' : `“${name}”`}
          </Button>
        </div>
      )}
    </>
  );
}
