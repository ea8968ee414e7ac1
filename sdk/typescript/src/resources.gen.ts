// Generated from api/openapi.yaml and sdk/operations.yaml by `make generate`. Do not edit.

import type { Core, RequestOptions } from './core.js';
import type { EventStream, StreamOptions } from './events.js';
import type { PagePromise } from './page.js';
import type { APIPromise } from './promise.js';
import { Resource } from './resource.js';
import type {
  Agent,
  AgentResponse,
  ApplyDefinitionRequest,
  ArtifactItem,
  ArtifactResponse,
  AssignKeyRequest,
  Automation,
  BeginSignInRequest,
  Budget,
  CancelRunQuery,
  Checkpoints,
  CloudEnvironment,
  CloudEnvironmentConfig,
  Conversation,
  ConversationRedirect,
  CreateArtifactRequest,
  CreateAutomationRequest,
  CreateBudgetRequest,
  CreateEventEndpointRequest,
  CreateFactoryRequest,
  CreateForgeRequest,
  CreateGrantRequest,
  CreateKeyRequest,
  CreateSecretRequest,
  CreateServiceAccountRequest,
  CreateSessionRequest,
  CreateUserRequest,
  CreateWebhookRequest,
  DeclareOutputRequest,
  DefinitionPlan,
  Delivery,
  DispatchRequest,
  DispatchResponse,
  EndpointAttempt,
  EndpointMessageSent,
  EndpointMessagesReplayed,
  EventEndpoint,
  Factory,
  FactoryFiles,
  FactorySchemaVersions,
  FactorySchemas,
  FilesValidation,
  FilterTestResult,
  FindRunByExternalReferenceQuery,
  FollowupResponse,
  Forge,
  ForgeChecked,
  ForkGroup,
  ForkRunRequest,
  ForkRunResponse,
  GetNetworkPolicyQuery,
  GetStatsQuery,
  GetUsageQuery,
  Grant,
  HandoffAttachmentsResponse,
  HarnessUsage,
  InterruptResponse,
  Key,
  Limits,
  ListAgentSkillsQuery,
  ListAgentSkillsResponse,
  ListAgentsQuery,
  ListAgentsResponse,
  ListAutomationsResponse,
  ListBudgetsResponse,
  ListBundledSkillsResponse,
  ListConnectedWorkersResponse,
  ListDeliveriesQuery,
  ListDeliveriesResponse,
  ListEndpointAttemptsResponse,
  ListEnvironmentsQuery,
  ListEnvironmentsResponse,
  ListEventEndpointAttemptsQuery,
  ListEventEndpointsResponse,
  ListEventTypesResponse,
  ListFactoriesQuery,
  ListFactoriesResponse,
  ListForgeDeliveriesQuery,
  ListForgeRepositoriesResponse,
  ListForgesResponse,
  ListGrantsResponse,
  ListHarnessesResponse,
  ListKeysResponse,
  ListModelsResponse,
  ListOccurrencesQuery,
  ListOccurrencesResponse,
  ListOutputsQuery,
  ListPrebuildsResponse,
  ListRevisionsQuery,
  ListRevisionsResponse,
  ListRunCallsQuery,
  ListRunCallsResponse,
  ListRunsQuery,
  ListRunsResponse,
  ListSchedulesResponse,
  ListSecretsResponse,
  ListServiceAccountsResponse,
  ListSignInProvidersResponse,
  ListSignatureSchemesResponse,
  ListSubjectsQuery,
  ListSubjectsResponse,
  ListUsersResponse,
  ListWebhooksResponse,
  Me,
  Member,
  ModelCall,
  NetworkPolicy,
  Occurrence,
  Output,
  OutputList,
  PrepareAttachmentsRequest,
  PrepareAttachmentsResponse,
  PreviewScheduleTimesQuery,
  ReplayEventEndpointRequest,
  Revision,
  RewindRunRequest,
  RewindRunResponse,
  RotateEventEndpointSecretRequest,
  RotateForgeSecretRequest,
  RotateSecretRequest,
  RunAgentRequest,
  RunAgentResponse,
  RunChanges,
  RunEvent,
  RunFollowupRequest,
  RunItem,
  RunNetwork,
  RunReference,
  RunUsage,
  Schedule,
  ScheduleTimes,
  ScheduledAgentItem,
  Secret,
  Session,
  SessionRedirect,
  SetSecretRequest,
  SignInStart,
  Stats,
  StreamRunEventsQuery,
  Subject,
  Success,
  TestDeliveryRequest,
  TestFilterRequest,
  TimelineResponse,
  UpdateAgent,
  UpdateAutomationRequest,
  UpdateBudgetRequest,
  UpdateEventEndpointRequest,
  UpdateFactoryRequest,
  UpdateForgeRequest,
  UpdateMemberRequest,
  UpdateRunRequest,
  UpdateSchedule,
  UpdateWebhookRequest,
  UploadArtifactRequest,
  UploadedAttachment,
  UsageReport,
  ValidateFilesRequest,
  VerifyWebhookRequest,
  Webhook,
  WebhookVerification,
} from './types.gen.js';
import { Waiting } from './wait.js';

/** `client.agents` */
export class AgentsResource extends Resource {

  /**
   * List agents.
   *
   * Lists the team's agents, by name.
   *
   * Needs the scope `runs:read`.
   */
  list(query?: ListAgentsQuery, options?: RequestOptions): APIPromise<ListAgentsResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/identities',
        query,
        known: ['factory_uid'],
      },
      options,
    );
  }

  /**
   * Create an agent.
   *
   * Creates a named agent that runs can be executed as, with defaults for their configuration.
   *
   * Needs the scope `factories:manage`.
   */
  create(body: Agent, options?: RequestOptions): APIPromise<AgentResponse> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/identities',
        body,
        needs: ['name'],
      },
      options,
    );
  }

  /**
   * Get an agent.
   *
   * Returns an agent with the defaults that it gives to its runs.
   *
   * Needs the scope `runs:read`.
   */
  get(agentUid: string, options?: RequestOptions): APIPromise<AgentResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/identities/{agentUid}',
        args: { agentUid },
      },
      options,
    );
  }

  /**
   * Update an agent.
   *
   * Updates an agent. A field that is absent or null stays unchanged. An empty value clears it. Existing runs keep
   * the configuration that they were created with. `secrets_append` adds secrets and replaces none. It must be the
   * only field of the request, and cannot be null.
   *
   * Needs the scope `factories:manage`.
   */
  update(agentUid: string, body: UpdateAgent, options?: RequestOptions): APIPromise<AgentResponse> {
    return this.core.json(
      {
        method: 'PUT',
        path: '/agent/identities/{agentUid}',
        args: { agentUid },
        body,
      },
      options,
    );
  }

  /**
   * Delete an agent.
   *
   * Deletes an agent. Its keys stop working immediately. Its runs stay. The foreman of a factory returns 409,
   * because it is deleted with the factory. An agent that an automation of its factory names also returns 409.
   *
   * Needs the scope `factories:manage`.
   */
  delete(agentUid: string, options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/agent/identities/{agentUid}',
        args: { agentUid },
      },
      options,
    );
  }
}

/** `client.artifacts` */
export class ArtifactsResource extends Resource {

  /**
   * Get an artifact.
   *
   * Returns an artifact with a signed link to its content. The link expires at `expires_at`. The text of a plan is
   * included.
   *
   * Needs the scope `runs:read`.
   */
  get(artifactUid: string, options?: RequestOptions): APIPromise<ArtifactResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/artifacts/{artifactUid}',
        args: { artifactUid },
      },
      options,
    );
  }

  /**
   * Download an artifact.
   *
   * Redirects to a signed link to the artifact's content. The link needs no key and expires after 15 minutes. An
   * artifact without content, such as a pull request, returns 422.
   *
   * Needs the scope `runs:read`.
   */
  download(artifactUid: string, options?: RequestOptions): APIPromise<Response> {
    return this.core.link(
      {
        method: 'GET',
        path: '/agent/artifacts/{artifactUid}/download',
        args: { artifactUid },
      },
      options,
    );
  }
}

/** `client.automations` */
export class AutomationsResource extends Resource {

  /**
   * List automations.
   *
   * Lists the factory's automations, by name.
   *
   * Needs the scope `factories:read`.
   */
  list(factoryUid: string, options?: RequestOptions): APIPromise<ListAutomationsResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/factory/{factoryUid}/automations',
        args: { factoryUid },
      },
      options,
    );
  }

  /**
   * Create an automation.
   *
   * Creates an automation. It starts a run of one of the factory's agents each time one of its triggers fires, from
   * the next delivery on. An invalid automation returns all findings at once, each with its JSON pointer, also
   * within payload filters. A webhook or schedule that does not exist is not an error: the trigger stays inactive
   * and `problems` says so, until it exists. A name that the factory already uses returns 409.
   *
   * Needs the scope `factories:manage`.
   */
  create(factoryUid: string, body: CreateAutomationRequest, options?: RequestOptions): APIPromise<Automation> {
    return this.core.json(
      {
        method: 'POST',
        path: '/factory/{factoryUid}/automations',
        args: { factoryUid },
        body,
        needs: ['name', 'prompt', 'triggers'],
      },
      options,
    );
  }

  /**
   * Get an automation.
   *
   * Returns an automation. If it or a trigger is inactive, `problems` says why.
   *
   * Needs the scope `factories:read`.
   */
  get(factoryUid: string, automationUid: string, options?: RequestOptions): APIPromise<Automation> {
    return this.core.json(
      {
        method: 'GET',
        path: '/factory/{factoryUid}/automations/{automationUid}',
        args: { factoryUid, automationUid },
      },
      options,
    );
  }

  /**
   * Update an automation.
   *
   * Updates an automation. An omitted field stays unchanged. Null clears a field. `triggers` is replaced as a whole.
   * `enabled` turns the automation on or off. Events that pass while it is off are skipped. Changes apply from the
   * next delivery on. Existing runs keep the configuration that they started with. A name that is taken returns 409.
   *
   * Needs the scope `factories:manage`.
   */
  update(factoryUid: string, automationUid: string, body: UpdateAutomationRequest, options?: RequestOptions): APIPromise<Automation> {
    return this.core.json(
      {
        method: 'PATCH',
        path: '/factory/{factoryUid}/automations/{automationUid}',
        args: { factoryUid, automationUid },
        body,
      },
      options,
    );
  }

  /**
   * Delete an automation.
   *
   * Deletes an automation. It no longer fires from the next delivery on. Runs that it started continue.
   *
   * Needs the scope `factories:manage`.
   */
  delete(factoryUid: string, automationUid: string, options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/factory/{factoryUid}/automations/{automationUid}',
        args: { factoryUid, automationUid },
      },
      options,
    );
  }

  /**
   * Run an automation now.
   *
   * Starts a run of an automation without an event, even if the automation is disabled. The run has the automation's
   * prompt and configuration and its `automation_id`. Its prompt says that no event belongs to it. An automation
   * that cannot start runs returns 409 with the reason.
   *
   * Needs the scope `runs:write`.
   */
  run(factoryUid: string, automationUid: string, options?: RequestOptions & { source?: 'CLI' | 'WEB_APP' | 'GITHUB_ACTION' | undefined }): APIPromise<RunAgentResponse> {
    return this.core.json(
      {
        method: 'POST',
        path: '/factory/{factoryUid}/automations/{automationUid}/run',
        args: { factoryUid, automationUid },
        headers: { 'X-Penstock-Source': options?.source },
      },
      options,
    );
  }

  /**
   * Test a filter.
   *
   * Evaluates a payload filter against a `payload` or a stored delivery, and shows which check fails. With only a
   * `webhook_uid`, it evaluates the filter against the webhook's latest accepted deliveries (at most 50), and
   * `sample` says how many match. With `provider` and `event`, the filter is that of a GitHub or Linear trigger.
   * This starts no runs.
   *
   * Needs the scope `factories:manage`.
   */
  testFilter(factoryUid: string, body: TestFilterRequest, options?: RequestOptions): APIPromise<FilterTestResult> {
    return this.core.json(
      {
        method: 'POST',
        path: '/factory/{factoryUid}/test-filter',
        args: { factoryUid },
        body,
        needs: ['filter'],
      },
      options,
    );
  }
}

/** `client.budgets` */
export class BudgetsResource extends Resource {

