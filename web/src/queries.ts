import type { GetUsageQuery, ListDeliveriesQuery, ListFactoriesQuery, ListRunsQuery, ListSubjectsQuery } from '@penstock/sdk';
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client } from './api.ts';
import type { DeliveryLog } from './deliverylog.ts';
import { live } from './live.ts';

/*
 * The queries of the server. A key is [noun, id or query, part…]. A change to a run calls invalidateQueries({ queryKey: ['run', id] }), and a
 * change to the list uses ['runs'].
 */

/** A page of runs. The previous page stays visible until the next one is loaded. */
export const runsQuery = (query: ListRunsQuery) =>
  queryOptions({
    queryKey: ['runs', query],
    queryFn: ({ signal }) => client.runs.list(query, { signal }),
    placeholderData: keepPreviousData,
  });

export const runQuery = (id: string) => queryOptions({ queryKey: ['run', id], queryFn: ({ signal }) => client.runs.get(id, { signal }) });

/** The turns of a run whose files are kept. */
export const checkpointsQuery = (id: string) =>
  queryOptions({ queryKey: ['run', id, 'checkpoints'], queryFn: ({ signal }) => client.runs.checkpoints(id, { signal }) });

/** The runs that one request has forked, side by side. */
export const forkGroupQuery = (id: string) =>
  queryOptions({ queryKey: ['runs', 'forks', id], queryFn: ({ signal }) => client.runs.compare(id, { signal }) });

/** What a run has changed in its repositories, as of the end of its latest turn. */
export const runChangesQuery = (id: string) =>
  queryOptions({ queryKey: ['run', id, 'changes'], queryFn: ({ signal }) => client.runs.changes(id, { signal }) });

