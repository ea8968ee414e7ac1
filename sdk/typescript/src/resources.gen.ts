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
  Automation,
  CancelRunQuery,
  CloudEnvironment,
  CloudEnvironmentConfig,
  Conversation,
  ConversationRedirect,
  CreateArtifactRequest,
  CreateAutomationRequest,
  CreateFactoryRequest,
  CreateKeyRequest,
  CreateSecretRequest,
  CreateSessionRequest,
  CreateWebhookRequest,
  DefinitionPlan,
  Delivery,
  DispatchRequest,
  DispatchResponse,
  Factory,
  FactoryFiles,
  FactorySchemaVersions,
  FactorySchemas,
  FilesVerdict,
  FilterVerdict,
  FindRunByExternalReferenceQuery,
  FollowupResponse,
  HandoffAttachmentsResponse,
  InterruptResponse,
  Key,
  Limits,
  ListAgentSkillsQuery,
  ListAgentSkillsResponse,
  ListAgentsQuery,
  ListAgentsResponse,
  ListAutomationsResponse,
  ListBundledSkillsResponse,
  ListConnectedWorkersResponse,
  ListDeliveriesQuery,
  ListDeliveriesResponse,
  ListEnvironmentsQuery,
  ListEnvironmentsResponse,
  ListFactoriesQuery,
  ListFactoriesResponse,
  ListKeysResponse,
  ListModelsResponse,
  ListRevisionsQuery,
  ListRevisionsResponse,
  ListRunsQuery,
  ListRunsResponse,
  ListSchedulesResponse,
  ListSecretsResponse,
  ListSignatureSchemesResponse,
  ListWebhooksResponse,
  Me,
  PrepareAttachmentsRequest,
  PrepareAttachmentsResponse,
  PreviewScheduleTimesQuery,
  Revision,
  RotateSecretRequest,
  RunAgentRequest,
  RunAgentResponse,
  RunEvent,
  RunFollowupRequest,
  RunItem,
  RunReference,
  Schedule,
  ScheduleTimes,
  ScheduledAgentItem,
  Secret,
  Session,
  SessionRedirect,
  SetSecretRequest,
  Stats,
  StreamRunEventsQuery,
  Success,
  TestFilterRequest,
  TimelineResponse,
  UpdateAgent,
  UpdateAutomationRequest,
  UpdateFactoryRequest,
  UpdateSchedule,
  UpdateWebhookRequest,
  UploadArtifactRequest,
  UploadedAttachment,
  ValidateFilesRequest,
  Webhook,
} from './types.gen.js';
import { Waiting } from './wait.js';

/** `client.agents` */
export class AgentsResource extends Resource {