  /**
   * List budgets.
   *
   * Lists the team's budgets, oldest first, with the amounts that are spent and reserved in their current periods.
   *
   * Needs the scope `runs:read`.
   */
  list(options?: RequestOptions): APIPromise<ListBudgetsResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/budgets',
      },
      options,
    );
  }

  /**
   * Create a budget.
   *
   * Caps what runs can spend on models in a period. Before a call is sent to a provider, its maximum cost is
   * reserved in all budgets that apply to its run. If one of them has no room, the call is not sent. Calls that the
   * ledger already has for the current period count. A team can have up to 1,000 budgets. One beyond that returns
   * 409. The key of an agent cannot change budgets.
   *
   * Needs the scope `admin`.
   */
  create(body: CreateBudgetRequest, options?: RequestOptions): APIPromise<Budget> {
    return this.core.json(
      {
        method: 'POST',
        path: '/budgets',
        body,
        needs: ['scope', 'period', 'max_cost_usd'],
      },
      options,
    );
  }

  /**
   * Get a budget.
   *
   * Returns a budget with the amounts that are spent and reserved in its current period.
   *
   * Needs the scope `runs:read`.
   */
  get(budgetUid: string, options?: RequestOptions): APIPromise<Budget> {
    return this.core.json(
      {
        method: 'GET',
        path: '/budgets/{budgetUid}',
        args: { budgetUid },
      },
      options,
    );
  }

  /**
   * Change a budget.
   *
   * Changes the given fields, and leaves the others as they are. Null sets a field to its default. The scope cannot
   * change. Runs that the budget blocks continue within a second if it now has room for their next call. If the
   * period or the time zone changes, the spent amount is computed again from the ledger. The key of an agent cannot
   * change budgets.
   *
   * Needs the scope `admin`.
   */
  update(budgetUid: string, body: UpdateBudgetRequest, options?: RequestOptions): APIPromise<Budget> {
    return this.core.json(
      {
        method: 'PATCH',
        path: '/budgets/{budgetUid}',
        args: { budgetUid },
        body,
      },
      options,
    );
  }

  /**
   * Delete a budget.
   *
   * Deletes a budget. Runs that it blocks continue within a second. The ledger keeps what was spent. The key of an
   * agent cannot change budgets.
   *
   * Needs the scope `admin`.
   */
  delete(budgetUid: string, options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/budgets/{budgetUid}',
        args: { budgetUid },
      },
      options,
    );
  }
}

/** `client.conversations` */
export class ConversationsResource extends Resource {

  /**
   * Get a conversation.
   *
   * Returns the conversation in a format that is the same for every harness.
   *
   * Needs the scope `runs:read`.
   */
  get(conversationId: string, options?: RequestOptions): APIPromise<Conversation> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/conversations/{conversationId}',
        args: { conversationId },
      },
      options,
    );
  }

  /**
   * Send a follow-up to a conversation.
   *
   * Same as `POST /agent/runs/{runId}/followups`, for the conversation's active run, or else its newest run.
   * `run_id` in the response is the id of that run.
   *
   * Needs the scope `runs:write`.
   */
  followUp(conversationId: string, body: RunFollowupRequest, options?: RequestOptions): APIPromise<FollowupResponse> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/conversations/{conversationId}/followups',
        args: { conversationId },
        body,
      },
      options,
    );
  }

  /**
   * Interrupt the agent of a conversation.
   *
   * Same as `POST /agent/runs/{runId}/interrupt`, for the conversation's active run, or else its newest run.
   * `run_id` in the response is the id of that run.
   *
   * Needs the scope `runs:write`.
   */
  interrupt(conversationId: string, options?: RequestOptions): APIPromise<InterruptResponse> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/conversations/{conversationId}/interrupt',
        args: { conversationId },
      },
      options,
    );
  }

  /**
   * Prepare attachments for a conversation.
   *
   * Same as `POST /agent/runs/{runId}/attachments/prepare`, for the conversation's active run, or else its newest
   * run.
   *
   * Needs the scope `runs:write`.
   */
  prepareAttachments(conversationId: string, body: PrepareAttachmentsRequest, options?: RequestOptions): APIPromise<PrepareAttachmentsResponse> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/conversations/{conversationId}/attachments/prepare',
        args: { conversationId },
        body,
        needs: ['files'],
      },
      options,
    );
  }

  /**
   * Download a conversation's transcript.
   *
   * Redirects to a signed link to the raw transcript (JSON Lines). The link needs no key and expires after 15
   * minutes.
   *
   * Needs the scope `runs:read`.
   */
  transcript(conversationId: string, options?: RequestOptions): APIPromise<Response> {
    return this.core.link(
      {
        method: 'GET',
        path: '/agent/conversations/{conversationId}/transcript',
        args: { conversationId },
      },
      options,
    );
  }

  /**
   * Download a screenshot of a conversation.
   *
   * Redirects to a signed link to a SCREENSHOT artifact of a run of this conversation. The link needs no key and
   * expires after 15 minutes.
   *
   * Needs the scope `runs:read`.
   */
  downloadScreenshot(conversationId: string, artifactUid: string, options?: RequestOptions): APIPromise<Response> {
    return this.core.link(
      {
        method: 'GET',
        path: '/agent/conversations/{conversationId}/screenshots/{artifactUid}/download',
        args: { conversationId, artifactUid },
      },
      options,
    );
  }

  /**
   * Find the live session of a conversation.
   *
   * Returns `session_id` while a run of the conversation is active, so that a saved link can choose its target.
   * Otherwise returns an empty object, also for a conversation that does not exist. Needs no key. An id that is not
   * a UUID returns 404.
   */
  redirect(conversationId: string, options?: RequestOptions): APIPromise<ConversationRedirect> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/conversations/{conversationId}/redirect',
        args: { conversationId },
      },
      options,
    );
  }
}

/** `client.deliveries` */
export class DeliveriesResource extends Resource {

  /**
   * List deliveries.
   *
   * Lists a webhook's deliveries, newest first: every accepted delivery and duplicate, and rejected deliveries, at
   * most 60 a minute for each outcome. The newest 50 of each outcome, and all deliveries of the last 7 days, are
   * always kept.
   *
   * Needs the scope `factories:manage`.
   */
  list(factoryUid: string, webhookUid: string, query?: ListDeliveriesQuery, options?: RequestOptions): PagePromise<ListDeliveriesResponse, Delivery> {
    return this.core.page(
      {
        method: 'GET',
        path: '/factory/{factoryUid}/webhooks/{webhookUid}/deliveries',
        args: { factoryUid, webhookUid },
        query,
        known: ['limit', 'cursor', 'outcome', 'no_run', 'search', 'received_after', 'received_before'],
        items: 'deliveries',
      },
      options,
    );
  }

  /**
   * Get a delivery.
   *
   * Returns one entry of the log, with the match result of each automation that selects the webhook.
   *
   * Needs the scope `factories:manage`.
   */
  get(factoryUid: string, webhookUid: string, deliveryId: string, options?: RequestOptions): APIPromise<Delivery> {
    return this.core.json(
      {
        method: 'GET',
        path: '/factory/{factoryUid}/webhooks/{webhookUid}/deliveries/{deliveryId}',
        args: { factoryUid, webhookUid, deliveryId },
      },
      options,
    );
  }

  /**
   * Download a delivery's payload.
   *
   * Returns the body of an accepted delivery, byte for byte, as a download. Rejected deliveries and duplicates have
   * no stored payload and return 404.
   *
   * Needs the scope `factories:manage`.
   */
  payload(factoryUid: string, webhookUid: string, deliveryId: string, options?: RequestOptions): APIPromise<Response> {
    return this.core.bytes(
      {
        method: 'GET',
        path: '/factory/{factoryUid}/webhooks/{webhookUid}/deliveries/{deliveryId}/payload',
        args: { factoryUid, webhookUid, deliveryId },
      },
      options,
    );
  }

  /**
   * Replay a delivery.
   *
   * Records an accepted delivery again, with `replay_of`, and starts the runs that match the current automations and
   * filters, even if the webhook is disabled. A replay is never a duplicate and does not count against the rate
   * limit. A delivery that was not accepted, or that only verified the URL, returns 409.
   *
   * Needs the scope `factories:manage`.
   */
  replay(factoryUid: string, webhookUid: string, deliveryId: string, options?: RequestOptions): APIPromise<Delivery> {
    return this.core.json(
      {
        method: 'POST',
        path: '/factory/{factoryUid}/webhooks/{webhookUid}/deliveries/{deliveryId}/replay',
        args: { factoryUid, webhookUid, deliveryId },
      },
      options,
    );
  }
}

/** `client.downloads` */
export class DownloadsResource extends Resource {

  /**
   * Follow a signed link.
   *
   * The target of signed links. Do not build these URLs yourself. The token grants access, so no key is needed. An
   * invalid or expired link returns 404: request a new one. If the server uses an object store, it can redirect
   * there (`--blob-downloads presigned`). That link works for 5 minutes.
   */
  get(token: string, options?: RequestOptions): APIPromise<Response> {
    return this.core.link(
      {
        method: 'GET',
        path: '/downloads/{token}',
        args: { token },
      },
      options,
    );
  }
}

/** `client.environments` */
export class EnvironmentsResource extends Resource {

  /**
   * List environments.
   *
   * Lists the team's environments, most recently changed first by default.
   *
   * Needs the scope `runs:read`.
   */
  list(query?: ListEnvironmentsQuery, options?: RequestOptions): APIPromise<ListEnvironmentsResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/environments',
        query,
        known: ['sort_by'],
      },
      options,
    );
  }

  /**
   * Create an environment.
   *
   * Creates an environment. Runs refer to it with `config.environment_id`. Repositories are cloned only when a run
   * needs them.
   *
   * Needs the scope `factories:manage`.
   */
  create(body: CloudEnvironmentConfig, options?: RequestOptions): APIPromise<CloudEnvironment> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/environments',
        body,
      },
      options,
    );
  }

  /**
   * Get an environment.
   *
   * Returns an environment with its latest run, and whether that run failed during setup.
   *
   * Needs the scope `runs:read`.
   */
  get(environmentUid: string, options?: RequestOptions): APIPromise<CloudEnvironment> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/environments/{environmentUid}',
        args: { environmentUid },
      },
      options,
    );
  }

  /**
   * Replace an environment.
   *
   * Replaces the whole configuration of an environment. An omitted field is cleared. Executions that have started
   * keep the configuration that they started with.
   *
   * Needs the scope `factories:manage`.
   */
  update(environmentUid: string, body: CloudEnvironmentConfig, options?: RequestOptions): APIPromise<CloudEnvironment> {
    return this.core.json(
      {
        method: 'PUT',
        path: '/agent/environments/{environmentUid}',
        args: { environmentUid },
        body,
      },
      options,
    );
  }

  /**
   * Delete an environment.
   *
   * Deletes an environment. New runs cannot use it. Its existing runs stay.
   *
   * Needs the scope `factories:manage`.
   */
  delete(environmentUid: string, options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/agent/environments/{environmentUid}',
        args: { environmentUid },
      },
      options,
    );
  }

  /**
   * List the prepared workspaces of an environment.
   *
   * Lists what workers keep for later runs of an environment, the newest first: prepared workspaces, and the last
   * failures of preparations that left none. A worker reports it when it changes. The workspaces of workers that
   * have not been seen for seven days are left out. The response has at most 1000 workspaces that are ready or
   * failed.
   *
   * Needs the scope `runs:read`.
   */
  listPrebuilds(environmentUid: string, options?: RequestOptions): APIPromise<ListPrebuildsResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/environments/{environmentUid}/prebuilds',
        args: { environmentUid },
      },
      options,
    );
  }

  /**
   * Delete a prepared workspace.
   *
   * Deletes a prepared workspace on all workers, and all prepared workspaces that were made from it. No run that is
   * claimed after the response gets one of them, also if its worker is away now. A run that already has a copy
   * keeps it. Until its worker has removed it from its disk, the list shows it as `retired`. A repeated request
   * changes nothing. If it is a failure, the next run tries again at once.
   *
   * Needs the scope `factories:manage`.
   */
  deletePrebuild(environmentUid: string, puid: string, options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/agent/environments/{environmentUid}/prebuilds/{puid}',
        args: { environmentUid, puid },
      },
      options,
    );
  }
}

/** `client.eventEndpoints` */
export class EventEndpointsResource extends Resource {

