// What the type checker must find, and what it must allow. It is compiled and never run: an error that is expected and does not come is one.

import type { AgentResponse, ArtifactItem, ListRunsQuery, Penstock, RunEvent, RunItem, RunState } from '../src/index.js';

export async function mustBeFound(client: Penstock): Promise<void> {
  // @ts-expect-error a run needs something to do
  await client.runs.create({});
  // @ts-expect-error a field that is misspelled
  await client.runs.create({ prompt: 'x', titel: 'y' });
  // @ts-expect-error a value that is misspelled, in what is only ever sent
  await client.runs.create({ prompt: 'x', mode: 'nromal' });
  // @ts-expect-error a parameter that is misspelled
  await client.runs.list({ stat: 'QUEUED' });
  // @ts-expect-error a state that is misspelled
  await client.runs.list({ state: ['QUEUD'] });
  // @ts-expect-error a source that a caller may not claim
  await client.runs.create({ prompt: 'x' }, { source: 'WEBHOOK' });
  // @ts-expect-error an id that is no text
  await client.runs.get(7);
  // @ts-expect-error a required parameter
  await client.runs.findByExternalReference({});
  // @ts-expect-error null where the contract has none
  await client.schedules.create({ name: 'x', cron_schedule: '@daily', prompt: null });
  // @ts-expect-error an option that is misspelled
  await client.me.get({ timeuot: 5 });
  const run = await client.runs.get('r1');
  // @ts-expect-error a field that may be absent
  run.source.length;
  // @ts-expect-error a field that may be null
  run.started_at?.length satisfies number;
}

export async function mustBeAllowed(client: Penstock): Promise<string> {
  await client.runs.create({ prompt: 'x', title: undefined });
  await client.runs.create({ skill: 'acme/app:SKILL.md' });
  await client.factories.update('f', { description: null });
  const query: ListRunsQuery = { state: 'QUEUED', created_after: new Date() };
  for await (const item of client.runs.list(query)) {
    const state: RunState = item.state;
    if (state === 'SUCCEEDED' || state === 'newer than this SDK') {
      return item.title;
    }
  }
  const { data, response, requestId } = await client.runs.get('r1').withResponse();
  return `${data satisfies RunItem} ${response.status} ${requestId}`;
}

/** Members of a union are told apart, and one that is newer than the SDK comes to the default. */
export function describe(event: RunEvent): string {
  switch (event.event) {
    case 'state':
      return event.data.state;
    case 'message_delta':
      return event.data.text;
    case 'done':
      return 'the end';
    default: {
      // @ts-expect-error a name that no event has
      const misspelled = event.event === 'mesage';
      return misspelled ? '' : event.event;
    }
  }
}

export function branch(artifact: ArtifactItem): string | undefined {
  return artifact.artifact_type === 'PULL_REQUEST' ? artifact.data.branch : undefined;
}

/** null, absent and there are three things. */
export function threeThings(run: RunItem, agent: AgentResponse): [string | null, string | undefined] {
  return [run.started_at ?? null, agent.description];
}
