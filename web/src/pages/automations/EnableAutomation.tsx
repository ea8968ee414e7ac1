import type { Automation, Factory } from '@penstock/sdk';
import { client } from '../../api.ts';
import { EnabledSwitch } from '../../ui/EnabledSwitch.tsx';
import { Health } from '../../ui/Health.tsx';
import { Status } from '../../ui/Status.tsx';

interface EnableAutomationProps {
  automation: Automation;
  factory: Factory | undefined;
  readOnly: boolean;
  bare?: boolean;
}

/**
 * Enables or disables an automation. If it comes from a repository, its file decides, but a pause by
 * failures ends here, too.
 */
export function EnableAutomation({ automation, factory, readOnly, bare = false }: EnableAutomationProps) {
  const files = factory?.source === 'repository';
  const problems = automation.enabled ? (automation.problems ?? []) : [];
  return (
    <EnabledSwitch
      name={automation.name}
      on={automation.enabled}
      disabled={!factory || (files && !automation.paused) || readOnly}
      title={files && !automation.paused ? 'Enabled or disabled in the files of its repository' : undefined}
      change={(enabled) => client.automations.update(factory?.uid ?? '', automation.uid, { enabled })}
      stale={[['automations'], ['automation', automation.uid]]}
      bare={bare}
    >
      {problems.length > 0 && (
        <span title={problems.map(({ detail }) => detail).join('\n')}>
          <Status tone="warn">Can’t fire</Status>
        </span>
      )}
      <Health of={automation} />
    </EnabledSwitch>
  );
}