  /**
   * List event endpoints.
   *
   * Lists the team's event endpoints, oldest first.
   *
   * Needs the scope `events:manage`.
   */
  list(options?: RequestOptions): APIPromise<ListEventEndpointsResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/event-endpoints',
      },
      options,
    );
  }

  /**
   * Create an event endpoint.
   *
   * Creates a receiver of messages about events. The server sends each message as a POST that is signed as Standard
   * Webhooks describe, and tries again until the endpoint returns a status from 200 to 299. The response is the only one
   * that shows the secret and the complete URL. The URL must have a public address, unless the operator opened its
   * network with `--event-private-network`. Personal runs send nothing. A team can have up to 100 event endpoints. One
   * beyond that returns 409. The key of an agent cannot manage endpoints.
   *
   * With the format `slack`, a message is `{"text": …}` for an incoming webhook of Slack, Mattermost or a compatible
   * receiver: one line with what happened, a link to the dashboard, and the names of the run, automation and budget. It
   * is not signed, so `secrets` is empty. It has titles of runs, so it also needs the scope `runs:read`. Another format
   * returns 422.
   *
   * With the format `slack_app`, messages are posted to the `channel` with the bot token of a Slack app. The first
   * message about a run begins a thread, and the others follow in it. A blocked run asks its question there, and the
   * Slack users of `may_answer` can answer it, or cancel the run. Their clicks act with the rights of the endpoint, so
   * `may_answer` also needs the scope `runs:write`. Slack sends clicks to the `interactivity_url`, and signs them with
   * the `signing_secret`.
   *
   * Needs the scope `events:manage`.
   */
  create(body: CreateEventEndpointRequest, options?: RequestOptions): APIPromise<EventEndpoint> {
    return this.core.json(
      {
        method: 'POST',
        path: '/event-endpoints',
        body,
      },
      options,
    );
  }

  /**
   * Get an event endpoint.
   *
   * Returns an event endpoint with the counts of its messages.
   *
   * Needs the scope `events:manage`.
   */
  get(endpointUid: string, options?: RequestOptions): APIPromise<EventEndpoint> {
    return this.core.json(
      {
        method: 'GET',
        path: '/event-endpoints/{endpointUid}',
        args: { endpointUid },
      },
      options,
    );
  }

  /**
   * Change an event endpoint.
   *
   * Changes the given fields. A field that is null gets its default. Enabling an endpoint sends what waits. The format
   * cannot change: another one returns 422. An endpoint of the format `slack` or `slack_app` also needs the scope
   * `runs:read`. If anybody may answer at it, a change also needs the scope `runs:write`, unless all that it does is
   * to disable the endpoint. An absent `bot_token` or `signing_secret` stays, but a `url` of another server needs the
   * `bot_token` again, and `may_answer` the `signing_secret` if a key without `runs:write` has set it.
   *
   * Needs the scope `events:manage`.
   */
  update(endpointUid: string, body: UpdateEventEndpointRequest, options?: RequestOptions): APIPromise<EventEndpoint> {
    return this.core.json(
      {
        method: 'PATCH',
        path: '/event-endpoints/{endpointUid}',
        args: { endpointUid },
        body,
      },
      options,
    );
  }

  /**
   * Delete an event endpoint.
   *
   * Deletes an event endpoint. Nothing more is sent to it.
   *
   * Needs the scope `events:manage`.
   */
  delete(endpointUid: string, options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/event-endpoints/{endpointUid}',
        args: { endpointUid },
      },
      options,
    );
  }

  /**
   * Send a ping to an event endpoint.
   *
   * Sends a message of the type `endpoint.ping`. Its attempts are in the log, like all others. A disabled endpoint
   * returns 409.
   *
   * Needs the scope `events:manage`.
   */
  ping(endpointUid: string, options?: RequestOptions): APIPromise<EndpointMessageSent> {
    return this.core.json(
      {
        method: 'POST',
        path: '/event-endpoints/{endpointUid}/ping',
        args: { endpointUid },
      },
      options,
    );
  }

  /**
   * Rotate the secret of an event endpoint.
   *
   * Generates a new secret, which the response shows once. For `overlap_seconds`, each request also has a signature of
   * the old one. At most two secrets are valid. An endpoint of the format `slack` or `slack_app` has none that signs
   * messages, and returns 409.
   *
   * Needs the scope `events:manage`.
   */
  rotateSecret(endpointUid: string, body: RotateEventEndpointSecretRequest = {}, options?: RequestOptions): APIPromise<EventEndpoint> {
    return this.core.json(
      {
        method: 'POST',
        path: '/event-endpoints/{endpointUid}/rotate-secret',
        args: { endpointUid },
        body,
      },
      options,
    );
  }

  /**
   * List the attempts of an event endpoint.
   *
   * Lists the requests to an event endpoint of the last 7 days, newest first. Of an endpoint with a private address, the
   * log shows only the status.
   *
   * Needs the scope `events:manage`.
   */
  attempts(endpointUid: string, query?: ListEventEndpointAttemptsQuery, options?: RequestOptions): PagePromise<ListEndpointAttemptsResponse, EndpointAttempt> {
    return this.core.page(
      {
        method: 'GET',
        path: '/event-endpoints/{endpointUid}/attempts',
        args: { endpointUid },
        query,
        known: ['limit', 'cursor', 'message_id'],
        items: 'attempts',
      },
      options,
    );
  }

  /**
   * Send messages again.
   *
   * Sends one message again, or all that happened since a time, with the same ids. Messages are kept for 7 days. A
   * disabled endpoint returns 409.
   *
   * Needs the scope `events:manage`.
   */
  replay(endpointUid: string, body: ReplayEventEndpointRequest, options?: RequestOptions): APIPromise<EndpointMessagesReplayed> {
    return this.core.json(
      {
        method: 'POST',
        path: '/event-endpoints/{endpointUid}/replay',
        args: { endpointUid },
        body,
      },
      options,
    );
  }
}

/** `client.eventTypes` */
export class EventTypesResource extends Resource {

  /**
   * List the types of messages.
   *
   * Lists the types of messages that event endpoints can receive, each with an example.
   */
  list(options?: RequestOptions): APIPromise<ListEventTypesResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/event-types',
      },
      options,
    );
  }
}

/** `client.factories.definition` */
export class FactoriesDefinitionResource extends Resource {

  /**
   * Get a factory's files.
   *
   * Returns the files that define a factory: `factory.yaml` and the files of its agents, automations, webhooks,
   * runners, skills, scorers and benchmarks. Applying them unchanged has no effect. No file contains the value of a
   * secret.
   *
   * Needs the scope `factories:read`.
   */
  get(factoryUid: string, options?: RequestOptions): APIPromise<FactoryFiles> {
    return this.core.json(
      {
        method: 'GET',
        path: '/factory/{factoryUid}/definition',
        args: { factoryUid },
      },
      options,
    );
  }

  /**
   * Apply files to a factory.
   *
   * Replaces the files that define a factory, completely or not at all. Invalid files return 422 with every finding,
   * and the factory stays unchanged. Agents, automations and webhooks keep their uids as long as their names stay. A
   * webhook whose file is removed returns 404 immediately; the others read their secrets again. Applying the same
   * files changes nothing. A dry run returns the plan and changes nothing.
   *
   * Without the scope `secrets:manage`, the file of a webhook can name only the webhook's current secret, or the
   * secret that the server generated for it. Agents, automations and runners cannot name a secret that was generated
   * for a webhook.
   *
   * A factory that is defined by a repository returns 409, and the error says where to edit. A dry run is allowed.
   *
   * Needs the scope `factories:manage`.
   */
  apply(factoryUid: string, body: ApplyDefinitionRequest, options?: RequestOptions): APIPromise<DefinitionPlan> {
    return this.core.json(
      {
        method: 'PUT',
        path: '/factory/{factoryUid}/definition',
        args: { factoryUid },
        body,
        needs: ['files'],
      },
      options,
    );
  }

  /**
   * List the revisions of a factory.
   *
   * Lists the changes of a factory's files, newest first: who made each change, when, and what changed. Edits in the
   * API and applied files are both revisions. For a factory that is defined by a repository, the list contains every
   * commit that was checked, with its result. After a commit that was rejected or changed nothing, the revision
   * before it stays active.
   *
   * Needs the scope `factories:read`.
   */
  history(factoryUid: string, query?: ListRevisionsQuery, options?: RequestOptions): PagePromise<ListRevisionsResponse, Revision> {
    return this.core.page(
      {
        method: 'GET',
        path: '/factory/{factoryUid}/definition/history',
        args: { factoryUid },
        query,
        known: ['limit', 'cursor'],
        items: 'revisions',
      },
      options,
    );
  }

  /**
   * Get a factory's files at a revision.
   *
   * Returns the files that defined a factory at a revision of its history. To revert to it, apply them.
   *
   * Needs the scope `factories:read`.
   */
  revision(factoryUid: string, revision: string, options?: RequestOptions): APIPromise<FactoryFiles> {
    return this.core.json(
      {
        method: 'GET',
        path: '/factory/{factoryUid}/definition/history/{revision}',
        args: { factoryUid, revision },
      },
      options,
    );
  }
}

/** `client.factories.runs` */
export class FactoriesRunsResource extends Resource {

  /**
   * Dispatch work to a factory.
   *
   * Starts a run of the factory's foreman. `ticket_ref` sets the run's metadata `ticket_source` and `ticket_id`.
   * Without it they are `adhoc` and the run's id. `ticket_url` sets the run's `trigger_url`. The response is sent
   * once the run is durably stored. A factory without an applied commit has no foreman and returns 409.
   *
   * Needs the scope `runs:write`.
   */
  create(factoryUid: string, body: DispatchRequest, options?: RequestOptions & { source?: 'CLI' | 'WEB_APP' | 'GITHUB_ACTION' | undefined }): APIPromise<DispatchResponse> {
    return this.core.json(
      {
        method: 'POST',
        path: '/factory/{factoryUid}/runs',
        args: { factoryUid },
        body,
        needs: ['prompt'],
        headers: { 'X-Penstock-Source': options?.source },
      },
      options,
    );
  }
}

/** `client.factories` */
export class FactoriesResource extends Resource {
  readonly definition: FactoriesDefinitionResource;
  readonly runs: FactoriesRunsResource;

  constructor(core: Core) {
    super(core);
    this.definition = new FactoriesDefinitionResource(core);
    this.runs = new FactoriesRunsResource(core);
  }

  /**
   * List factories.
   *
   * Lists the team's factories, by name.
   *
   * Needs the scope `factories:read`.
   */
  list(query?: ListFactoriesQuery, options?: RequestOptions): PagePromise<ListFactoriesResponse, Factory> {
    return this.core.page(
      {
        method: 'GET',
        path: '/factory',
        query,
        known: ['search', 'limit', 'cursor'],
        items: 'factories',
      },
      options,
    );
  }

  /**
   * Create a factory.
   *
   * Creates a factory that is edited in the API, from `files` or from a name alone. With only a name, it has a
   * foreman (the agent that receives its work first) and no repositories. A name or alias that another factory of
   * the team uses returns 409. Case is ignored.
   *
   * With `repository`, the files of a Git repository define the factory instead: those of the newest commit of the
   * production branch, and then those of every later commit. The response does not wait for the first sync. Until
   * then `definition.status` is `syncing` and the factory has no agents. Everything that the files define is
   * read-only in the API: a change returns 409, and the error says where to edit. If the repository needs a
   * credential, name a managed secret; this also requires the scope `secrets:manage`. Webhooks of the repository can
   * name any secret if the key that connected the repository has `secrets:manage`. To allow it later, send a PATCH
   * with the same `repository` and a key that has this scope.
   *
   * Needs the scope `factories:manage`.
   */
  create(body: CreateFactoryRequest, options?: RequestOptions): APIPromise<Factory> {
    return this.core.json(
      {
        method: 'POST',
        path: '/factory',
        body,
      },
      options,
    );
  }

  /**
   * Get a factory.
   *
   * Returns a factory with its agents and the number of its webhooks and automations.
   *
   * Needs the scope `factories:read`.
   */
  get(factoryUid: string, options?: RequestOptions): APIPromise<Factory> {
    return this.core.json(
      {
        method: 'GET',
        path: '/factory/{factoryUid}',
        args: { factoryUid },
      },
      options,
    );
  }

  /**
   * Update a factory.
   *
   * Updates a factory. An omitted field stays unchanged. Null clears a field. A name or alias that is taken returns
   * 409.
   *
   * If the factory is defined by a repository, only `repository` can be changed. This replaces the URL, branch, path
   * and secret as a whole, and applies the newest commit found there.
   *
   * Needs the scope `factories:manage`.
   */
  update(factoryUid: string, body: UpdateFactoryRequest, options?: RequestOptions): APIPromise<Factory> {
    return this.core.json(
      {
        method: 'PATCH',
        path: '/factory/{factoryUid}',
        args: { factoryUid },
        body,
      },
      options,
    );
  }

