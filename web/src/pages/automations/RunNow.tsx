import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Automation, Factory, RunAgentRequest } from '@penstock/sdk';
import { lazy, Suspense } from 'react';

const NewRun = lazy(() => import('../runs/NewRun.tsx'));

/** Opens the form of a run with the agent, the prompt and the configuration of an automation, but without an event. */
export function RunNow({ automation, factory }: { automation: Automation; factory: Factory | undefined }) {
  const [composing, { open, close }] = useDisclosure(false);
  const agent = factory && agentOf(automation, factory);
  return (
    <>
      <Button variant="default" onClick={open} disabled={!agent}>
        Run now
      </Button>
      {composing && agent && (
        <Suspense>
          <NewRun title="Run now" like={requestOf(automation, agent)} close={close} />
        </Suspense>
      )}
    </>
  );
}

function agentOf({ agent }: Automation, { agents, foreman_agent_uid }: Factory): string {
  return (agent && agents.find(({ name }) => name.toLowerCase() === agent.toLowerCase())?.uid) || foreman_agent_uid;
}

function requestOf(automation: Automation, agent: string): RunAgentRequest {
  const { name, prompt, model, environment_id, harness, mcp_servers, worker_host } = automation;
  const config = {
    ...(model ? { model_id: model } : {}),
    ...(environment_id ? { environment_id } : {}),
    ...(harness ? { harness } : {}),
    ...(mcp_servers ? { mcp_servers } : {}),
    ...(worker_host ? { worker_host } : {}),
  };
  return { prompt, title: name, agent_identity_uid: agent, ...(Object.keys(config).length > 0 ? { config } : {}) };
}