  /**
   * List agents.
   *
   * Every agent of the team, by name.
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
   * A named agent that runs can be executed as, with defaults for their configuration.
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
   * Read an agent.
   *
   * An agent with everything that its runs get by default.
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
   * Change an agent.
   *
   * A partial update. A field that is absent or null stays as it is; an empty value clears it. Runs that exist keep the configuration
   * that they were created with.
   * `secrets_append` adds secrets and replaces none. It is the only field of its request, and cannot be null.
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
   * Keys of the agent stop working at once. Its runs stay. The foreman of a factory is a 409, since it goes with its factory, and so is an agent that an automation of its factory names.
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
   * Read an artifact.
   *
   * An artifact with a signed link to its bytes, which ends at `expires_at`. A plan's text comes inline.
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
   * Redirects to a signed link to the artifact's bytes, which needs no key and ends after 15 minutes. An artifact without bytes,
   * such as a pull request, is a 422.
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
   * Every automation of the factory, by name.
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
   * Starts a run of one of the factory's agents each time that one of its triggers fires; it does from the next delivery on. Whatever
   * is wrong with it is told at once, each finding with its JSON pointer, also into a payload filter. A webhook or schedule
   * that does not exist is no error: the trigger stays silent, `problems` say so, and it works once there is one. A name that
   * the factory uses already is a 409.
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
   * Read an automation.
   *
   * An automation, with the reasons why it stays silent if there are any.
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
   * Change an automation.
   *
   * A field that is left out stays, and null clears it; `triggers` are replaced as a whole. `enabled` switches it: what passes while it
   * is off is not made up for. It holds from the next delivery on; runs that there are keep what they began with. A name
   * that is taken is a 409.
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
   * It fires no more from the next delivery on. Runs that it started go on.
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
   * Test a filter.
   *
   * Tells what a payload filter makes of a `payload`, or of a stored delivery, and where it fails. With a `webhook_uid` and neither
   * of them it is tried on the webhook's last accepted deliveries, at most 50: `sample` says how many match. With `provider` and `event` it is the
   * filter of a trigger of GitHub or Linear. Nothing is started.
   *
   * Needs the scope `factories:manage`.
   */
  testFilter(factoryUid: string, body: TestFilterRequest, options?: RequestOptions): APIPromise<FilterVerdict> {
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

/** `client.conversations` */
export class ConversationsResource extends Resource {

  /**
   * Read a conversation.
   *
   * The conversation in a form that is the same for every harness.
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
   * The same as `POST /agent/runs/{runId}/followups` for the run of the conversation that is not over, else for its newest one;
   * `run_id` of the answer names it.
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
   * The same as `POST /agent/runs/{runId}/interrupt` for the run of the conversation that is not over, else for its newest one;
   * `run_id` of the answer names it.
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
   * Prepare attachments of a follow-up to a conversation.
   *
   * The same as `POST /agent/runs/{runId}/attachments/prepare` for the run of the conversation that is not over, else for its newest
   * one.
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
   * Redirects to a signed link to the raw transcript (JSON Lines). The link needs no key and ends after 15 minutes.
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
   * Redirects to a signed link to a SCREENSHOT artifact that a run of this conversation made. The link needs no key and ends after
   * 15 minutes.
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
   * Needs no key, so that a saved link can decide where to lead. `session_id` while a run of the conversation is live, and an
   * empty object otherwise, for a conversation that does not exist too. An id that is no UUID is a 404.
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
   * The log of a webhook, newest first: every delivery that was accepted or a duplicate, and rejected ones, of which at most 60 a
   * minute and outcome are logged. At least the newest 50 of each outcome and all of the last 7 days are kept.
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
        known: ['limit', 'cursor', 'outcome'],
        items: 'deliveries',
      },
      options,
    );
  }

  /**
   * Read a delivery.
   *
   * One entry of the log, with what the delivery meant to each automation that selects the webhook.
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
   * Read a delivery's payload.
   *
   * The body of an accepted delivery, byte for byte, as a file to be saved. What was rejected, and a duplicate, has none: 404.
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
   * Records an accepted delivery once more, with `replay_of`, and starts what today's automations and filters make of it, whether
   * the webhook is enabled or not. It claims no identity and counts against no rate. A delivery that was not accepted, or that
   * only checked the URL, is a 409.
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
   * Where signed links of this server lead; nobody builds one by hand. The token is the permission, so no key is looked at. A
   * link that is not valid or has ended is a 404: ask for a new one. With an object store, signed links may lead there instead.
   */
  get(token: string, options?: RequestOptions): APIPromise<Response> {
    return this.core.bytes(
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
   * Every environment of the team, latest change first unless asked otherwise.
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
   * Runs name it in `config.environment_id`. Nothing is cloned until a run needs it.
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
   * Read an environment.
   *
   * An environment with its latest run and whether that run failed while setting it up.
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
   * Replaces the whole configuration. A field that is left out is cleared. Executions that have begun keep what they began with.
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
   * New runs cannot use it. Runs that did stay.
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
}

/** `client.factories.definition` */
export class FactoriesDefinitionResource extends Resource {

  /**
   * Read the files of a factory.
   *
   * The files that define a factory: `factory.yaml`, and what there is of agents, automations, webhooks, runners, skills, scorers and
   * benchmarks. They are what applying them would leave as it is. No file holds a secret's value.
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
   * Defines the factory by other files, wholly or not at all: a 422 has every finding, and the factory goes on as it is. Agents,
   * automations and webhooks keep their uids as long as their names are there. A webhook whose file is gone answers 404 at once;
   * the others read their secrets again. The same files change nothing. A dry run answers the plan and changes nothing.
   *
   * Without the scope `secrets:manage`, the file of a webhook may only name the secret that the webhook has, or that the
   * server made for it. Agents, automations and runners cannot name a secret that was made for a webhook.
   *
   * A factory that comes from a repository is a 409, which says where to edit; a dry run is answered.
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
   * Who changed the files of a factory when, and what, the newest first. Edits in the API and applied files are revisions alike. Of
   * a factory that comes from a repository, every commit that was looked at is in the list, with what became of it: one that was
   * rejected or has changed nothing leaves the revision before it in force.
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
}

/** `client.factories.runs` */
export class FactoriesRunsResource extends Resource {

  /**
   * Dispatch work to a factory.
   *
   * Starts a run of the factory's foreman. `ticket_ref` becomes the run's metadata `ticket_source` and `ticket_id`; without one they
   * are `adhoc` and the run's id. `ticket_url` becomes its `trigger_url`. The run is durable when it is answered. A factory of which
   * no commit was applied yet has no foreman: 409.
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
   * One page of the team's factories, by name.
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
   * Makes a factory that is edited here: of `files`, or by its name, with a foreman (the agent that its work comes to first)
   * and without repositories. A name or an alias by which another factory of the team is known, in whatever case, is a 409.
   *
   * With `repository` it is defined by the files of a Git repository instead: by the newest commit of the production branch, and
   * every one that comes after it. The answer does not wait for the first one: `definition.status` is `syncing` until then, and
   * the factory has no agents. Everything that the files define is read-only in the API (409, which says where to edit). A
   * repository that needs a credential names a managed secret, which needs the scope `secrets:manage` as well. Webhooks of a
   * repository may name any secret if the key that connected it has `secrets:manage`; a key with that scope allows it
   * later by a PATCH with the same `repository`.
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
   * Read a factory.
   *
   * A factory with its agents, and how many webhooks and automations it has.
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
   * Change a factory.
   *
   * A field that is left out stays, and null clears it. A name or an alias that is taken is a 409.
   *
   * Of a factory that comes from a repository, `repository` alone can be changed: it replaces url, branch, path and secret as a
   * whole, and the newest commit that is found there is applied.
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
   * Ends the factory with everything in it. Its webhooks answer 404 and its automations fire no more from the next request on, its
   * agents are gone and their keys are revoked. Runs that there are go on to their end and stay in the lists. Managed
   * secrets are the team's and stay. It cannot be undone.
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
   * Looks at the repository now instead of at the next poll, and applies the newest commit of the production branch; a commit that
   * was rejected is tried again. The answer comes when that is done: `definition` says which commit is in force, and, where the
   * newest one is not, why: its `diagnostics`, or the `problem` with the repository. After 30 seconds it comes anyway, with the status
   * `syncing`, and the work goes on. A factory that is edited here has no repository: 409.
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
   * Which versions of a factory's files this server reads, and the kinds of documents. Needs no key.
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
   * Read the schemas of factory files.
   *
   * A JSON Schema (draft 2020-12) for each kind of document, of Markdown for its frontmatter, made of the types that the server reads. Needs no key.
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
   * Read the schema of one kind of file.
   *
   * The JSON Schema of one kind of document alone, so that an editor can use its address:
   * `# yaml-language-server: $schema=https://penstock.example.com/api/v1/factory-files/schemas/v1alpha1/webhook.schema.json`. A 404
   * lists the documents. Needs no key.
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
   * Validate files of a factory.
   *
   * What is wrong with files. Nothing is changed, and no key is needed: without one only the files are looked at, and the address may
   * ask `validations_per_minute` times a minute. With a key that has the scope `factories:manage` the files are also checked against
   * what the server and the team have, as for a new factory. `state_dependent_checks_not_run` lists what only applying checks.
   */
  validate(body: ValidateFilesRequest, options?: RequestOptions): APIPromise<FilesVerdict> {
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

/** `client.keys` */
export class KeysResource extends Resource {

  /**
   * List keys.
   *
   * Every key of the team that has not been deleted, newest first. No answer shows a key again.
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
   * The answer alone shows the key; the server keeps only its hash. A key cannot be given a scope that its maker lacks.
   *
   * Needs the scope `keys:manage`.
   */
  create(body: CreateKeyRequest, options?: RequestOptions): APIPromise<Key> {
    return this.core.json(
      {
        method: 'POST',
        path: '/keys',
        body,
        needs: ['name', 'scopes'],
      },
      options,
    );
  }

  /**
   * Delete a key.
   *
   * It is refused from the next request on, on every replica. The team's last key with the scope `admin` is kept (409).
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
   * Read the limits.
   *
   * The limits in force on this server. 0 means no limit. Any key will do, except that of an execution.
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
   * Who am I.
   *
   * The person or service account behind the request, its team, and what its key may do. Any valid key will do.
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
   * The models that a run can name in `config.model_id`. One that cannot be used now says why.
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

/** `client.runs` */
export class RunsResource extends Waiting {

  /**
   * List runs.
   *
   * Runs of the team that the caller may see, newest change first unless asked otherwise. All filters combine with AND.
   * A cursor never shows a run twice. Sorted by `created_at` none is missed; sorted by `updated_at` one that changes between
   * two pages may be. A page ends early where it would have more than 4 MiB, with one run at least: `has_next_page` alone says
   * whether there are more. A prompt of more than 16 KiB is shortened here, with `prompt_truncated: true`.
   *
   * Needs the scope `runs:read`.
   */
  list(query?: ListRunsQuery, options?: RequestOptions): PagePromise<ListRunsResponse, RunItem> {
    return this.core.page(
      {
        method: 'GET',
        path: '/agent/runs',
        query,
        known: ['limit', 'cursor', 'sort_by', 'sort_order', 'q', 'state', 'task_status', 'name', 'model_id', 'creator', 'executor', 'source', 'execution_location', 'created_after', 'created_before', 'updated_after', 'environment_id', 'skill', 'skill_spec', 'schedule_id', 'ancestor_run_id', 'automation_id', 'factory_uid', 'factory_only', 'webhook_uid', 'artifact_type', 'metadata'],
        items: 'runs',
      },
      options,
    );
  }

  /**
   * Create a run.
   *
   * Queues a run and answers as soon as it is durable. Give a `prompt`, a `skill` (or `config.skill_spec` or `config.skills`),
   * or a `conversation_id` to go on with. The configuration is resolved now, in the order request, automation, agent,
   * factory, server, and never changes afterwards; `agent_config` of the run shows the result.
   *
   * A request that names managed secrets itself (`config.secrets`, `config.harness_auth_secrets`, `${{ secrets.NAME }}`
   * in `config.mcp_servers`) needs the scope `secrets:use` too, else it is a 403; so does a follow-up to such a run. Runs never get a secret that the server
   * made for a webhook. Only a caller with `secrets:manage` learns from an error whether a secret exists.
   *
   * A harness or worker host that is known but that no connected worker can honour is not an error: the run stays QUEUED
   * and its `status_message` names what is missing.
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
   * Read a run.
   *
   * Everything that is known about a run, with its resolved configuration, cost and artifacts.
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
   * Send a follow-up.
   *
   * Steers a run, whatever its state. A run that still waits gets the message after its prompt, a working one at its next turn, a
   * BLOCKED one as the answer, and an ended one starts a new execution that continues the conversation. Messages keep their order
   * and none is lost. An empty message is refused unless it continues a saved conversation or has attachments. While another run of
   * the conversation is not over, a message to one that has ended is a conflict: send it to the other.
   *
   * A message that the agent has not been given when its run ends FAILED, ERROR or CANCELLED is recorded as undelivered: the timeline
   * has `followup_undelivered`, and the message stands in the conversation with an event block of that name. Send it again to start
   * a new execution.
   *
   * The agent finds `attachments` in `.penstock/attachments/` of its workspace when it gets the message, which names them. A file
   * comes with its content, or was uploaded before (`POST /agent/runs/{runId}/attachments/prepare`). One that is not known, or not
   * uploaded yet, is a 422 `operation_not_supported`. A run and its follow-ups have at most 100 files with 256 MiB in all, and at
   * most 1,000 messages with 16 MiB in all may wait: more is a conflict.
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
   * Ends the agent's turn. The run and the agent's session stay: the agent goes on with the next follow-up. Without one the run stays
   * INPROGRESS for `idle_timeout_minutes` (10), and is then BLOCKED until a follow-up comes. The interrupt takes effect even if the
   * server or the worker is lost meanwhile; a turn that ends by itself first has simply ended. Sent again for the same turn, it does
   * nothing. A run that is over is a 400. An agent that has not started yet, or waits, has no turn to interrupt: that is a 409. To end
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
   * Prepare attachments of a follow-up.
   *
   * Prepares up to 25 files, and returns a signed link for each. `PUT` the file to its link within 15 minutes; no key is needed. It
   * has at most 25 MiB, and may be sent again. A follow-up to the same run then names it by `attachment_id`. A file that no follow-up
   * names within 24 hours is removed.
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
   * Answers once the state is CANCELLED; the agent and its sandbox are gone within 10 seconds where the worker can be reached. A
   * run that is over already is a 400, and so is one that ends while the cancel is on its way: a 200 always means cancelled.
   * Follow-ups that still wait are recorded as undelivered, and can be sent again.
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
   * Read a run's timeline.
   *
   * What happened to a run from outside the agent, oldest first, over all its executions.
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
   * Read a run's conversation.
   *
   * The conversation of a run in a form that is the same for every harness. 404 while there is none yet.
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
   * Redirects to a signed link to the raw transcript: the run's whole log as JSON Lines, known secrets masked. The link needs
   * no key and ends after 15 minutes. 404 while there is none yet.
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
   * Watch a run live.
   *
   * Server-sent events. The stream first replays everything after `Last-Event-ID` (or from the beginning), then follows the run, and
   * ends with `done` when the run is over. Each event's `id` is a sequence number of the run: hand the last one back to go on
   * without a gap or a repeat, on any replica of the server. A comment line every 15 seconds keeps the connection open. The schema
   * below is that of the events in a list, each with its `id`, its `event` and its `data` parsed.
   *
   * `message_delta` events carry text while it is being written, at most 20 a second. Once their `message` is in the log they are
   * dropped from it, so ids may have gaps. A reconnect at the end of a run that is over is a 204, which tells an `EventSource` to stop.
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
   * List what to hand over.
   *
   * The attachments of a run with signed links, for a session elsewhere that goes on with its work. The links end after 15 minutes.
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
   * Above all for agents: the key that an execution is given may add to its own run. Files and screenshots come as
   * `multipart/form-data`; plans, pull requests and references as JSON. A run has at most 500 artifacts, a URL at most 2,048
   * bytes, and metadata, a JSON object without equal keys, at most 64 KB. The values of the run's secrets are masked.
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
   * Find a run by a reference.
   *
   * The newest run that has made an artifact with exactly this URL, such as a pull request or a reference.
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
}

/** `client.schedules` */
export class SchedulesResource extends Resource {

  /**
   * List schedules.
   *
   * Every schedule of the team that the caller may see, by name.
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
   * Starts a run at each time that `cron_schedule` names, with source SCHEDULED_AGENT. Needs a `prompt`, or a skill in
   * `agent_config`. A server that was down at the time fires once when it is back. If `agent_config` names managed
   * secrets, the scope `secrets:use` is needed too.
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
   * Read a schedule.
   *
   * A schedule with when it last ran and the next five times it will.
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
   * Replaces everything that a caller sets. A field that is left out is cleared. If `agent_config` names managed
   * secrets, the scope `secrets:use` is needed too.
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
   * It fires no more. Runs that it started go on.
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
   * It fires no more until it is resumed. Pausing one that is paused changes nothing.
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
   * It fires again from its next time on; times that passed while it was paused are not made up for.
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
   * Tell when a clock fires.
   *
   * The next five times of a cron expression, by the rules of schedules and of the clocks of triggers. Any key will do, except that of an
   * execution.
   */
  preview(query: PreviewScheduleTimesQuery, options?: RequestOptions): APIPromise<ScheduleTimes> {
    return this.core.json(
      {
        method: 'GET',
        path: '/schedule-times',
        needs: ['cron'],
        query,
        known: ['cron', 'timezone'],
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
   * Every managed secret of the team, by name. No answer shows a value.
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
   * Keeps a value for the team's runs and webhooks; no answer ever shows it. Without a `value` the secret is declared: it can
   * be named from now on, and is `pending` until it is given one. A name that is taken is a 409, and so is one secret more
   * than the server's limit.
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
   * Read a secret.
   *
   * What is known about a secret, who uses it, and never its value.
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
   * Give a secret a value.
   *
   * The value becomes the secret's next version; the one before is not kept. Runs get it from their next execution on, and an
   * execution that has begun goes on with what it was given. A webhook takes it when its definition next applies, or at once
   * where its `secret_refresh` is `immediate`.
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
        needs: ['value'],
      },
      options,
    );
  }

  /**
   * Delete a secret.
   *
   * Deletes the secret with its value. While an agent, an automation, a webhook, or a schedule that is not paused names it, that
   * is a 409 which lists them. A run that waits and names it ends FAILED when its turn comes.
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

/** `client.session` */
export class SessionResource extends Resource {

  /**
   * Read the session.
   *
   * Who has signed in and what they may do. With an API key instead of a cookie there is no session, and the answer is a 404.
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
   * Begins a session of the dashboard with an API key. The answer sets a cookie that no script can read and that other sites cannot
   * make the browser send, and shows `secret` once. Every request needs both: the cookie, and the secret in the header
   * `X-Penstock-Session-Secret`. Cookies are shared by all ports of a host; a page keeps the secret in its localStorage, which is
   * not. With both, the browser may do what the key may do, until the session is ended, has not been used for a while, is too old,
   * or the key is revoked. The session that the request itself belongs to is ended. Programs do not need a session: they send the
   * key.
   */
  create(body: CreateSessionRequest, options?: RequestOptions): APIPromise<Session> {
    return this.core.json(
      {
        method: 'POST',
        path: '/session',
        body,
        needs: ['api_key'],
        once: true,
      },
      options,
    );
  }

  /**
   * Sign out.
   *
   * Ends the session from the next request on, on every replica, and takes the cookie away.
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
}

/** `client.sessions` */
export class SessionsResource extends Resource {

  /**
   * Find the conversation of a session.
   *
   * Needs no key, so that a saved link can decide where to lead. `conversation_id` once the sandbox is gone, and an empty object
   * otherwise, for a session that does not exist too. An id that is no UUID is a 404.
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
   * The skills that runs can be made from, found in the repositories of the team's environments. A skill of one name in several
   * places has a variant for each. Those of factories are in their definitions, and those that come with the server are listed by
   * `GET /agent/bundled-skills`.
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
   * The catalogue of skills that a server may come with, by id. Ids are stable: usage is grouped by them. An id says nothing about what
   * is there: `shipped` does, and where this release does not have the skill, `reason` says why. One that is shipped is used by giving
   * its id as `skill`, `config.skill_spec` or in `config.skills`; a skill of the same name of the run's agent or factory comes first, one in a
   * repository does not.
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
   * Read sums of the last 24 hours.
   *
   * Sums by the hour, for charts, over the present hour and the 23 before it. Runs count in the hour in which they were created. Personal runs of others count
   * only for admins, deliveries are there for who has `factories:read`.
   *
   * Needs the scope `runs:read`.
   */
  get(options?: RequestOptions): APIPromise<Stats> {
    return this.core.json(
      {
        method: 'GET',
        path: '/stats',
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
   * The target of the links that `attachments/prepare` returns. The body is the file, at most 25 MiB. The link is the permission, so
   * no key is needed. A link that is not valid or has expired is a 404. Once a follow-up has named the attachment, another upload is
   * a 409.
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

/** `client.webhooks` */
export class WebhooksResource extends Resource {

  /**
   * List webhooks.
   *
   * Every webhook of the factory, by name. No answer shows a secret again.
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
   * Makes a URL to which another system can POST JSON, and the managed secret by which it shows that a delivery is its own.
   * The answer alone shows the secret and, for `url_token`, the whole URL.
   *
   * For `token` and `url_token` the secret is made here. For `signature` give the sender's secret, or leave it out: for
   * `standard_webhooks` and `svix` one is made; for every other scheme the webhook is disabled with `pending_secret` and a
   * ready URL, until the secret is given with a PATCH.
   *
   * The secret is kept as a managed secret of the team under `secret_name`. A name that is given and exists already is used
   * as it is: that needs the scope `secrets:manage` and excludes `secret`, and its value is not shown. A name of a webhook
   * that is taken is a 409, and so is one webhook more than the server's limit. Runs never get a secret that was made here.
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
   * Read a webhook.
   *
   * A webhook with which of its secrets are valid and still used, and the deliveries of the last 24 hours. No answer shows a secret again.
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
   * Change a webhook.
   *
   * What is left out stays as it is. `secret` finishes a webhook that is pending, and enables it. `enabled: false` answers its
   * sender with 404 from the next request on. A change, and `enabled: true`, make it take the present value of its managed
   * secret. `name`, `auth_mode`, `signature_scheme` and `secret_name` cannot be changed (400): the sender was told of them.
   * Enabling a webhook that still waits for its secret is a 409, and so is a `secret` for one that has it.
   *
   * `suspended: true` answers its sender with 404 from the next request on, until it is cleared, without a change of the factory's
   * files. Of a factory that comes from a repository, `suspended` and the `secret` of a pending webhook alone can be changed:
   * everything else is a 409, which says where to edit.
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
   * Its sender gets 404 from the next request on, on every replica. Automations that select it stay, and so does its managed secret.
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
   * Replace a webhook's secret.
   *
   * The new secret, made here unless it is given, becomes the managed secret's value, is shown this once, and holds from the
   * next request on. The old one stops at once, or is valid for `overlap_seconds` still; `secrets` tells whether it is used.
   * A secret that something else uses as well is not replaced: 409, which names who does. A secret that the server did not
   * make for this webhook needs the scope `secrets:manage`, here and as the `secret` of a PATCH. Senders that make their
   * secrets themselves need `secret`.
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
   * List signature schemes.
   *
   * What is known of each sender's way to sign, in the order in which to show them: where its secret is found, and how its signatures are
   * laid out, so that a delivery can be signed by it. Any key will do, except that of an execution.
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
   * The workers outside the server that are connected now, by host. A run asks for one with `config.worker_host`.
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
  readonly conversations: ConversationsResource;
  readonly deliveries: DeliveriesResource;
  readonly downloads: DownloadsResource;
  readonly environments: EnvironmentsResource;
  readonly factories: FactoriesResource;
  readonly factoryFiles: FactoryFilesResource;
  readonly keys: KeysResource;
  readonly limits: LimitsResource;
  readonly me: MeResource;
  readonly models: ModelsResource;
  readonly runs: RunsResource;
  readonly schedules: SchedulesResource;
  readonly secrets: SecretsResource;
  readonly session: SessionResource;
  readonly sessions: SessionsResource;
  readonly skills: SkillsResource;
  readonly stats: StatsResource;
  readonly uploads: UploadsResource;
  readonly webhooks: WebhooksResource;
  readonly workers: WorkersResource;

  constructor(core: Core) {
    this.agents = new AgentsResource(core);
    this.artifacts = new ArtifactsResource(core);
    this.automations = new AutomationsResource(core);
    this.conversations = new ConversationsResource(core);
    this.deliveries = new DeliveriesResource(core);
    this.downloads = new DownloadsResource(core);
    this.environments = new EnvironmentsResource(core);
    this.factories = new FactoriesResource(core);
    this.factoryFiles = new FactoryFilesResource(core);
    this.keys = new KeysResource(core);
    this.limits = new LimitsResource(core);
    this.me = new MeResource(core);
    this.models = new ModelsResource(core);
    this.runs = new RunsResource(core);
    this.schedules = new SchedulesResource(core);
    this.secrets = new SecretsResource(core);
    this.session = new SessionResource(core);
    this.sessions = new SessionsResource(core);
    this.skills = new SkillsResource(core);
    this.stats = new StatsResource(core);
    this.uploads = new UploadsResource(core);
    this.webhooks = new WebhooksResource(core);
    this.workers = new WorkersResource(core);
  }
}