  /**
   * Delete a factory.
   *
   * Deletes a factory with everything in it. From the next request on, its webhooks return 404 and its automations
   * no longer fire. Its agents are deleted and their keys revoked. Existing runs continue to their end and stay in
   * the lists. Managed secrets belong to the team and stay. This cannot be undone.
   *
   * Needs the scope `factories:manage`.
   */
  delete(factoryUid: string, options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/factory/{factoryUid}',
        args: { factoryUid },
      },
      options,
    );
  }

  /**
   * Sync a factory with its repository.
   *
   * Checks the repository now instead of at the next poll, and applies the newest commit of the production branch. A
   * rejected commit is tried again. The response is sent when the sync is complete. `definition` shows the active
   * commit and, if the newest commit was not applied, the reason: its `diagnostics`, or the `problem` with the
   * repository. After 30 seconds the response is sent with the status `syncing`, and the sync continues. A factory
   * that is edited in the API has no repository and returns 409.
   *
   * Needs the scope `factories:manage`.
   */
  sync(factoryUid: string, options?: RequestOptions): APIPromise<Factory> {
    return this.core.json(
      {
        method: 'POST',
        path: '/factory/{factoryUid}/sync',
        args: { factoryUid },
      },
      options,
    );
  }
}

/** `client.factoryFiles` */
export class FactoryFilesResource extends Resource {

  /**
   * List the versions of factory files.
   *
   * Lists the versions of factory files that this server supports, and the kinds of documents. Needs no key.
   */
  listSchemas(options?: RequestOptions): APIPromise<FactorySchemaVersions> {
    return this.core.json(
      {
        method: 'GET',
        path: '/factory-files/schemas',
      },
      options,
    );
  }

  /**
   * Get the schemas of factory files.
   *
   * Returns a JSON Schema (draft 2020-12) for each kind of document, generated from the types that the server
   * parses. For Markdown files it describes the front matter. Needs no key.
   */
  getSchemas(options?: RequestOptions): APIPromise<FactorySchemas> {
    return this.core.json(
      {
        method: 'GET',
        path: '/factory-files/schemas/v1alpha1',
      },
      options,
    );
  }

  /**
   * Get the schema of one kind of file.
   *
   * Returns the JSON Schema of one kind of document. An editor can use its URL: `# yaml-language-server:
   * $schema=https://penstock.example.com/api/v1/factory-files/schemas/v1alpha1/webhook.schema.json`. A 404 lists the
   * available documents. Needs no key.
   */
  getSchema(version: string, document: string, options?: RequestOptions): APIPromise<Record<string, unknown>> {
    return this.core.json(
      {
        method: 'GET',
        path: '/factory-files/schemas/{version}/{document}',
        args: { version, document },
      },
      options,
    );
  }

  /**
   * Validate factory files.
   *
   * Checks factory files and changes nothing. Needs no key. Without one, only the files are checked, at most
   * `validations_per_minute` times a minute for each client address. With a key that has the scope
   * `factories:manage`, the files are also checked against the server and the team, as for a new factory.
   * `state_dependent_checks_not_run` lists the checks that run only when the files are applied.
   */
  validate(body: ValidateFilesRequest, options?: RequestOptions): APIPromise<FilesValidation> {
    return this.core.json(
      {
        method: 'POST',
        path: '/factory-files/validate',
        body,
        needs: ['files'],
        once: true,
      },
      options,
    );
  }
}

/** `client.forges` */
export class ForgesResource extends Resource {

  /**
   * List connections.
   *
   * Lists the team's connections to forges, by name.
   *
   * Needs the scope `forges:manage`.
   */
  list(options?: RequestOptions): APIPromise<ListForgesResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/forges',
      },
      options,
    );
  }

  /**
   * Connect to a forge.
   *
   * Connects to a host of repositories with the token of a bot account. The server asks the forge for the account
   * at once. A token that the forge refuses and a URL that is not its API return 400. If the forge does not answer,
   * the connection is `pending`, and the server tries again. Later, it checks each connection once an hour.
   *
   * Runs can then name repositories by `connection` and `path`. A repository that is named by its URL uses the
   * connection that has it. The proxy lets the run read that repository, by git and by the API, and nothing else:
   * neither the sandbox nor the agent has the token. Without `read_token`, it sends `token`, but only with requests
   * that read.
   *
   * The address must be public, unless the operator opened its network with `--private-network`. A team can have 20
   * connections. One beyond that, and a name that exists, return 409. The key of an agent cannot manage connections.
   *
   * Needs the scope `forges:manage`.
   */
  create(body: CreateForgeRequest, options?: RequestOptions): APIPromise<Forge> {
    return this.core.json(
      {
        method: 'POST',
        path: '/forges',
        body,
        needs: ['name', 'provider', 'token'],
      },
      options,
    );
  }

  /**
   * Get a connection.
   *
   * Returns a connection. Its tokens are never returned.
   *
   * Needs the scope `forges:manage`.
   */
  get(forgeUid: string, options?: RequestOptions): APIPromise<Forge> {
    return this.core.json(
      {
        method: 'GET',
        path: '/forges/{forgeUid}',
        args: { forgeUid },
      },
      options,
    );
  }

  /**
   * Change a connection.
   *
   * Changes the given fields. A field that is null gets its default. Tokens are tried first, as for a new
   * connection. Runs get the new ones with their next execution. `name`, `provider` and `url` cannot change.
   *
   * Needs the scope `forges:manage`.
   */
  update(forgeUid: string, body: UpdateForgeRequest, options?: RequestOptions): APIPromise<Forge> {
    return this.core.json(
      {
        method: 'PATCH',
        path: '/forges/{forgeUid}',
        args: { forgeUid },
        body,
      },
      options,
    );
  }

  /**
   * Delete a connection.
   *
   * Deletes a connection with its tokens. The forge is not asked to revoke them. Executions that have begun keep
   * them until they end; a run that names the connection fails at its next execution.
   *
   * Needs the scope `forges:manage`.
   */
  delete(forgeUid: string, options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/forges/{forgeUid}',
        args: { forgeUid },
      },
      options,
    );
  }

  /**
   * Check a connection.
   *
   * Asks the forge whether the tokens can do what a connection needs, names each permission that is missing, and
   * stores the result as the status. It writes nothing: write permissions are tried with a repository that does not
   * exist.
   *
   * Needs the scope `forges:manage`.
   */
  check(forgeUid: string, options?: RequestOptions): APIPromise<ForgeChecked> {
    return this.core.json(
      {
        method: 'POST',
        path: '/forges/{forgeUid}/check',
        args: { forgeUid },
      },
      options,
    );
  }

  /**
   * List repositories of a connection.
   *
   * Asks the forge for the repositories that runs can use through the connection, at most 500, by path. A forge that
   * does not answer returns 503.
   *
   * Needs the scope `forges:manage`.
   */
  repositories(forgeUid: string, options?: RequestOptions): APIPromise<ListForgeRepositoriesResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/forges/{forgeUid}/repositories',
        args: { forgeUid },
      },
      options,
    );
  }

  /**
   * Rotate a connection's secret.
   *
   * Generates a new secret, with which the forge signs its deliveries to `ingress_url`. The response shows it once.
   * The old one stops working immediately, or after `overlap_seconds`. A connection has at most 5 valid secrets.
   *
   * Needs the scope `forges:manage`.
   */
  rotateSecret(forgeUid: string, body: RotateForgeSecretRequest = {}, options?: RequestOptions): APIPromise<Forge> {
    return this.core.json(
      {
        method: 'POST',
        path: '/forges/{forgeUid}/rotate-secret',
        args: { forgeUid },
        body,
      },
      options,
    );
  }

  /**
   * List deliveries of a connection.
   *
   * Lists what the forge has sent to `ingress_url`, newest first, as for webhooks. `detail` says why no factory got
   * an event, and `matches` why an automation started no run.
   *
   * Needs the scope `forges:manage`.
   */
  deliveries(forgeUid: string, query?: ListForgeDeliveriesQuery, options?: RequestOptions): PagePromise<ListDeliveriesResponse, Delivery> {
    return this.core.page(
      {
        method: 'GET',
        path: '/forges/{forgeUid}/deliveries',
        args: { forgeUid },
        query,
        known: ['limit', 'cursor', 'outcome', 'no_run', 'search', 'received_after', 'received_before'],
        items: 'deliveries',
      },
      options,
    );
  }

  /**
   * Get a delivery of a connection.
   *
   * Returns one entry of the log, with the match result of each automation of a factory that works on the repository.
   *
   * Needs the scope `forges:manage`.
   */
  delivery(forgeUid: string, deliveryId: string, options?: RequestOptions): APIPromise<Delivery> {
    return this.core.json(
      {
        method: 'GET',
        path: '/forges/{forgeUid}/deliveries/{deliveryId}',
        args: { forgeUid, deliveryId },
      },
      options,
    );
  }

  /**
   * Download the payload of a connection's delivery.
   *
   * Returns the body of an accepted delivery, byte for byte, as a download. Rejected deliveries and duplicates have
   * no stored payload and return 404.
   *
   * Needs the scope `forges:manage`.
   */
  deliveryPayload(forgeUid: string, deliveryId: string, options?: RequestOptions): APIPromise<Response> {
    return this.core.bytes(
      {
        method: 'GET',
        path: '/forges/{forgeUid}/deliveries/{deliveryId}/payload',
        args: { forgeUid, deliveryId },
      },
      options,
    );
  }

  /**
   * Replay a delivery of a connection.
   *
   * Records an accepted delivery again, with `replay_of`, and starts the runs that match the current automations and
   * filters. A replay is never a duplicate and does not count against the rate
   * limit. A delivery that was not accepted, or that only verified the URL, returns 409.
   *
   * Needs the scope `forges:manage`.
   */
  replay(forgeUid: string, deliveryId: string, options?: RequestOptions): APIPromise<Delivery> {
    return this.core.json(
      {
        method: 'POST',
        path: '/forges/{forgeUid}/deliveries/{deliveryId}/replay',
        args: { forgeUid, deliveryId },
      },
      options,
    );
  }
}

/** `client.grants` */
export class GrantsResource extends Resource {

  /**
   * List grants.
   *
   * Lists the grants of the team, newest first.
   *
   * Needs the scope `access:manage`.
   */
  list(options?: RequestOptions): APIPromise<ListGrantsResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/grants',
      },
      options,
    );
  }

  /**
   * Grant a role.
   *
   * Grants a role to a user, a service account or a group of the identity provider, from the next request on. Grants add
   * up. A caller cannot grant a role with a scope that the caller lacks. A team has at most 1,000 grants.
   *
   * Needs the scope `access:manage`.
   */
  create(body: CreateGrantRequest, options?: RequestOptions): APIPromise<Grant> {
    return this.core.json(
      {
        method: 'POST',
        path: '/grants',
        body,
        needs: ['subject_type', 'subject', 'role'],
      },
      options,
    );
  }

  /**
   * Remove a grant.
   *
   * Removes a grant from the next request on. The role of the last admin with a key cannot be removed (409).
   *
   * Needs the scope `access:manage`.
   */
  delete(grantUid: string, options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/grants/{grantUid}',
        args: { grantUid },
      },
      options,
    );
  }
}

/** `client.harnesses` */
export class HarnessesResource extends Resource {

  /**
   * List harnesses.
   *
   * Lists the agent programs that `config.harness.type` can name: which version is installed, which models it can
   * use, and whether a connected worker can run it now.
   *
   * Needs the scope `runs:read`.
   */
  list(options?: RequestOptions): APIPromise<ListHarnessesResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/harnesses',
      },
      options,
    );
  }
}

/** `client.keys` */
export class KeysResource extends Resource {

  /**
   * List keys.
   *
   * Lists the team's API keys, newest first. Deleted keys and the values of keys are not included.
   *
   * Needs the scope `keys:manage`.
   */
  list(options?: RequestOptions): APIPromise<ListKeysResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/keys',
      },
      options,
    );
  }

  /**
   * Create a key.
   *
   * Creates an API key. Only this response shows the key: the server stores its hash. A key cannot have a scope that
   * the caller lacks.
   *
   * Needs the scope `keys:manage`.
   */
  create(body: CreateKeyRequest, options?: RequestOptions): APIPromise<Key> {
    return this.core.json(
      {
        method: 'POST',
        path: '/keys',
        body,
        needs: ['name'],
      },
      options,
    );
  }

  /**
   * Give a key to somebody.
   *
   * Gives a key to a user or service account, from the next request on. What the key does is then theirs, and it may do at
   * most what they may. Also requires `access:manage`. The key of an agent stays with the agent (409).
   *
   * Needs the scope `keys:manage`.
   */
  assign(keyUid: string, body: AssignKeyRequest, options?: RequestOptions): APIPromise<Key> {
    return this.core.json(
      {
        method: 'PATCH',
        path: '/keys/{keyUid}',
        args: { keyUid },
        body,
        needs: ['owner_uid'],
      },
      options,
    );
  }

  /**
   * Delete a key.
   *
   * Deletes an API key. It is rejected from the next request on, on every replica. The team's last key with the
   * scope `admin` cannot be deleted (409).
   *
   * Needs the scope `keys:manage`.
   */
  delete(keyUid: string, options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/keys/{keyUid}',
        args: { keyUid },
      },
      options,
    );
  }
}

