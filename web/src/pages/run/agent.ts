import type { RunItem } from '@penstock/sdk';

/** The agent of a run: the name of its configuration, skill or account, or undefined. */
export function agentOf(run: Pick<RunItem, 'agent_config' | 'agent_skill' | 'executor'>): string | undefined {
  const account = run.executor?.type === 'service_account' ? run.executor.display_name : undefined;
  return run.agent_config?.name ?? run.agent_skill?.name ?? account;
}
