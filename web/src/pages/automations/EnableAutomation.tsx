import { Group, Switch, Text } from '@mantine/core';
import type { Automation, Factory } from '@penstock/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { client } from '../../api.ts';
import { tellInLine } from '../../ui/Failure.tsx';

/** Switches an automation; one that comes from a repository is switched there. */
export function EnableAutomation({
  automation,
  factory,
  readOnly,
  bare = false,
}: {
  automation: Automation;
  factory: Factory | undefined;
  readOnly: boolean;
  bare?: boolean;
}) {
  const queries = useQueryClient();
  const files = factory?.source === 'repository';
  const switching = useMutation({
    mutationFn: (enabled: boolean) => client.automations.update(factory?.uid ?? '', automation.uid, { enabled }),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['automations'] }),
        queries.invalidateQueries({ queryKey: ['automation', automation.uid] }),
      ]),
  });
  return (
    <Group gap="xs" wrap="nowrap">
      <Switch
        size="sm"
        checked={switching.isPending ? switching.variables : automation.enabled}
        disabled={!factory || files || readOnly}
        title={files ? 'Switched in the files of its repository' : ''}
        {...(bare ? { 'aria-label': `${automation.name} is enabled` } : { label: 'Enabled' })}
        onChange={(event) => switching.mutate(event.currentTarget.checked)}
      />
      {switching.error && (
        <Text size="xs" c="var(--bad)" role="alert" className="plain">
          {tellInLine(switching.error)}
        </Text>
      )}
    </Group>
  );
}