/** `client.limits` */
export class LimitsResource extends Resource {

  /**
   * Get the limits.
   *
   * Returns the active limits of this server, with its version. 0 means no limit. Accepts any key except that of an
   * execution.
   */
  get(options?: RequestOptions): APIPromise<Limits> {
    return this.core.json(
      {
        method: 'GET',
        path: '/limits',
      },
      options,
    );
  }
}

/** `client.me` */
export class MeResource extends Resource {

  /**
   * Get the caller.
   *
   * Returns the person or service account behind the request, its team, and the scopes of the key. Requires a valid
   * key with any scope.
   */
  get(options?: RequestOptions): APIPromise<Me> {
    return this.core.json(
      {
        method: 'GET',
        path: '/me',
      },
      options,
    );
  }
}

/** `client.models` */
export class ModelsResource extends Resource {

  /**
   * List models.
   *
   * Lists the models that a run can name in `config.model_id`. A model that is currently unavailable has a
   * `disable_reason`.
   *
   * Needs the scope `runs:read`.
   */
  list(options?: RequestOptions): APIPromise<ListModelsResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/models',
      },
      options,
    );
  }
}

/** `client.network` */
export class NetworkResource extends Resource {

  /**
   * Get a network policy.
   *
   * Returns the network policy that a new run with the given environment, factory or agent would get if its request
   * set no network. An agent implies its factory, and both imply their environment and runner. Without parameters,
   * returns only the layers of the server.
   *
   * Needs the scope `runs:read`.
   */
  get(query?: GetNetworkPolicyQuery, options?: RequestOptions): APIPromise<NetworkPolicy> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/network',
        query,
        known: ['environment_id', 'factory_uid', 'agent_uid'],
      },
      options,
    );
  }
}

/** `client.occurrences` */
export class OccurrencesResource extends Resource {

  /**
   * List occurrences.
   *
   * Lists what was due to start work, and what became of it, newest first: the times of schedules and of automations
   * with clocks of their own, deliveries to webhooks, requests for runs, and work that was dispatched to factories.
   * An event has one occurrence for each automation that it concerns.
   *
   * Deliveries are those in the logs of webhooks. They need `factories:manage`: without it, they are left out, and
   * `kind=delivery` and `webhook_uid` return 403. With `webhook_uid`, they come in the order of that log. What
   * became of a delivery about a subject is listed as long as the subject is kept.
   *
   * Times are kept as long as deliveries, and the newest 50 of a schedule or automation as long as it exists.
   * Requests and dispatches are kept as long as their subject, or, without one, their run. A page looks at no more
   * than 1,000 entries of each log, so with a filter it may have few items, or none, and a next page.
   *
   * Needs the scope `runs:read`.
   */
  list(query?: ListOccurrencesQuery, options?: RequestOptions): PagePromise<ListOccurrencesResponse, Occurrence> {
    return this.core.page(
      {
        method: 'GET',
        path: '/occurrences',
        query,
        known: ['limit', 'cursor', 'schedule_id', 'automation_uid', 'webhook_uid', 'kind', 'fate'],
        items: 'occurrences',
      },
      options,
    );
  }
}

/** `client.outputs` */
export class OutputsResource extends Resource {

  /**
   * List outputs in a state.
   *
   * Returns the oldest 200 outputs of the team in a state, such as those that a person has to release.
   *
   * Needs the scope `runs:read`.
   */
  list(query: ListOutputsQuery, options?: RequestOptions): APIPromise<OutputList> {
    return this.core.json(
      {
        method: 'GET',
        path: '/outputs',
        needs: ['state'],
        query,
        known: ['state'],
      },
      options,
    );
  }

  /**
   * Release an output.
   *
   * Releases an output that is `held`: it is done next. The key of an agent cannot do this. Another state returns 409.
   *
   * Needs the scope `runs:write`.
   */
  approve(outputUid: string, options?: RequestOptions): APIPromise<Output> {
    return this.core.json(
      {
        method: 'POST',
        path: '/outputs/{outputUid}/approve',
        args: { outputUid },
      },
      options,
    );
  }

  /**
   * Discard an output.
   *
   * Discards an output that is `held`, or `queued` while nothing is being done for it. The key of an agent cannot do this. Another state returns 409.
   *
   * Needs the scope `runs:write`.
   */
  reject(outputUid: string, options?: RequestOptions): APIPromise<Output> {
    return this.core.json(
      {
        method: 'POST',
        path: '/outputs/{outputUid}/reject',
        args: { outputUid },
      },
      options,
    );
  }
}

/** `client.runs` */
export class RunsResource extends Waiting {

  /**
   * List runs.
   *
   * Lists the team's runs that the caller may see, most recently changed first by default. All filters are combined
   * with AND. Pagination never returns a run twice. When sorted by `created_at` it skips no run. When sorted by
   * `updated_at` it can skip a run that changes between two requests. A page has at most 4 MiB, or one run if that
   * run is larger, so it can hold fewer runs than `limit`: check `has_next_page`. A prompt of more than 16 KiB is
   * shortened, with `prompt_truncated: true`.
   *
   * Needs the scope `runs:read`.
   */
  list(query?: ListRunsQuery, options?: RequestOptions): PagePromise<ListRunsResponse, RunItem> {
    return this.core.page(
      {
        method: 'GET',
        path: '/agent/runs',
        query,
        known: ['limit', 'cursor', 'sort_by', 'sort_order', 'q', 'state', 'task_status', 'name', 'model_id', 'creator', 'executor', 'source', 'execution_location', 'created_after', 'created_before', 'updated_after', 'environment_id', 'skill', 'skill_spec', 'schedule_id', 'ancestor_run_id', 'subject', 'automation_id', 'factory_uid', 'factory_only', 'webhook_uid', 'artifact_type', 'metadata'],
        items: 'runs',
      },
      options,
    );
  }