/** The patch of a repository of a run. It changes only with the time of the changes. */
export const runPatchQuery = (id: string, repository: string, updatedAt: string) =>
  queryOptions({
    queryKey: ['run', id, 'patch', repository, updatedAt],
    queryFn: async ({ signal }) => (await client.runs.patch(id, repository, { signal })).text(),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The descendants of a run. */
export const descendantsQuery = (id: string) =>
  queryOptions({
    queryKey: ['runs', { ancestor_run_id: id }],
    queryFn: ({ signal }) => client.runs.list({ ancestor_run_id: id, sort_by: 'created_at', limit: 100 }, { signal }),
  });

export const timelineQuery = (id: string) =>
  queryOptions({ queryKey: ['run', id, 'timeline'], queryFn: ({ signal }) => client.runs.timeline(id, { signal }) });

export const runNetworkQuery = (id: string) =>
  queryOptions({ queryKey: ['run', id, 'network'], queryFn: ({ signal }) => client.runs.network(id, { signal }) });

export const runUsageQuery = (id: string) =>
  queryOptions({ queryKey: ['run', id, 'usage'], queryFn: ({ signal }) => client.runs.usage(id, { signal }) });

/** The choices for a new run. */
export const modelsQuery = queryOptions({
  queryKey: ['models'],
  staleTime: 60_000,
  queryFn: ({ signal }) => client.models.list({ signal }),
});

/** What runs can name as harness. A worker may find one, or lose it, while the page is open. */
export const harnessesQuery = queryOptions({
  queryKey: ['harnesses'],
  ...live(5),
  queryFn: ({ signal }) => client.harnesses.list({ signal }),
});

/** The limits of the server. */
export const limitsQuery = queryOptions({
  queryKey: ['limits'],
  staleTime: 60_000,
  queryFn: ({ signal }) => client.limits.get({ signal }),
});

export const environmentsQuery = queryOptions({
  queryKey: ['environments'],
  staleTime: 30_000,
  queryFn: ({ signal }) => client.environments.list({ sort_by: 'name' }, { signal }),
});

export const environmentQuery = (uid: string) =>
  queryOptions({ queryKey: ['environments', uid], queryFn: ({ signal }) => client.environments.get(uid, { signal }) });

/** What workers keep for later runs of an environment. */
export const prebuildsQuery = (uid: string) =>
  queryOptions({
    queryKey: ['environments', uid, 'prebuilds'],
    queryFn: ({ signal }) => client.environments.listPrebuilds(uid, { signal }),
  });

/** The first 500 factories by name. Others can only be opened by URL. */
export const allFactoriesQuery = queryOptions({
  queryKey: ['factories', 'all'],
  queryFn: async ({ signal }) => (await client.factories.list({ limit: 500 }, { signal })).items,
});

export const webhooksQuery = (factory: string) =>
  queryOptions({
    queryKey: ['webhooks', factory],
    queryFn: async ({ signal }) => (await client.webhooks.list(factory, { signal })).webhooks,
  });

export const webhookQuery = (factory: string, uid: string) =>
  queryOptions({ queryKey: ['webhook', uid], queryFn: ({ signal }) => client.webhooks.get(factory, uid, { signal }) });

/** A page of a log of deliveries. */
export const deliveriesQuery = (log: DeliveryLog, query: ListDeliveriesQuery) =>
  queryOptions({
    queryKey: ['deliveries', log.uid, query],
    queryFn: ({ signal }) => log.list(query, { signal }),
    placeholderData: keepPreviousData,
  });

export const deliveryQuery = (log: DeliveryLog, id: string) =>
  queryOptions({ queryKey: ['delivery', id], queryFn: ({ signal }) => log.read(id, { signal }) });

/** The body of an accepted delivery. It never changes. */
export const payloadQuery = (log: DeliveryLog, id: string) =>
  queryOptions({
    queryKey: ['delivery', id, 'payload'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => (await log.payload(id, { signal })).text(),
  });

/** The signature schemes. They change only with the server's version. */
export const signatureSchemesQuery = queryOptions({
  queryKey: ['signature-schemes'],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: async ({ signal }) => (await client.webhooks.listSignatureSchemes({ signal })).signature_schemes,
});

/** The schema of an automation's file, with all triggers. It changes only with the server's version. */
export const automationSchemaQuery = queryOptions({
  queryKey: ['automation-schema'],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: async ({ signal }) => (await client.factoryFiles.getSchemas({ signal })).documents['automation.schema.json'],
});

export const automationsQuery = (factory: string) =>
  queryOptions({
    queryKey: ['automations', factory],
    queryFn: async ({ signal }) => (await client.automations.list(factory, { signal })).automations,
  });

export const automationQuery = (factory: string, uid: string) =>
  queryOptions({ queryKey: ['automation', uid], queryFn: ({ signal }) => client.automations.get(factory, uid, { signal }) });

export const secretsQuery = queryOptions({ queryKey: ['secrets'], queryFn: ({ signal }) => client.secrets.list({ signal }) });

export const keysQuery = queryOptions({ queryKey: ['keys'], queryFn: ({ signal }) => client.keys.list({ signal }) });

export const usersQuery = queryOptions({ queryKey: ['members', 'users'], queryFn: ({ signal }) => client.users.list({ signal }) });

export const serviceAccountsQuery = queryOptions({
  queryKey: ['members', 'service accounts'],
  queryFn: ({ signal }) => client.serviceAccounts.list({ signal }),
});

export const grantsQuery = queryOptions({ queryKey: ['members', 'grants'], queryFn: ({ signal }) => client.grants.list({ signal }) });

export const agentsQuery = queryOptions({
  queryKey: ['agents'],
  staleTime: 30_000,
  queryFn: ({ signal }) => client.agents.list({}, { signal }),
});

export const workersQuery = queryOptions({ queryKey: ['workers'], queryFn: ({ signal }) => client.workers.list({ signal }) });

export const schedulesQuery = queryOptions({ queryKey: ['schedules'], queryFn: ({ signal }) => client.schedules.list({ signal }) });

/** A page of subjects, newest first. */
export const subjectsQuery = (query: ListSubjectsQuery) =>
  queryOptions({
    queryKey: ['subjects', query],
    queryFn: ({ signal }) => client.subjects.list(query, { signal }),
    placeholderData: keepPreviousData,
  });

/** What events were about, with the latest of them. */
export const subjectQuery = (uid: string) =>
  queryOptions({ queryKey: ['subjects', uid], queryFn: ({ signal }) => client.subjects.get(uid, { signal }) });

/** The last times of a schedule, or of an automation with clocks of its own, newest first. */
export const occurrencesQuery = (of: { schedule_id: string } | { automation_uid: string }) =>
  queryOptions({
    queryKey: ['occurrences', of],
    queryFn: ({ signal }) => client.occurrences.list({ ...of, kind: 'tick', limit: 50 }, { signal }),
  });

/** The next times of a cron expression. An invalid expression is an error. */
export const scheduleTimesQuery = (cron: string, timezone?: string) =>
  queryOptions({
    queryKey: ['schedule-times', cron, timezone],
    staleTime: 30_000,
    retry: false,
    queryFn: ({ signal }) => client.schedules.preview({ cron, timezone }, { signal }),
  });

/** A page of factories, by name. */
export const factoriesQuery = (query: ListFactoriesQuery) =>
  queryOptions({
    queryKey: ['factories', query],
    queryFn: ({ signal }) => client.factories.list(query, { signal }),
    placeholderData: keepPreviousData,
  });

export const factoryQuery = (uid: string) =>
  queryOptions({ queryKey: ['factory', uid], queryFn: ({ signal }) => client.factories.get(uid, { signal }) });

/** The current files of a factory. */
export const definitionQuery = (uid: string) =>
  queryOptions({ queryKey: ['factory', uid, 'definition'], queryFn: ({ signal }) => client.factories.definition.get(uid, { signal }) });

/** A page of a factory's revisions, newest first. */
export const historyQuery = (uid: string, cursor?: string) =>
  queryOptions({
    queryKey: ['factory', uid, 'history', cursor],
    queryFn: ({ signal }) => client.factories.definition.history(uid, { limit: 20, cursor }, { signal }),
    placeholderData: keepPreviousData,
  });

export const budgetsQuery = queryOptions({ queryKey: ['budgets'], queryFn: ({ signal }) => client.budgets.list({ signal }) });

/** The connections to forges. */
export const forgesQuery = queryOptions({ queryKey: ['forges'], queryFn: ({ signal }) => client.forges.list({ signal }) });

export const forgeQuery = (uid: string) =>
  queryOptions({ queryKey: ['forges', uid], queryFn: ({ signal }) => client.forges.get(uid, { signal }) });

/** What the forge lists at this moment. If it does not answer, the page says so at once, and not that this server is away. */
export const forgeRepositoriesQuery = (uid: string) =>
  queryOptions({
    queryKey: ['forges', uid, 'repositories'],
    queryFn: ({ signal }) => client.forges.repositories(uid, { signal, maxRetries: 0 }),
    retry: false,
    staleTime: 60_000,
    meta: { elsewhere: true },
  });

/** The receivers of messages about events. */
export const endpointsQuery = queryOptions({
  queryKey: ['endpoints'],
  queryFn: ({ signal }) => client.eventEndpoints.list({ signal }),
});

export const endpointQuery = (uid: string) =>
  queryOptions({ queryKey: ['endpoints', uid], queryFn: ({ signal }) => client.eventEndpoints.get(uid, { signal }) });

/** A page of the requests to an event endpoint, newest first. */
export const attemptsQuery = (uid: string, cursor?: string) =>
  queryOptions({
    queryKey: ['endpoints', uid, 'attempts', cursor],
    queryFn: ({ signal }) => client.eventEndpoints.attempts(uid, { cursor }, { signal }),
    placeholderData: keepPreviousData,
  });

/** The types of messages. They change only with the server. */
export const eventTypesQuery = queryOptions({
  queryKey: ['event types'],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: ({ signal }) => client.eventTypes.list({ signal }),
});

export type UsageGroup = NonNullable<GetUsageQuery['group_by']>;

/** What the team has used in the last days. */
export const usageQuery = (days: number, by: UsageGroup) =>
  queryOptions({
    queryKey: ['usage', days, by],
    queryFn: ({ signal }) => client.usage.get({ from: new Date(Date.now() - days * 86_400_000).toISOString(), group_by: by }, { signal }),
    placeholderData: keepPreviousData,
  });

/** The data of the charts, by the hour. */
export const statsQuery = (hours: number) =>
  queryOptions({
    queryKey: ['stats', hours],
    queryFn: ({ signal }) => client.stats.get({ hours }, { signal }),
    placeholderData: keepPreviousData,
  });

/** What was spent by the hour, in the hours from one on. */
export const hourlyCostsQuery = (from: string, by: UsageGroup) =>
  queryOptions({
    queryKey: ['usage', 'hourly', from, by],
    queryFn: ({ signal }) => client.usage.get({ from, group_by: by, interval: 'hour' }, { signal }),
    placeholderData: keepPreviousData,
  });