  /**
   * Create a run.
   *
   * Queues a run. The response is sent once the run is durably stored. Set a `prompt`, a `skill` (or
   * `config.skill_spec` or `config.skills`), or the `conversation_id` of a conversation to continue.
   * `config.repositories` names what the run works on. The configuration is resolved when the run is created, in
   * this order: request, automation, agent, factory, server. It never changes afterwards. The run's `agent_config`
   * shows the result.
   *
   * A request that names managed secrets (`config.secrets`, `config.harness_auth_secrets`, or `${{ secrets.NAME }}`
   * in `config.mcp_servers`) also requires the scope `secrets:use`, or it returns 403. So does everything that brings
   * text to the conversation of such a run, also after later runs without secrets: `conversation_id`, follow-ups and
   * their attachments. Only its creator and admins can continue a conversation with a personal run. Runs never receive a secret that the server generated for a webhook. Errors reveal whether a secret exists
   * only to callers with `secrets:manage`.
   *
   * If a harness or worker host is known but no connected worker supports it, the request still succeeds. The run
   * stays QUEUED, and its `status_message` names what is missing.
   *
   * `attempts` and `configs` create several runs with the same prompt, all of them or none, in one fork group: `GET
   * /agent/fork-groups/{forkGroup}` compares them. Each is checked, pays and ends as if it was requested alone:
   * `config.budget` caps each of them, and the budgets of the team and of the key cap their sum.
   *
   * Needs the scope `runs:write`.
   */
  create(body: RunAgentRequest, options?: RequestOptions & { source?: 'CLI' | 'WEB_APP' | 'GITHUB_ACTION' | undefined }): APIPromise<RunAgentResponse> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/runs',
        body,
        needsOneOf: ['prompt', 'skill', 'conversation_id', 'config'],
        headers: { 'X-Penstock-Source': options?.source },
      },
      options,
    );
  }

  /**
   * Get a run.
   *
   * Returns a run with its resolved configuration, cost and artifacts.
   *
   * Needs the scope `runs:read`.
   */
  get(runId: string, options?: RequestOptions): APIPromise<RunItem> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/runs/{runId}',
        args: { runId },
      },
      options,
    );
  }

  /**
   * Change the budget of a run.
   *
   * Raises, lowers or removes the run's own budget, and leaves absent fields as they are. Null removes a cap. A run
   * that its own budget blocks continues within a second if it now has room for its next call. The rest of the
   * configuration cannot change. The key of an agent or of an execution cannot do this.
   *
   * Needs the scope `runs:write`.
   */
  update(runId: string, body: UpdateRunRequest, options?: RequestOptions): APIPromise<RunItem> {
    return this.core.json(
      {
        method: 'PATCH',
        path: '/agent/runs/{runId}',
        args: { runId },
        body,
        needs: ['config'],
      },
      options,
    );
  }

  /**
   * Send a follow-up.
   *
   * Sends a message to the agent of a run, in any state. A run that has not started receives it after its prompt. A
   * running agent receives it at its next turn. A BLOCKED run receives it as the reply. An ended run starts a new
   * execution that continues the conversation. Messages are delivered in order, and none is lost. An empty message
   * is rejected unless it continues a saved conversation or has attachments. If the run has ended and another run of
   * the conversation has not, the request returns 409: send the message to the other run.
   *
   * If a run ends FAILED, ERROR or CANCELLED before the agent receives a message, the message is recorded as
   * undelivered. The timeline shows `followup_undelivered`, and the message appears in the conversation with an
   * event block of that name. Send it again to start a new execution.
   *
   * The agent finds `attachments` in `.penstock/attachments/` of its workspace when it receives the message, which
   * lists them. Include the content of a file, or upload it first with `POST
   * /agent/runs/{runId}/attachments/prepare`. A file that is unknown or not uploaded yet returns 422
   * `operation_not_supported`. A run and its follow-ups can have at most 100 files with 256 MiB in total. At most
   * 1,000 messages with 16 MiB in total can be waiting. Beyond these limits the request returns 409.
   *
   * Needs the scope `runs:write`.
   */
  followUp(runId: string, body: RunFollowupRequest, options?: RequestOptions): APIPromise<FollowupResponse> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/runs/{runId}/followups',
        args: { runId },
        body,
      },
      options,
    );
  }

  /**
   * Interrupt the agent.
   *
   * Ends the agent's current turn. The run and the agent's session stay open: the agent continues with the next
   * follow-up. Without a follow-up, the run stays INPROGRESS for `idle_timeout_minutes` (default 10) and then
   * becomes BLOCKED until a follow-up arrives. The interrupt takes effect even if the server or the worker is lost
   * in the meantime. If the turn ends first, or was already interrupted, the request has no effect. An ended run
   * returns 400. A run whose agent has not started, or is waiting, has no turn to interrupt and returns 409. To end
   * the run, cancel it.
   *
   * Needs the scope `runs:write`.
   */
  interrupt(runId: string, options?: RequestOptions): APIPromise<InterruptResponse> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/runs/{runId}/interrupt',
        args: { runId },
      },
      options,
    );
  }

  /**
   * List the saved turns of a run.
   *
   * Returns the turns of a run whose files are kept, in order: the last 20, and every tenth one before. Turns are
   * numbered by their message, from 1; turn 0 is what the run was forked from. `POST /agent/runs/{runId}/fork` begins
   * other runs with the files and the conversation of such a turn, and `POST /agent/runs/{runId}/rewind` takes this run
   * back to it. They are removed with the run. A turn that could not be saved has `checkpoint_skipped` on the timeline.
   *
   * Needs the scope `runs:read`.
   */
  checkpoints(runId: string, options?: RequestOptions): APIPromise<Checkpoints> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/runs/{runId}/checkpoints',
        args: { runId },
      },
      options,
    );
  }

  /**
   * Begin other runs from a turn.
   *
   * Begins new runs with the files and the conversation of a turn of this run, which itself goes on unchanged. The new
   * runs have the configuration of this one, with the values of `config` instead of its own, resolved for the caller: a
   * key that may not use managed secrets cannot fork a run that has some (403), because its files may hold them. With
   * another harness, the agent gets the conversation as text. A turn whose files are not kept returns 409.
   *
   * Needs the scope `runs:write`.
   */
  fork(runId: string, body: ForkRunRequest, options?: RequestOptions): APIPromise<ForkRunResponse> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/runs/{runId}/fork',
        args: { runId },
        body,
        needs: ['prompt'],
      },
      options,
    );
  }

  /**
   * Go back to a turn.
   *
   * Ends the agent's current turn and takes the run back to the end of an earlier one. The next turn has the files and
   * the conversation of that time: it begins at once with `prompt`, or with the next follow-up. Messages that wait are
   * not delivered. Later messages stay in the conversation as `superseded`. What the run has done elsewhere, such as a
   * push or a pull request, is not undone: `reached` lists the hosts that it sent requests to in the executions that
   * ended after the turn. A turn whose files are not kept returns 409.
   *
   * Needs the scope `runs:write`.
   */
  rewind(runId: string, body: RewindRunRequest, options?: RequestOptions): APIPromise<RewindRunResponse> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/runs/{runId}/rewind',
        args: { runId },
        body,
        needs: ['turn'],
      },
      options,
    );
  }

  /**
   * Compare the runs of a fork.
   *
   * Returns the runs that one request has forked, or created as attempts, in the order of their creation, with what
   * each has changed and consumed so far. Runs that the caller may not see are left out.
   *
   * Needs the scope `runs:read`.
   */
  compare(forkGroup: string, options?: RequestOptions): APIPromise<ForkGroup> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/fork-groups/{forkGroup}',
        args: { forkGroup },
      },
      options,
    );
  }

  /**
   * Prepare attachments for a follow-up.
   *
   * Prepares up to 25 files and returns a signed upload link for each. `PUT` each file to its link within 15
   * minutes, without a key. A file has at most 25 MiB and can be uploaded again. Then refer to it by `attachment_id`
   * in a follow-up to the same run. A file that no follow-up uses within 24 hours is removed.
   *
   * Needs the scope `runs:write`.
   */
  prepareAttachments(runId: string, body: PrepareAttachmentsRequest, options?: RequestOptions): APIPromise<PrepareAttachmentsResponse> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/runs/{runId}/attachments/prepare',
        args: { runId },
        body,
        needs: ['files'],
      },
      options,
    );
  }

  /**
   * Cancel a run.
   *
   * Cancels a run. The response is sent once the state is CANCELLED. The agent and its sandbox are stopped within 10
   * seconds if the worker is reachable. A run that has already ended, or that ends before the cancellation takes
   * effect, returns 400, so a 200 always means that the run was cancelled. Pending follow-ups are recorded as
   * undelivered and can be sent again.
   *
   * Needs the scope `runs:write`.
   */
  cancel(runId: string, query?: CancelRunQuery, options?: RequestOptions): APIPromise<string> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/runs/{runId}/cancel',
        args: { runId },
        query,
        known: ['cascade'],
      },
      options,
    );
  }

  /**
   * Get a run's timeline.
   *
   * Lists what happened to the run outside the agent, oldest first, across all its executions.
   *
   * Needs the scope `runs:read`.
   */
  timeline(runId: string, options?: RequestOptions): APIPromise<TimelineResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/runs/{runId}/timeline',
        args: { runId },
      },
      options,
    );
  }

  /**
   * Get a run's network.
   *
   * Returns the layers that decide what the run may reach now, and the traffic of its executions with each host so
   * far. Counts lag a live run by a few seconds.
   *
   * Needs the scope `runs:read`.
   */
  network(runId: string, options?: RequestOptions): APIPromise<RunNetwork> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/runs/{runId}/network',
        args: { runId },
      },
      options,
    );
  }

  /**
   * Get what a run has changed.
   *
   * Returns what the run has changed in each repository that was checked out, as of the end of its latest turn. The
   * files are compared with the commit that was checked out, so the changes include commits of the agent and
   * uncommitted files. Files that `.gitignore` excludes do not count. `repositories` is empty for a run without
   * repositories, and until its first turn has ended.
   *
   * Needs the scope `runs:read`.
   */
  changes(runId: string, options?: RequestOptions): APIPromise<RunChanges> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/runs/{runId}/changes',
        args: { runId },
      },
      options,
    );
  }

  /**
   * Download the patch of a repository.
   *
   * Returns the changes of one repository as a unified diff, which `git apply` can read, of at most 1 MiB. The diff
   * leaves out files that do not fit. Secrets of the run are masked. A repository without changes returns 404.
   *
   * Needs the scope `runs:read`.
   */
  patch(runId: string, repository: string, options?: RequestOptions): APIPromise<Response> {
    return this.core.bytes(
      {
        method: 'GET',
        path: '/agent/runs/{runId}/changes/{repository}/patch',
        args: { runId, repository },
      },
      options,
    );
  }

  /**
   * Get the usage of a run.
   *
   * Returns what the run has used in all its executions, by model, and how much of its own budget is spent. The
   * budget also counts the runs below it.
   *
   * Needs the scope `runs:read`.
   */
  usage(runId: string, options?: RequestOptions): APIPromise<RunUsage> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/runs/{runId}/usage',
        args: { runId },
      },
      options,
    );
  }

  /**
   * Get the usage of Claude Code or Codex.
   *
   * Returns the tokens that a run of Claude Code or Codex has used in all its executions, by the names that its
   * provider uses. The numbers come from the ledger. `available` is false for other agents, and until a call of the
   * run has ended. `GET /agent/runs/{runId}/usage` has the cost, and serves every agent.
   *
   * Needs the scope `runs:read`.
   */
  harnessUsage(runId: string, options?: RequestOptions): APIPromise<HarnessUsage> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/runs/{runId}/harness-usage',
        args: { runId },
      },
      options,
    );
  }

  /**
   * List the model calls of a run.
   *
   * Lists the run's calls to models from the ledger, newest first. `limit` is 100 by default.
   *
   * Needs the scope `runs:read`.
   */
  calls(runId: string, query?: ListRunCallsQuery, options?: RequestOptions): PagePromise<ListRunCallsResponse, ModelCall> {
    return this.core.page(
      {
        method: 'GET',
        path: '/agent/runs/{runId}/calls',
        args: { runId },
        query,
        known: ['limit', 'cursor'],
        items: 'calls',
      },
      options,
    );
  }

  /**
   * Get a run's conversation.
   *
   * Returns the run's conversation in a format that is the same for every harness. Returns 404 until the run has a
   * conversation.
   *
   * Needs the scope `runs:read`.
   */
  conversation(runId: string, options?: RequestOptions): APIPromise<Conversation> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/runs/{runId}/conversation',
        args: { runId },
      },
      options,
    );
  }

  /**
   * Download a run's transcript.
   *
   * Redirects to a signed link to the raw transcript: the run's whole log as JSON Lines, with known secrets masked.
   * The link needs no key and expires after 15 minutes. Returns 404 until the run has a transcript.
   *
   * Needs the scope `runs:read`.
   */
  transcript(runId: string, options?: RequestOptions): APIPromise<Response> {
    return this.core.link(
      {
        method: 'GET',
        path: '/agent/runs/{runId}/transcript',
        args: { runId },
      },
      options,
    );
  }

  /**
   * Stream a run's events.
   *
   * Streams server-sent events. The stream first replays every event after `Last-Event-ID` (or from the beginning),
   * then follows the run, and sends `done` when the run ends. Each event's `id` is a sequence number within the run.
   * To resume without gaps or repeats, on any replica of the server, send the last `id` that you received. A comment
   * line every 15 seconds keeps the connection open. The schema below shows the events as a list, each with its
   * `id`, `event` and parsed `data`.
   *
   * `message_delta` events carry text as it is generated, at most 20 a second. Once the complete `message` is in the
   * log, its deltas are removed, so ids can have gaps. If you reconnect to the end of an ended run, the response is
   * 204, which tells an `EventSource` to stop.
   *
   * Needs the scope `runs:read`.
   */
  events(runId: string, query?: StreamRunEventsQuery, options?: StreamOptions): EventStream<RunEvent> {
    return this.core.events(
      {
        method: 'GET',
        path: '/agent/runs/{runId}/events',
        args: { runId },
        query,
        known: ['after'],
      },
      options,
    );
  }

  /**
   * List attachments for a handoff.
   *
   * Lists the run's attachments with signed links, for a session elsewhere that continues its work. The links expire
   * after 15 minutes.
   *
   * Needs the scope `runs:read`.
   */
  handoffAttachments(runId: string, options?: RequestOptions): APIPromise<HandoffAttachmentsResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/runs/{runId}/handoff/attachments',
        args: { runId },
      },
      options,
    );
  }

  /**
   * Add an artifact to a run.
   *
   * Adds an artifact to a run. Mostly used by agents: the key of an execution can add artifacts to its own run. Send
   * files and screenshots as `multipart/form-data`; send plans, pull requests and references as JSON. A run can have
   * at most 500 artifacts. A URL has at most 2,048 bytes. `metadata` is a JSON object without duplicate keys, of at
   * most 64 KB. The values of the run's secrets are masked.
   *
   * Needs the scope `runs:write`.
   */
  addArtifact(runId: string, body: CreateArtifactRequest | UploadArtifactRequest, options?: RequestOptions): APIPromise<ArtifactItem> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/runs/{runId}/artifacts',
        args: { runId },
        body,
      },
      options,
    );
  }

  /**
   * Find a run by external reference.
   *
   * Returns the newest run that has an artifact with exactly this URL, such as a pull request or a reference.
   *
   * Needs the scope `runs:read`.
   */
  findByExternalReference(query: FindRunByExternalReferenceQuery, options?: RequestOptions): APIPromise<RunReference> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/run-by-external-reference',
        needs: ['url'],
        query,
        known: ['url'],
      },
      options,
    );
  }

  /**
   * List the outputs of a run.
   *
   * Returns what the agent of a run has declared, in order. Outputs are removed with the run.
   *
   * Needs the scope `runs:read`.
   */
  outputs(runId: string, options?: RequestOptions): APIPromise<OutputList> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/runs/{runId}/outputs',
        args: { runId },
      },
      options,
    );
  }

  /**
   * Declare an output of a run.
   *
   * Declares something that is done on a forge after the turn: a pull request of a branch that the run has pushed, or
   * a comment on that pull request. Only the agent of a run can do this, with the key of its execution, while a turn
   * is in progress. If the turn fails or is stopped, its outputs are discarded, and with a run that is cancelled,
   * all that were not done yet. A turn can declare one pull request and
   * three comments. A thread has one open pull request for each repository and base branch: to declare it again
   * changes its text. Mentions and closing keywords in texts have no effect; the values of the run's secrets are
   * masked, and a text with a credential of a known issuer returns 400.
   *
   * Needs the scope `runs:write`.
   */
  declareOutput(runId: string, body: DeclareOutputRequest, options?: RequestOptions): APIPromise<Output> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/runs/{runId}/outputs',
        args: { runId },
        body,
        needs: ['kind'],
      },
      options,
    );
  }
}

/** `client.schedules` */
export class SchedulesResource extends Resource {

  /**
   * List schedules.
   *
   * Lists the team's schedules that the caller may see, by name.
   *
   * Needs the scope `runs:read`.
   */
  list(options?: RequestOptions): APIPromise<ListSchedulesResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/schedules',
      },
      options,
    );
  }

  /**
   * Create a schedule.
   *
   * Creates a schedule that starts a run, with source SCHEDULED_AGENT, at each time that matches `cron_schedule`.
   * Requires a `prompt`, or a skill in `agent_config`. If the server was down at a scheduled time, the schedule
   * fires once when the server is back. If `agent_config` names managed secrets, the scope `secrets:use` is also
   * required.
   *
   * Needs the scope `runs:write`.
   */
  create(body: Schedule, options?: RequestOptions): APIPromise<ScheduledAgentItem> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/schedules',
        body,
        needs: ['name', 'cron_schedule'],
      },
      options,
    );
  }

  /**
   * Get a schedule.
   *
   * Returns a schedule with its last run time and its next five run times.
   *
   * Needs the scope `runs:read`.
   */
  get(scheduleId: string, options?: RequestOptions): APIPromise<ScheduledAgentItem> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/schedules/{scheduleId}',
        args: { scheduleId },
      },
      options,
    );
  }

  /**
   * Replace a schedule.
   *
   * Replaces all settings of a schedule. An omitted field is cleared. If `agent_config` names managed secrets, the
   * scope `secrets:use` is also required.
   *
   * Needs the scope `runs:write`.
   */
  update(scheduleId: string, body: UpdateSchedule, options?: RequestOptions): APIPromise<ScheduledAgentItem> {
    return this.core.json(
      {
        method: 'PUT',
        path: '/agent/schedules/{scheduleId}',
        args: { scheduleId },
        body,
        needs: ['name', 'cron_schedule', 'enabled'],
      },
      options,
    );
  }

  /**
   * Delete a schedule.
   *
   * Deletes a schedule. Runs that it started continue.
   *
   * Needs the scope `runs:write`.
   */
  delete(scheduleId: string, options?: RequestOptions): APIPromise<Success> {
    return this.core.json(
      {
        method: 'DELETE',
        path: '/agent/schedules/{scheduleId}',
        args: { scheduleId },
      },
      options,
    );
  }

  /**
   * Pause a schedule.
   *
   * Stops a schedule from firing until it is resumed. Has no effect on a paused schedule.
   *
   * Needs the scope `runs:write`.
   */
  pause(scheduleId: string, options?: RequestOptions): APIPromise<ScheduledAgentItem> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/schedules/{scheduleId}/pause',
        args: { scheduleId },
      },
      options,
    );
  }

  /**
   * Resume a schedule.
   *
   * Resumes a schedule from its next scheduled time. Times that passed while it was paused are skipped.
   *
   * Needs the scope `runs:write`.
   */
  resume(scheduleId: string, options?: RequestOptions): APIPromise<ScheduledAgentItem> {
    return this.core.json(
      {
        method: 'POST',
        path: '/agent/schedules/{scheduleId}/resume',
        args: { scheduleId },
      },
      options,
    );
  }

  /**
   * Preview a schedule.
   *
   * Returns the next five times of a cron expression, by the same rules as schedules and triggers. Accepts any key
   * except that of an execution.
   */
  preview(query: PreviewScheduleTimesQuery, options?: RequestOptions): APIPromise<ScheduleTimes> {
    return this.core.json(
      {
        method: 'GET',
        path: '/schedule-times',
        needs: ['cron'],
        query,
        known: ['cron', 'time_zone', 'timezone'],
      },
      options,
    );
  }
}

/** `client.secrets` */
export class SecretsResource extends Resource {

  /**
   * List secrets.
   *
   * Lists the team's managed secrets, by name. Values are never returned.
   *
   * Needs the scope `secrets:manage`.
   */
  list(options?: RequestOptions): APIPromise<ListSecretsResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/secrets',
      },
      options,
    );
  }

  /**
   * Create a secret.
   *
   * Stores a secret value for the team's runs and webhooks. The value is never returned. Without a `value` the
   * secret is only declared: it can be referred to, and is `pending` until you set its value. A name that is taken
   * returns 409. So does a secret beyond the server's limit.
   *
   * Needs the scope `secrets:manage`.
   */
  create(body: CreateSecretRequest, options?: RequestOptions): APIPromise<Secret> {
    return this.core.json(
      {
        method: 'POST',
        path: '/secrets',
        body,
        needs: ['name'],
      },
      options,
    );
  }

  /**
   * Get a secret.
   *
   * Returns the metadata of a secret and what uses it, never its value.
   *
   * Needs the scope `secrets:manage`.
   */
  get(secretName: string, options?: RequestOptions): APIPromise<Secret> {
    return this.core.json(
      {
        method: 'GET',
        path: '/secrets/{secretName}',
        args: { secretName },
      },
      options,
    );
  }

  /**
   * Set a secret's value or hosts.
   *
   * Sets the next version of a secret, the hosts that may get it, or both. The previous value is not kept. Runs get the new value from their next
   * execution on. An execution that has started keeps the old value. A webhook uses the new value when its
   * definition is next applied, or immediately if its `secret_refresh` is `immediate`.
   *
   * Needs the scope `secrets:manage`.
   */
  set(secretName: string, body: SetSecretRequest, options?: RequestOptions): APIPromise<Secret> {
    return this.core.json(
      {
        method: 'PUT',
        path: '/secrets/{secretName}',
        args: { secretName },
        body,
      },
      options,
    );
  }

  /**
   * Delete a secret.
   *
   * Deletes a secret and its value. If an agent, an automation, a webhook or an active schedule uses it, the request
   * returns 409 and lists them. A queued run that uses it ends FAILED when it starts.
   *
   * Needs the scope `secrets:manage`.
   */
  delete(secretName: string, options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/secrets/{secretName}',
        args: { secretName },
      },
      options,
    );
  }
}

/** `client.serviceAccounts` */
export class ServiceAccountsResource extends Resource {

  /**
   * List service accounts.
   *
   * Lists the service accounts of the team by name; disabled ones are last.
   *
   * Needs the scope `access:manage`.
   */
  list(options?: RequestOptions): APIPromise<ListServiceAccountsResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/service-accounts',
      },
      options,
    );
  }

  /**
   * Create a service account.
   *
   * Creates an account for a program. It has keys, and no sign-in.
   *
   * Needs the scope `access:manage`.
   */
  create(body: CreateServiceAccountRequest, options?: RequestOptions): APIPromise<Member> {
    return this.core.json(
      {
        method: 'POST',
        path: '/service-accounts',
        body,
        needs: ['display_name'],
      },
      options,
    );
  }

  /**
   * Get a service account.
   *
   * Returns a service account with its roles.
   *
   * Needs the scope `access:manage`.
   */
  get(serviceAccountUid: string, options?: RequestOptions): APIPromise<Member> {
    return this.core.json(
      {
        method: 'GET',
        path: '/service-accounts/{serviceAccountUid}',
        args: { serviceAccountUid },
      },
      options,
    );
  }

  /**
   * Change a service account.
   *
   * Changes a service account. A disabled one is refused from the next request on, on every replica: its sessions end, its
   * keys are silent until it is enabled again, and its schedules are paused. The last admin with a key cannot be
   * disabled (409).
   *
   * Needs the scope `access:manage`.
   */
  update(serviceAccountUid: string, body: UpdateMemberRequest, options?: RequestOptions): APIPromise<Member> {
    return this.core.json(
      {
        method: 'PATCH',
        path: '/service-accounts/{serviceAccountUid}',
        args: { serviceAccountUid },
        body,
      },
      options,
    );
  }

  /**
   * Delete a service account.
   *
   * Deletes a service account: revokes its keys, ends its sessions, removes its grants and pauses its schedules. What it has
   * done keeps its name. The last admin with a key cannot be deleted (409).
   *
   * Needs the scope `access:manage`.
   */
  delete(serviceAccountUid: string, options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/service-accounts/{serviceAccountUid}',
        args: { serviceAccountUid },
      },
      options,
    );
  }
}

/** `client.session` */
export class SessionResource extends Resource {

  /**
   * Get the session.
   *
   * Returns the signed-in caller and their permissions. A request with an API key instead of a cookie has no session
   * and returns 404.
   */
  get(options?: RequestOptions): APIPromise<Session> {
    return this.core.json(
      {
        method: 'GET',
        path: '/session',
      },
      options,
    );
  }

  /**
   * Sign in.
   *
   * Starts a dashboard session with an API key, or with `state` and `code` of an identity provider where the sign-in
   * began with `POST /session/providers` in the same browser. The groups that the provider names then are the user's
   * groups; whoever has no role by them or by a grant is refused (403). The response sets a cookie that scripts cannot read and that other
   * sites cannot make the browser send. It also shows `secret`, once. Every request must send both: the cookie, and
   * the secret in the `X-Penstock-Session-Secret` header. All ports of a host share cookies but not localStorage,
   * which is where a page keeps the secret. The session has the permissions of the key. It ends when you sign out,
   * when it is idle for too long, when it expires, or when the key is revoked or its owner disabled. If the request itself belongs to a
   * session, that session ends. Programs do not need a session: they send the key.
   */
  create(body: CreateSessionRequest, options?: RequestOptions): APIPromise<Session> {
    return this.core.json(
      {
        method: 'POST',
        path: '/session',
        body,
        once: true,
      },
      options,
    );
  }

  /**
   * Sign out.
   *
   * Ends the session from the next request on, on every replica, and removes the cookie.
   */
  delete(options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/session',
      },
      options,
    );
  }

  /**
   * List identity providers.
   *
   * Lists where users can sign in. Needs no key.
   */
  providers(options?: RequestOptions): APIPromise<ListSignInProvidersResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/session/providers',
      },
      options,
    );
  }

  /**
   * Begin to sign in.
   *
   * Begins to sign in at an identity provider, by the code flow of OpenID Connect with PKCE. The response says where
   * the browser goes, and sets a cookie. The provider sends the browser back to the page `/sign-in/callback` of the
   * dashboard, which calls `POST /session` with what it got, within 10 minutes. Only pages of the server can call
   * it. Needs no key.
   */
  begin(body: BeginSignInRequest, options?: RequestOptions): APIPromise<SignInStart> {
    return this.core.json(
      {
        method: 'POST',
        path: '/session/providers',
        body,
        needs: ['provider'],
        once: true,
      },
      options,
    );
  }
}

/** `client.sessions` */
export class SessionsResource extends Resource {

  /**
   * Find the conversation of a session.
   *
   * Returns `conversation_id` once the sandbox is stopped, so that a saved link can choose its target. Otherwise
   * returns an empty object, also for a session that does not exist. Needs no key. An id that is not a UUID returns
   * 404.
   */
  redirect(sessionId: string, options?: RequestOptions): APIPromise<SessionRedirect> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/sessions/{sessionId}/redirect',
        args: { sessionId },
      },
      options,
    );
  }
}

/** `client.skills` */
export class SkillsResource extends Resource {

  /**
   * List skills.
   *
   * Lists the skills that runs can use, found in the repositories of the team's environments. A skill that is found
   * in several places has a variant for each. Skills of factories are in their definitions. For the skills that come
   * with the server, see `GET /agent/bundled-skills`.
   *
   * Needs the scope `runs:read`.
   */
  list(query?: ListAgentSkillsQuery, options?: RequestOptions): APIPromise<ListAgentSkillsResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent',
        query,
        known: ['repo', 'refresh', 'sort_by', 'include_malformed_skills'],
      },
      options,
    );
  }

  /**
   * List bundled skills.
   *
   * Lists the catalog of bundled skills, by id. Ids are stable, so usage can be grouped by them. `shipped` says
   * whether this release includes the skill. If not, `reason` says why. To use a bundled skill, set its id as
   * `skill` or `config.skill_spec`, or include it in `config.skills`. A skill with the same name in the run's agent
   * or factory takes precedence over a bundled skill; one in a repository does not.
   *
   * Needs the scope `runs:read`.
   */
  listBundled(options?: RequestOptions): APIPromise<ListBundledSkillsResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/bundled-skills',
      },
      options,
    );
  }
}

/** `client.stats` */
export class StatsResource extends Resource {

  /**
   * Get statistics of the last hours.
   *
   * Returns hourly totals for charts, for the current hour and those before it. A run counts in the hour in which
   * it was created. Personal runs of other users are included only for admins. Deliveries are included only for
   * callers with `factories:read`.
   *
   * Needs the scope `runs:read`.
   */
  get(query?: GetStatsQuery, options?: RequestOptions): APIPromise<Stats> {
    return this.core.json(
      {
        method: 'GET',
        path: '/stats',
        query,
        known: ['hours'],
      },
      options,
    );
  }
}

/** `client.subjects` */
export class SubjectsResource extends Resource {

  /**
   * List subjects.
   *
   * Lists what events were about, newest first, with the run that works on each. Only events of automations with a
   * `subject` have one. A subject is kept as long as its run and as its events.
   *
   * Needs the scope `runs:read`.
   */
  list(query?: ListSubjectsQuery, options?: RequestOptions): PagePromise<ListSubjectsResponse, Subject> {
    return this.core.page(
      {
        method: 'GET',
        path: '/subjects',
        query,
        known: ['limit', 'cursor', 'automation_uid', 'factory_uid', 'subject'],
        items: 'subjects',
      },
      options,
    );
  }

  /**
   * Get a subject.
   *
   * Returns a subject with its latest events and what became of them.
   *
   * Needs the scope `runs:read`.
   */
  get(uid: string, options?: RequestOptions): APIPromise<Subject> {
    return this.core.json(
      {
        method: 'GET',
        path: '/subjects/{uid}',
        args: { uid },
      },
      options,
    );
  }
}

/** `client.uploads` */
export class UploadsResource extends Resource {

  /**
   * Upload an attachment.
   *
   * The target of the links from `attachments/prepare`. The body is the file, at most 25 MiB. The link grants
   * access, so no key is needed. An invalid or expired link returns 404. Once a follow-up uses the attachment,
   * another upload returns 409.
   */
  put(token: string, content: Blob, options?: RequestOptions): APIPromise<UploadedAttachment> {
    return this.core.json(
      {
        method: 'PUT',
        path: '/uploads/{token}',
        args: { token },
        content,
      },
      options,
    );
  }
}

/** `client.usage` */
export class UsageResource extends Resource {

  /**
   * Get the usage of the team.
   *
   * Sums up the calls to models that the team's runs made in a period of time, including personal runs. A call
   * counts when it was sent. Rows by day are in order, and days without calls are omitted. Other rows come with the
   * highest cost first, up to 1,000. The calls of a run without a factory, agent, automation or key count for the
   * nearest run above it that has one. With `Accept: text/csv` or `format=csv`, the response is CSV with the same
   * names as columns.
   *
   * Needs the scope `runs:read`.
   */
  get(query?: GetUsageQuery, options?: RequestOptions): APIPromise<UsageReport> {
    return this.core.json(
      {
        method: 'GET',
        path: '/usage',
        query,
        known: ['from', 'to', 'group_by', 'time_zone', 'interval'],
      },
      options,
    );
  }
}

/** `client.users` */
export class UsersResource extends Resource {

  /**
   * List users.
   *
   * Lists the users of the team by name; disabled ones are last.
   *
   * Needs the scope `access:manage`.
   */
  list(options?: RequestOptions): APIPromise<ListUsersResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/users',
      },
      options,
    );
  }

  /**
   * Create a user.
   *
   * Creates a person. With `issuer` and `subject`, it is the person whom the identity provider knows by them. An
   * e-mail address or a name is compared with nothing.
   *
   * Needs the scope `access:manage`.
   */
  create(body: CreateUserRequest, options?: RequestOptions): APIPromise<Member> {
    return this.core.json(
      {
        method: 'POST',
        path: '/users',
        body,
        needs: ['display_name'],
      },
      options,
    );
  }

  /**
   * Get a user.
   *
   * Returns a user with its roles.
   *
   * Needs the scope `access:manage`.
   */
  get(userUid: string, options?: RequestOptions): APIPromise<Member> {
    return this.core.json(
      {
        method: 'GET',
        path: '/users/{userUid}',
        args: { userUid },
      },
      options,
    );
  }

  /**
   * Change a user.
   *
   * Changes a user. A disabled one is refused from the next request on, on every replica: its sessions end, its
   * keys are silent until it is enabled again, and its schedules are paused. The last admin with a key cannot be
   * disabled (409).
   *
   * Needs the scope `access:manage`.
   */
  update(userUid: string, body: UpdateMemberRequest, options?: RequestOptions): APIPromise<Member> {
    return this.core.json(
      {
        method: 'PATCH',
        path: '/users/{userUid}',
        args: { userUid },
        body,
      },
      options,
    );
  }

  /**
   * Delete a user.
   *
   * Deletes a user: revokes its keys, ends its sessions, removes its grants and pauses its schedules. What it has
   * done keeps its name. The last admin with a key cannot be deleted (409).
   *
   * Needs the scope `access:manage`.
   */
  delete(userUid: string, options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/users/{userUid}',
        args: { userUid },
      },
      options,
    );
  }
}

/** `client.webhooks` */
export class WebhooksResource extends Resource {

  /**
   * List webhooks.
   *
   * Lists the factory's webhooks, by name. Secrets are not included.
   *
   * Needs the scope `factories:manage`.
   */
  list(factoryUid: string, options?: RequestOptions): APIPromise<ListWebhooksResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/factory/{factoryUid}/webhooks',
        args: { factoryUid },
      },
      options,
    );
  }

  /**
   * Create a webhook.
   *
   * Creates a URL that accepts JSON from another system, and the managed secret that authenticates its deliveries.
   * Only this response shows the secret and, for `url_token`, the complete URL.
   *
   * For `token` and `url_token` the server generates the secret. For `signature`, pass the sender's secret or omit
   * it. If omitted, the server generates one for `standard_webhooks` and `svix`. For every other scheme the webhook
   * is created disabled, with `pending_secret` and its final URL, until you set the secret with a PATCH.
   *
   * The server stores the secret as a managed secret of the team, under `secret_name`. If `secret_name` names an
   * existing secret, its value is used and not shown: this requires the scope `secrets:manage` and excludes
   * `secret`. A webhook name that is taken returns 409. So does a webhook beyond the server's limit. Runs never
   * receive a secret that the server generated here.
   *
   * Needs the scope `factories:manage`.
   */
  create(factoryUid: string, body: CreateWebhookRequest, options?: RequestOptions): APIPromise<Webhook> {
    return this.core.json(
      {
        method: 'POST',
        path: '/factory/{factoryUid}/webhooks',
        args: { factoryUid },
        body,
        needs: ['name'],
      },
      options,
    );
  }

  /**
   * Get a webhook.
   *
   * Returns a webhook with its valid secrets, when each was last used, and the delivery counts of the last 24 hours.
   * The values of the secrets are not included.
   *
   * Needs the scope `factories:manage`.
   */
  get(factoryUid: string, webhookUid: string, options?: RequestOptions): APIPromise<Webhook> {
    return this.core.json(
      {
        method: 'GET',
        path: '/factory/{factoryUid}/webhooks/{webhookUid}',
        args: { factoryUid, webhookUid },
      },
      options,
    );
  }

  /**
   * Update a webhook.
   *
   * Updates a webhook. An omitted field stays unchanged. `secret` completes a pending webhook and enables it. With
   * `enabled: false`, deliveries get 404 from the next request on. Any change, including `enabled: true`, makes the
   * webhook use the current value of its managed secret. `name`, `auth_mode`, `signature_scheme` and `secret_name`
   * cannot be changed (400), because the sender is configured with them. Enabling a webhook that is still pending
   * returns 409. So does setting a `secret` on a webhook that already has one.
   *
   * With `suspended: true`, deliveries get 404 from the next request on until you clear it. The factory's files do
   * not change. If the factory is defined by a repository, only `suspended` and the `secret` of a pending webhook
   * can be changed. Any other change returns 409, and the error says where to edit.
   *
   * Needs the scope `factories:manage`.
   */
  update(factoryUid: string, webhookUid: string, body: UpdateWebhookRequest, options?: RequestOptions): APIPromise<Webhook> {
    return this.core.json(
      {
        method: 'PATCH',
        path: '/factory/{factoryUid}/webhooks/{webhookUid}',
        args: { factoryUid, webhookUid },
        body,
      },
      options,
    );
  }

  /**
   * Delete a webhook.
   *
   * Deletes a webhook. Deliveries get 404 from the next request on, on every replica. Automations that refer to it
   * stay, and so does its managed secret.
   *
   * Needs the scope `factories:manage`.
   */
  delete(factoryUid: string, webhookUid: string, options?: RequestOptions): APIPromise<void> {
    return this.core.none(
      {
        method: 'DELETE',
        path: '/factory/{factoryUid}/webhooks/{webhookUid}',
        args: { factoryUid, webhookUid },
      },
      options,
    );
  }

  /**
   * Rotate a webhook's secret.
   *
   * Replaces the value of the webhook's managed secret, with `secret` or with a generated value. The response shows
   * the new value once. It is valid from the next request on. The old value stops working immediately, or after
   * `overlap_seconds`; `secrets` shows when it was last used. A secret that something else also uses returns 409,
   * and the error lists its users. A secret that the server did not generate for this webhook requires the scope
   * `secrets:manage`, here and as the `secret` of a PATCH. For senders that generate their own secrets, `secret` is
   * required.
   *
   * Needs the scope `factories:manage`.
   */
  rotateSecret(factoryUid: string, webhookUid: string, body: RotateSecretRequest = {}, options?: RequestOptions): APIPromise<Webhook> {
    return this.core.json(
      {
        method: 'POST',
        path: '/factory/{factoryUid}/webhooks/{webhookUid}/rotate-secret',
        args: { factoryUid, webhookUid },
        body,
      },
      options,
    );
  }

  /**
   * Send a test delivery.
   *
   * Sends a delivery to the webhook as its sender would, with the webhook's own secret and through all checks, and
   * returns its entry of the log. Automations that match start runs. The delivery has the given `payload`, a sample
   * of an `event`, or what an earlier delivery had. Otherwise it is an example. It is a delivery of its own, even if
   * its bytes were sent before. A webhook that accepts no deliveries returns 409. So does a webhook whose sender
   * signs with a private key.
   *
   * Needs the scope `factories:manage`.
   */
  sendTest(factoryUid: string, webhookUid: string, body: TestDeliveryRequest, options?: RequestOptions): APIPromise<Delivery> {
    return this.core.json(
      {
        method: 'POST',
        path: '/factory/{factoryUid}/webhooks/{webhookUid}/test-delivery',
        args: { factoryUid, webhookUid },
        body,
      },
      options,
    );
  }

  /**
   * Verify a request of a sender.
   *
   * Checks the signature or token of a captured request with the webhook's current secrets, as for a delivery, and
   * returns why it is invalid. It records and starts nothing. A webhook with its token in the URL returns 409,
   * because a request has nothing to verify. So does a webhook that accepts no deliveries.
   *
   * Needs the scope `factories:manage`.
   */
  verifyRequest(factoryUid: string, webhookUid: string, body: VerifyWebhookRequest, options?: RequestOptions): APIPromise<WebhookVerification> {
    return this.core.json(
      {
        method: 'POST',
        path: '/factory/{factoryUid}/webhooks/{webhookUid}/verify-request',
        args: { factoryUid, webhookUid },
        body,
        needs: ['headers', 'body'],
      },
      options,
    );
  }

  /**
   * List signature schemes.
   *
   * Lists the supported signature schemes in display order: where to find each sender's secret, and the layout of
   * its signatures, so that you can sign a delivery. Accepts any key except that of an execution.
   */
  listSignatureSchemes(options?: RequestOptions): APIPromise<ListSignatureSchemesResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/signature-schemes',
      },
      options,
    );
  }
}

/** `client.workers` */
export class WorkersResource extends Resource {

  /**
   * List connected workers.
   *
   * Lists the self-hosted workers that are currently connected, by host, with the runs that they have. To run on
   * one of them, set `config.worker_host`.
   *
   * Needs the scope `runs:read`.
   */
  list(options?: RequestOptions): APIPromise<ListConnectedWorkersResponse> {
    return this.core.json(
      {
        method: 'GET',
        path: '/agent/connected-self-hosted-workers',
      },
      options,
    );
  }
}

/** Every operation of the API, by resource. */
export class Resources {
  readonly agents: AgentsResource;
  readonly artifacts: ArtifactsResource;
  readonly automations: AutomationsResource;
  readonly budgets: BudgetsResource;
  readonly conversations: ConversationsResource;
  readonly deliveries: DeliveriesResource;
  readonly downloads: DownloadsResource;
  readonly environments: EnvironmentsResource;
  readonly eventEndpoints: EventEndpointsResource;
  readonly eventTypes: EventTypesResource;
  readonly factories: FactoriesResource;
  readonly factoryFiles: FactoryFilesResource;
  readonly forges: ForgesResource;
  readonly grants: GrantsResource;
  readonly harnesses: HarnessesResource;
  readonly keys: KeysResource;
  readonly limits: LimitsResource;
  readonly me: MeResource;
  readonly models: ModelsResource;
  readonly network: NetworkResource;
  readonly occurrences: OccurrencesResource;
  readonly outputs: OutputsResource;
  readonly runs: RunsResource;
  readonly schedules: SchedulesResource;
  readonly secrets: SecretsResource;
  readonly serviceAccounts: ServiceAccountsResource;
  readonly session: SessionResource;
  readonly sessions: SessionsResource;
  readonly skills: SkillsResource;
  readonly stats: StatsResource;
  readonly subjects: SubjectsResource;
  readonly uploads: UploadsResource;
  readonly usage: UsageResource;
  readonly users: UsersResource;
  readonly webhooks: WebhooksResource;
  readonly workers: WorkersResource;

  constructor(core: Core) {
    this.agents = new AgentsResource(core);
    this.artifacts = new ArtifactsResource(core);
    this.automations = new AutomationsResource(core);
    this.budgets = new BudgetsResource(core);
    this.conversations = new ConversationsResource(core);
    this.deliveries = new DeliveriesResource(core);
    this.downloads = new DownloadsResource(core);
    this.environments = new EnvironmentsResource(core);
    this.eventEndpoints = new EventEndpointsResource(core);
    this.eventTypes = new EventTypesResource(core);
    this.factories = new FactoriesResource(core);
    this.factoryFiles = new FactoryFilesResource(core);
    this.forges = new ForgesResource(core);
    this.grants = new GrantsResource(core);
    this.harnesses = new HarnessesResource(core);
    this.keys = new KeysResource(core);
    this.limits = new LimitsResource(core);
    this.me = new MeResource(core);
    this.models = new ModelsResource(core);
    this.network = new NetworkResource(core);
    this.occurrences = new OccurrencesResource(core);
    this.outputs = new OutputsResource(core);
    this.runs = new RunsResource(core);
    this.schedules = new SchedulesResource(core);
    this.secrets = new SecretsResource(core);
    this.serviceAccounts = new ServiceAccountsResource(core);
    this.session = new SessionResource(core);
    this.sessions = new SessionsResource(core);
    this.skills = new SkillsResource(core);
    this.stats = new StatsResource(core);
    this.subjects = new SubjectsResource(core);
    this.uploads = new UploadsResource(core);
    this.usage = new UsageResource(core);
    this.users = new UsersResource(core);
    this.webhooks = new WebhooksResource(core);
    this.workers = new WorkersResource(core);
  }
}
