// Generated from api/openapi.yaml and sdk/operations.yaml by `make generate`. Do not edit.

import type { Known, Open, Unrecognized } from './open.js';

/** RFC 3339 in UTC, with milliseconds or finer. */
export type Timestamp = string;

/** A problem (RFC 9457). */
export interface Error {
  /** The error code as the last segment of the address of a page that explains it. */
  type: string;
  /** The error code in words. */
  title: string;
  /** The HTTP status. */
  status: number;
  /** Title and detail in one line. */
  error: string;
  /** What is wrong with this request. */
  detail?: string;
  /** The route of the request, such as `/api/v1/agent/runs/{runId}`: its path could hold a token. Absent where no route takes the path. */
  instance?: string;
  /** Whether a retry of the same request can help. */
  retryable?: boolean;
  /** The OpenTelemetry trace of the request, when it has one. */
  trace_id?: string;
  /** Each field that is wrong, when fields are. */
  errors?: FieldError[];
  /** With `invalid_definition`, every finding in the files. */
  diagnostics?: Diagnostic[];
}

/** What is wrong with one field. */
export interface FieldError {
  /** JSON pointer (RFC 6901) into the body; empty for the whole body or for a parameter, which `detail` then names. */
  pointer: string;
  /** What is wrong with it. */
  detail: string;
}

/** A kind of error, see [the error pages](/docs/errors). */
export type ErrorCode = Open<'invalid_request' | 'authentication_required' | 'not_authorized' | 'feature_not_available' | 'resource_not_found' | 'method_not_allowed' | 'conflict' | 'payload_too_large' | 'operation_not_supported' | 'invalid_definition' | 'content_policy_violation' | 'budget_exceeded' | 'rate_limited' | 'internal_error' | 'resource_unavailable' | 'environment_setup_failed' | 'agent_process_failed' | 'infrastructure_timeout' | 'external_authentication_required' | 'integration_not_configured'>;

/** Says that it was done. */
export interface Success {
  /** Always true. */
  success: boolean;
}

/** Whether there is more, and how to get it. */
export interface PageInfo {
  /** Whether there is another page. */
  has_next_page: boolean;
  /** The `cursor` of the next page. */
  next_cursor?: string;
}

/** Asks for a run. One of `prompt`, `skill`, `config.skill_spec`, `config.skills` and `conversation_id` is required. */
export type RunAgentRequest = RunAgentRequestFields & (
  | Required<Pick<RunAgentRequestFields, 'prompt'>>
  | Required<Pick<RunAgentRequestFields, 'skill'>>
  | Required<Pick<RunAgentRequestFields, 'conversation_id'>>
  | Required<Pick<RunAgentRequestFields, 'config'>>
);

/** The fields of {@link RunAgentRequest}, of which some are required. */
export interface RunAgentRequestFields {
  /** What the agent is asked to do. */
  prompt?: string | undefined;
  /** Shown in lists. Without it the first line of the prompt, cut at a word, at most 80 characters. */
  title?: string | undefined;
  config?: AmbientAgentConfig | undefined;
  /** The skill to run, as in `config.skill_spec`, which it wins over. */
  skill?: string | undefined;
  mode?: Known<RunMode> | undefined;
  /** Continue this conversation. */
  conversation_id?: string | undefined;
  /** Files that the agent finds in `.penstock/attachments/` of its workspace. 25 MB in all. */
  attachments?: Attachment[] | undefined;
  /** The agent to run as; its configuration fills what `config` leaves open. A foreman's makes this a dispatch to its factory. */
  agent_identity_uid?: string | undefined;
  /** The uid of the user to run for. For admins, and for agents with `on_behalf_of_enabled`; else 403. */
  on_behalf_of?: string | undefined;
  /** The run that this one belongs to. At most 8 levels deep. */
  parent_run_id?: string | undefined;
  /** Keep the session open for follow-ups for `config.idle_timeout_minutes` after each turn. */
  interactive?: boolean | undefined;
  /** Whether the team sees the run. A personal one is seen by its creator and admins only. */
  team?: boolean | undefined;
  metadata?: Metadata | undefined;
}

/** `plan` and `orchestrate` tell the agent to plan first and ask, which leaves the run BLOCKED until a follow-up answers. */
export type RunMode = Open<'normal' | 'plan' | 'orchestrate'>;

/** A file sent along. */
export interface Attachment {
  /** Its name, without folders. */
  file_name: string;
  /** Its media type. */
  mime_type: string;
  /** Its content in base64. */
  data: string;
}

/**
 * Labels of yours to find runs by. At most 20 keys in a request; a key is 1 to 64 bytes of `a-z A-Z 0-9 . _ -`, a value up to 256 bytes
 * of UTF-8 without NUL. Merged key by key: the request's win over the parent run's. `automation_id`, `webhook_uid` and `delivery_id` are
 * set by the server alone, for runs that an automation starts and their children; a request that has one of them is refused.
 */
export type Metadata = Record<string, string>;

/** The run that was made. */
export interface RunAgentResponse {
  /** The run's id. */
  run_id: string;
  /**
   * The same as `run_id`.
   * @deprecated
   */
  task_id: string;
  state: RunState;
  /** Whether every worker is busy so that the run has to wait. */
  at_capacity?: boolean;
}

/** A message to the agent of a run. */
export interface RunFollowupRequest {
  /** What to tell it. May be empty only with attachments, or to continue a saved conversation. */
  message?: string | undefined;
  mode?: Known<RunMode> | undefined;
  /** Files for the agent, at most 25, of them at most 5 with their content, of 25 MiB together. */
  attachments?: FollowupAttachment[] | undefined;
}

/** A file that goes with a follow-up. Either `attachment_id`, or `file_name`, `mime_type` and `data`. */
export interface FollowupAttachment {
  /** Of a file that was prepared for this run and uploaded, or that came with another of its follow-ups. */
  attachment_id?: string | undefined;
  /** Its name, without folders; with `attachment_id`, a name to use instead of its own. */
  file_name?: string | undefined;
  /** Its media type. */
  mime_type?: string | undefined;
  /** Its content in base64. */
  data?: string | undefined;
}

/** A follow-up that is recorded. */
export interface FollowupResponse {
  /** The run that gets it, where the request named a conversation. */
  run_id?: string;
  /** The id of the follow-up, and of its message in the conversation. */
  followup_id: string;
  /**
   * `queue_pending`: the agent gets it after its prompt. `live_session`: the agent that works gets it at its next turn.
   * `handoff_execution`: it starts another execution of the run.
   */
  outcome: Open<'queue_pending' | 'live_session' | 'handoff_execution'>;
}

/** An interrupt that is recorded. */
export interface InterruptResponse {
  /** The run whose agent is interrupted, where the request named a conversation. */
  run_id?: string;
}

/** Files to be uploaded. */
export interface PrepareAttachmentsRequest {
  /** The files. */
  files: PrepareAttachment[];
}

/** A file to be uploaded. */
export interface PrepareAttachment {
  /** Its name, without folders. */
  filename: string;
  /** Its media type. */
  mime_type: string;
}

/** Where to upload files. */
export interface PrepareAttachmentsResponse {
  /** One for each file, in the order of the request. */
  attachments: PreparedAttachment[];
}

/** Where to upload a file. */
export interface PreparedAttachment {
  /** What a follow-up names it by. */
  attachment_id: string;
  /** Where to `PUT` the file. The link is the permission. */
  upload_url: string;
  upload_target: UploadTarget;
  /** When the link ends. */
  expires_at: string;
}

/** The request that uploads a file as its body. */
export interface UploadTarget {
  /** The link. */
  url: string;
  /** Always `PUT`. */
  method: string;
  /** Headers to send. */
  headers: Record<string, string>;
  /** Fields of a form: none, since the file is the body. */
  fields: string[];
}

/** An attachment that was uploaded. */
export interface UploadedAttachment {
  /** What a follow-up names it by. */
  attachment_id: string;
  /** Its name. */
  filename: string;
  /** Its media type. */
  mime_type: string;
  /** Its size. */
  size_bytes: number;
}

/** A page of runs. */
export interface ListRunsResponse {
  /** The runs. */
  runs: RunItem[];
  page_info: PageInfo;
}

/**
 * `QUEUED` waits. `CLAIMED` is taken by a worker. `PENDING` is being prepared. `INPROGRESS` means the agent works. `BLOCKED` waits for a
 * person; a follow-up answers it. `SUCCEEDED` is done. `FAILED` ended for a cause that its owner can mend, `ERROR` for a cause of the
 * server's. `CANCELLED` was cancelled.
 */
export type RunState = Open<'QUEUED' | 'PENDING' | 'CLAIMED' | 'INPROGRESS' | 'SUCCEEDED' | 'FAILED' | 'BLOCKED' | 'ERROR' | 'CANCELLED'>;

/** What made a run. */
export type RunSourceType = Open<'API' | 'CLI' | 'WEB_APP' | 'SCHEDULED_AGENT' | 'WEBHOOK' | 'ORCHESTRATION' | 'GITHUB_ACTION' | 'GITHUB_WEBHOOK' | 'GITLAB_WEBHOOK' | 'LOCAL' | 'CLOUD_MODE' | 'SLACK' | 'LINEAR' | 'JIRA' | 'SELF_IMPROVEMENT' | 'AUTOFIX' | 'RUN_SCORER'>;

/** What made a run, as a filter takes it. */
export type RunSourceFilter = Open<'API' | 'CLI' | 'WEB_APP' | 'SCHEDULED_AGENT' | 'WEBHOOK' | 'CUSTOM_WEBHOOK' | 'ORCHESTRATION' | 'GITHUB_ACTION' | 'GITHUB_WEBHOOK' | 'GITLAB_WEBHOOK' | 'AZURE_DEVOPS_WEBHOOK' | 'LOCAL' | 'CLOUD_MODE' | 'MCP' | 'SLACK' | 'TEAMS' | 'LINEAR' | 'JIRA' | 'SELF_IMPROVEMENT' | 'AUTOFIX' | 'RUN_SCORER' | 'BENCHMARK_TRIAL' | 'CREATE_BENCHMARK_TASK'>;

/** `REMOTE` is a worker, the one inside the server among them. No run of this server is `LOCAL`, on a user's own machine. */
export type ExecutionLocation = Open<'LOCAL' | 'REMOTE'>;

/** Why a run is in its state. */
export interface RunStatusMessage {
  /** For people. */
  message: string;
  error_code?: ErrorCode;
  /** Whether the same run may succeed when it is tried again. */
  retryable?: boolean;
}

/** A person or a service account. */
export interface RunCreatorInfo {
  /** Which of the two. */
  type: Open<'user' | 'service_account'>;
  /** Its uid. */
  uid: string;
  /** Its name. */
  display_name?: string;
  /** Its email address. */
  email?: string;
  /** A picture. */
  photo_url?: string;
}

/** A run. */
export interface RunItem {
  /** The run's id. */
  run_id: string;
  /**
   * The same as `run_id`.
   * @deprecated
   */
  task_id: string;
  /** A line for lists. */
  title: string;
  state: RunState;
  /** What the agent was asked. Empty when the run came from a skill alone. */
  prompt: string;
  /** True in a list where `prompt` is only the beginning. The run itself has all of it. */
  prompt_truncated?: boolean;
  /** When it was created. */
  created_at: Timestamp;
  /** When anything about it changed last. */
  updated_at: Timestamp;
  /** When a worker first took it. */
  started_at?: NullableTimestamp;
  /** When it ended, while it is over. */
  finished_at?: Timestamp;
  /** How long its executions took together, as an ISO 8601 duration. */
  run_time?: string;
  /** The number of its current execution. A follow-up to an ended run starts the next. */
  execution_id: number;
  /** How many runs it is behind, counting itself, while QUEUED. */
  queue_position?: number;
  /** The factory that it belongs to. */
  factory_uid?: string;
  /** The run that started it. */
  parent_run_id?: string;
  /** The run at the top of its tree. */
  root_run_id?: string;
  /** How far below the top it is; left out at the top. */
  depth?: number;
  status_message?: RunStatusMessage;
  source?: RunSourceType;
  /** The session of its agent. */
  session_id?: string;
  /** The page of the run, live. */
  session_link?: string;
  /** The page of what triggered it. */
  trigger_url?: string;
  /** Who created it. */
  creator?: RunCreatorInfo;
  /** Whom it acts as. */
  executor?: RunCreatorInfo;
  /** The configuration that it was created with, all defaults resolved. */
  agent_config?: AmbientAgentConfig;
  /**
   * Where each key of `agent_config` came from. What a factory gives to all its runs beside what a key has from elsewhere is
   * told as `secrets/NAME` and `mcp_servers/NAME`.
   */
  agent_config_sources?: Record<string, Open<'request' | 'parent' | 'automation' | 'agent' | 'factory' | 'server' | 'skill'>>;
  agent_skill?: AgentSkill;
  mode?: RunMode;
  /** Whether its session stays open for follow-ups after a turn. */
  interactive?: boolean;
  /** Its conversation. */
  conversation_id?: string;
  metadata?: Metadata;
  /** Whether its sandbox is alive. */
  is_sandbox_running?: boolean;
  /** Whether a run like this can be cancelled at all, in whatever state it is. On this server every one can. */
  is_run_type_cancellable?: boolean;
  execution_location?: ExecutionLocation;
  /** What it made. */
  artifacts?: ArtifactItem[];
  schedule?: RunSchedule;
  scope?: Scope;
  request_usage?: RequestUsage;
}

/** A time, or null while there is none. */
export type NullableTimestamp = string | null;

/** The skill that a run came from. */
export interface AgentSkill {
  /** Its name. */
  name?: string;
  /** What it says it is for. */
  description?: string;
  /** Where it lies in its repository or in the factory's files; not together with `bundled_skill_id`. */
  full_path?: string;
  /** Its id among the skills that the platform ships. */
  bundled_skill_id?: string;
}

/** The schedule that started a run. */
export interface RunSchedule {
  /** Its id. */
  schedule_id: string;
  /** Its name at that time. */
  schedule_name: string;
  /** Its cron expression at that time. */
  cron_schedule: string;
}

/** Who sees it. */
export interface Scope {
  /** One user or the team. */
  type: Open<'User' | 'Team'>;
  /** The uid of that user or team. */
  uid?: string;
}

/** What a run has used so far. Costs without a known price are left out. */
export interface RequestUsage {
  /** Tokens in and out. */
  total_tokens?: number;
  /** Cost of the model. */
  inference_cost?: number;
  /** Cost of the machine. */
  compute_cost?: number;
  /** Cost of the platform. */
  platform_cost?: number;
  /** Cost of the model in US dollars. */
  inference_cost_usd?: number;
  /** The same by kind of token. */
  inference_cost_breakdown_usd?: {
    /** Tokens in. */
    input_cost_usd: number;
    /** Tokens read from the provider's cache. */
    input_cache_read_cost_usd: number;
    /** Tokens written to it. */
    input_cache_write_cost_usd: number;
    /** Tokens out. */
    output_cost_usd: number;
  };
}

/** A run's id. */
export interface RunReference {
  /** The run's id. */
  run_id: string;
}

/** How a run is executed. What is left out is decided by the automation, the agent, the factory or the server, in this order. */
export interface AmbientAgentConfig {
  /** A label to group and filter runs by. A run from a skill, or from the only entry of `skills`, gets the skill's name unless one is given. */
  name?: string | undefined;
  /** The model, see `GET /agent/models`, or an alias that the server gives one. `auto`, and `auto-*` without an alias, is the server's own. */
  model_id?: string | undefined;
  /** What the agent is told before any prompt. */
  base_prompt?: string | undefined;
  /** The environment to work in. */
  environment_id?: string | undefined;
  /**
   * The runner to work on, a name of `runners` in the files of the agent's factory. Its set-up commands come before the environment's, its image
   * replaces the environment's, and where no worker has its platform the run waits and says so.
   */
  runner_id?: string | undefined;
  /**
   * The skill to run. Not together with `skills`. A bare name means a skill of the run's agent, else of its factory, else the bundled
   * skill with that id, else one in the environment's repositories; the other forms (`owner/repo:path/SKILL.md`, `owner/repo:name`, `repo:name`) are in a repository.
   * The name is the one in the frontmatter of the SKILL.md, else that of its folder. At most 1,024 bytes. In answers it is also
   * the entry of `skills` where there is only one.
   */
  skill_spec?: string | undefined;
  /** Skills to have at hand, beside all those of the agent and its factory. Named as in `skill_spec`, and not together with it. */
  skills?: string[] | undefined;
  /** MCP servers for the agent, by name. */
  mcp_servers?: Record<string, MCPServerConfig> | undefined;
  harness?: Harness | undefined;
  /** Names of managed secrets that hold a harness's credentials, such as `claude_auth_secret_name`. */
  harness_auth_secrets?: Record<string, string> | undefined;
  /** How long an interactive session stays open after a turn. 0 ends it with the turn. */
  idle_timeout_minutes?: number | undefined;
  /** The self-hosted worker to run on. While it is not connected, the run waits. `warp`, hosted execution, means any worker; the timeline notes it as `any_worker`. */
  worker_host?: string | undefined;
  /** What anybody with the run's link may do. */
  session_sharing?: {
    /** Watch or also steer. */
    public_access?: Open<'VIEWER' | 'EDITOR'>;
  } | undefined;
  /** Memory stores for the agent, each once. Kept and shown; this server has none. */
  memory_stores?: MemoryStoreRef[] | undefined;
  /** Settings of model providers. Kept and shown; the server's own are used. */
  inference_providers?: {
    /** How AWS Bedrock is reached. */
    aws?: {
      /** Whether to go without it. */
      disabled?: boolean;
      /** Its region. */
      region?: string;
      /** The role to assume. */
      role_arn?: string;
    };
  } | undefined;
  /** Whose credentials the run uses. The executor's unless set. */
  credential_strategy?: Open<'CREATOR' | 'EXECUTOR'> | null | undefined;
  /** Whether the agent may use a screen. */
  computer_use_enabled?: boolean | undefined;
  /** The model for that. */
  computer_use_model_id?: string | undefined;
  /** How long one execution may work before it is ended, FAILED. */
  max_duration_minutes?: number | undefined;
  /** What the run may use before it is ended, FAILED. */
  budget?: {
    /** Tokens in and out. 0 means no bound. */
    max_total_tokens?: number;
    /** Cost of the model. 0 means no bound. */
    max_cost_usd?: number;
  } | undefined;
  /**
   * Environment variables of the sandbox. The built-in agent gives them to commands and MCP servers. A harness to which
   * the server gives keys takes no variables that can decide where they are sent or what code runs beside them, such as
   * `HTTPS_PROXY`, `SSL_CERT_FILE`, `NODE_OPTIONS` or `LD_PRELOAD`.
   */
  env?: Record<string, string> | undefined;
  /**
   * Managed secrets to give to the run, by name. Each becomes an environment variable and is masked in everything recorded. A
   * request may also give an object with the `name`; it needs the scope `secrets:use`.
   */
  secrets?: string[] | undefined;
}

/** The agent program. */
export interface Harness {
  /** `builtin` (the default; `oz` is read as the same), `claude`, `codex`, `gemini`, `opencode`, `command`, or one that the server's configuration names. An unknown one is a 400. */
  type?: string | undefined;
  /** The model for it. */
  model_id?: string | undefined;
  /** How hard it should think, for programs that have such a setting. */
  reasoning_level?: string | undefined;
}

/**
 * An MCP server. Exactly one of `id`, `command` and `url`. Values of `env` and `headers` may name a managed secret as
 * `${{ secrets.NAME }}`. This server manages no MCP servers: a run goes without one that is named by `id`, and notes it on
 * the timeline as `mcp_server_not_used`.
 */
export type MCPServerConfig = MCPServerConfigFields & (
  | Required<Pick<MCPServerConfigFields, 'id'>>
  | Required<Pick<MCPServerConfigFields, 'warp_id'>>
  | Required<Pick<MCPServerConfigFields, 'command'>>
  | Required<Pick<MCPServerConfigFields, 'url'>>
);

/** The fields of {@link MCPServerConfig}, of which some are required. */
export interface MCPServerConfigFields {
  /** A managed server. */
  id?: string | undefined;
  /**
   * The same as `id`. Never in answers.
   * @deprecated
   */
  warp_id?: string | undefined;
  /** A program to start inside the sandbox. */
  command?: string | undefined;
  /** Its arguments. */
  args?: string[] | undefined;
  /** Its environment variables. */
  env?: Record<string, string> | undefined;
  /** The address of a remote server. */
  url?: string | undefined;
  /** Headers to send to it. */
  headers?: Record<string, string> | undefined;
}

/** A run's timeline. */
export interface TimelineResponse {
  /** The events, oldest first. */
  events: TimelineEvent[];
}

/** Something that happened to a run, seen from outside the agent. */
export interface TimelineEvent {
  /** Its id. */
  event_uuid: string;
  /** The run. */
  run_id: string;
  /** The execution, when it belongs to one. */
  execution_id?: number;
  /** What happened. */
  event_type: Open<'run_created' | 'run_claimed' | 'worker_container_ready' | 'shared_session_started' | 'agent_started' | 'run_blocked' | 'run_done' | 'run_failed' | 'run_errored' | 'run_cancelled' | 'vm_shutdown' | 'followup_received' | 'followup_delivered' | 'followup_undelivered' | 'interrupt_requested' | 'turn_interrupted' | 'setup_step' | 'image_not_used' | 'run_requeued' | 'workspace_reused' | 'any_worker' | 'mcp_server_not_used'>;
  /** When. */
  occurred_at: Timestamp;
  /** More about it, by type; a `setup_step` has its command, exit code and last output, an `image_not_used` the `image`, `instance_shape` and `runner` that a worker's sandbox could not give, an `any_worker` the `worker_host` that was asked for, an `mcp_server_not_used` the `name` and `id` of the server. */
  payload?: Record<string, unknown>;
}

/** What was said and done. */
export interface Conversation {
  /** Its id. */
  conversation_id: string;
  /** Its steps, in order. */
  steps: ConversationStep[];
}

/** A prompt and what followed from it. */
export interface ConversationStep {
  /** Its id within the conversation. */
  id: string;
  /** What it is about. */
  description?: string;
  /** What came of it. */
  summary?: string;
  /** When it began. */
  started_at?: Timestamp;
  /** When it ended. */
  completed_at?: Timestamp;
  /** Its messages, in order. */
  messages: ConversationMessage[];
  /** Steps within it, such as those of a subagent. */
  steps: ConversationStep[];
}

/** One utterance. */
export interface ConversationMessage {
  role: MessageRole;
  /** Its parts, in order. */
  content: ContentBlock[];
  /** When it was said. */
  timestamp?: Timestamp;
  /** The live messages that it was made of. */
  message_ids?: string[];
  /** The request to the model that it came from. */
  request_id?: string;
}

/** Who speaks. */
export type MessageRole = Open<'user' | 'assistant' | 'tool' | 'system'>;

/** A part of a message. */
export type ContentBlock = TextBlock | ActionBlock | ActionResultBlock | EventBlock | Unrecognized<'type', { message_id?: string }>;

/** Text, in Markdown when an agent wrote it. */
export interface TextBlock {
  /** Always `text`. */
  type: 'text';
  /** The text. */
  text: string;
  /** The live message that it came in. */
  message_id?: string;
}

/** Something the agent does. */
export interface ActionBlock {
  /** Always `action`. */
  type: 'action';
  /** Its id; its results name it. */
  id: string;
  category: ActionCategory;
  /** What kind of action, such as `run_command`, `read_files`, `edit_files`, `search_files`, `call_mcp_tool`, `read_skill` or `create_artifact`. */
  name: string;
  /**
   * What it is given, in a public form that depends on `name`, secrets masked. A `read_skill` has `skill_path`, the path that was used
   * to find the skill, and `bundled_skill_id` when the platform ships it; the path alone proves nothing about whose skill it is.
   */
  input: Record<string, unknown>;
  /** The live message that it came in. */
  message_id?: string;
}

/** How an action stands. A later result of the same action replaces an earlier one. */
export interface ActionResultBlock {
  /** Always `action_result`. */
  type: 'action_result';
  /** The action's `id`. */
  action_id: string;
  category: ActionCategory;
  /** The action's `name`. */
  name: string;
  /** How it stands. */
  state: Open<'running' | 'completed' | 'failed' | 'denied'>;
  /** What came of it so far, in a public form that depends on `name`, secrets masked. */
  output: Record<string, unknown>;
  /** The live message that it came in. */
  message_id?: string;
}

/** Anything else that a harness reports. */
export interface EventBlock {
  /** Always `event`. */
  type: 'event';
  /** What kind. `followup_undelivered` marks the message of a follow-up that the agent never got, `attachments` names the files of one. */
  name: string;
  /** What it says, secrets masked. */
  data: Record<string, unknown>;
  /** The live message that it came in. */
  message_id?: string;
}

/** What an action deals with. */
export type ActionCategory = Open<'command' | 'files' | 'search' | 'integration' | 'documents' | 'computer' | 'review' | 'skill'>;

/** One event of a run's stream. */
export type RunEvent = RunStateEvent | RunMessageEvent | RunMessageDeltaEvent | RunActionEvent | RunActionResultEvent | RunPlanEvent | RunUsageEvent | RunArtifactEvent | RunTimelineEvent | RunDoneEvent | Unrecognized<'event', { id?: number; data: unknown }>;

/** The run's state has changed. */
export interface RunStateEvent {
  /** Its sequence number in the run. */
  id: number;
  /** Always `state`. */
  event: 'state';
  data: StateChange;
}

/** A message is complete. */
export interface RunMessageEvent {
  /** Its sequence number in the run. */
  id: number;
  /** Always `message`. */
  event: 'message';
  data: LiveMessage;
}

/** More text of a message that is being written. */
export interface RunMessageDeltaEvent {
  /** Its sequence number in the run. */
  id: number;
  /** Always `message_delta`. */
  event: 'message_delta';
  data: MessageDelta;
}

/** The agent does something. */
export interface RunActionEvent {
  /** Its sequence number in the run. */
  id: number;
  /** Always `action`. */
  event: 'action';
  data: ActionBlock;
}

/** How an action stands. */
export interface RunActionResultEvent {
  /** Its sequence number in the run. */
  id: number;
  /** Always `action_result`. */
  event: 'action_result';
  data: ActionResultBlock;
}

/** The agent's plan has changed; the data is the whole plan. */
export interface RunPlanEvent {
  /** Its sequence number in the run. */
  id: number;
  /** Always `plan`. */
  event: 'plan';
  data: Plan;
}

/** What the run has used so far has changed. */
export interface RunUsageEvent {
  /** Its sequence number in the run. */
  id: number;
  /** Always `usage`. */
  event: 'usage';
  data: RequestUsage;
}

/** The run has made something. */
export interface RunArtifactEvent {
  /** Its sequence number in the run. */
  id: number;
  /** Always `artifact`. */
  event: 'artifact';
  data: ArtifactItem;
}

/** Something happened to the run. */
export interface RunTimelineEvent {
  /** Its sequence number in the run. */
  id: number;
  /** Always `timeline`. */
  event: 'timeline';
  data: TimelineEvent;
}

/** The run is over and the stream ends. Not in the log, so it has no `id`, or that of the last event. */
export interface RunDoneEvent {
  /** The id of the last event. */
  id?: number;
  /** Always `done`. */
  event: 'done';
  data: StateChange;
}

/** A state of a run. */
export interface StateChange {
  state: RunState;
  status_message?: RunStatusMessage;
  /** The execution; always there in a `state` event. */
  execution_id?: number;
}

/** A complete message. */
export interface LiveMessage {
  /** Its id; its deltas bore the same. */
  message_id: string;
  role: MessageRole;
  /** Its parts, in order. */
  content: ContentBlock[];
  /** When it was said. */
  timestamp?: Timestamp;
  /** The request to the model that it came from. */
  request_id?: string;
}

/** A piece of a message. */
export interface MessageDelta {
  /** The message's id. */
  message_id: string;
  role: MessageRole;
  /** The text that follows what came before. */
  text: string;
}

/** The agent's plan. */
export interface Plan {
  /** Its steps, in order. */
  entries: PlanEntry[];
}

/** One step of a plan. */
export interface PlanEntry {
  /** What is to be done. */
  content: string;
  /** How it stands. */
  status: Open<'pending' | 'in_progress' | 'completed'>;
  /** How much it matters. */
  priority: Open<'high' | 'medium' | 'low'>;
}

/** The attachments of a run. */
export interface HandoffAttachmentsResponse {
  /** The attachments. */
  attachments: HandoffAttachment[];
}

/** An attachment with a link to it. */
export interface HandoffAttachment {
  /** Its id. */
  attachment_id: string;
  /** Its name. */
  filename: string;
  /** A signed link that ends after 15 minutes. */
  download_url: string;
  /** Its media type. */
  mime_type?: string;
}

/** Where a link to a conversation leads. */
export interface ConversationRedirect {
  /** The live session, while there is one. */
  session_id?: string;
}

/** Where a link to a session leads. */
export interface SessionRedirect {
  /** The conversation that the session left behind. */
  conversation_id?: string;
}

/** A kind of artifact. */
export type ArtifactType = Open<'PLAN' | 'PULL_REQUEST' | 'SCREENSHOT' | 'FILE' | 'EXTERNAL_REFERENCE'>;

/** Something that a run made. */
export type ArtifactItem = PlanArtifact | PullRequestArtifact | ScreenshotArtifact | FileArtifact | ExternalReferenceArtifact | Unrecognized<'artifact_type', { artifact_uid?: string; run_id?: string; created_at: Timestamp; data: unknown }>;

/** A plan. */
export interface PlanArtifact {
  /** Its uid, in the answer to its creation. */
  artifact_uid?: string;
  /** The run that made it, in the answer to its creation. */
  run_id?: string;
  /** Always `PLAN`. */
  artifact_type: 'PLAN';
  /** When it was made. */
  created_at: Timestamp;
  /** What it is. */
  data: {
    /** The uid of the document. */
    document_uid: string;
    /** Its uid. */
    artifact_uid?: string;
    /** A line about it. */
    title?: string;
    /** Where it is. */
    url?: string;
  };
}

/** A pull request. */
export interface PullRequestArtifact {
  /** Its uid, in the answer to its creation. */
  artifact_uid?: string;
  /** The run that made it, in the answer to its creation. */
  run_id?: string;
  /** Always `PULL_REQUEST`. */
  artifact_type: 'PULL_REQUEST';
  /** When it was made. */
  created_at: Timestamp;
  /** What it is. */
  data: {
    /** The branch. */
    branch: string;
    /** Where it is. */
    url: string;
    status: PullRequestStatus;
  };
}

/** How the pull request stood when it was reported. `unknown` where the report did not say. */
export type PullRequestStatus = Open<'open' | 'draft' | 'merged' | 'closed' | 'unknown'>;

/** A picture. */
export interface ScreenshotArtifact {
  /** Its uid, in the answer to its creation. */
  artifact_uid?: string;
  /** The run that made it, in the answer to its creation. */
  run_id?: string;
  /** Always `SCREENSHOT`. */
  artifact_type: 'SCREENSHOT';
  /** When it was made. */
  created_at: Timestamp;
  /** What it is. */
  data: {
    /** Its uid. */
    artifact_uid: string;
    /** Its media type. */
    mime_type: string;
    /** Its name, without folders. */
    filename?: string;
    /** Its path in the workspace. */
    filepath?: string;
    /** Its size. */
    size_bytes?: number;
    /** A line about it. */
    title?: string;
    /** What it shows. */
    description?: string;
  };
}

/** A file. */
export interface FileArtifact {
  /** Its uid, in the answer to its creation. */
  artifact_uid?: string;
  /** The run that made it, in the answer to its creation. */
  run_id?: string;
  /** Always `FILE`. */
  artifact_type: 'FILE';
  /** When it was made. */
  created_at: Timestamp;
  /** What it is. */
  data: {
    /** Its uid. */
    artifact_uid: string;
    /** Its name, without folders. */
    filename: string;
    /** Its path in the workspace. */
    filepath: string;
    /** Its media type. */
    mime_type: string;
    /** Its size. */
    size_bytes?: number;
    /** A line about it. */
    title?: string;
    /** What it shows. */
    description?: string;
  };
}

/** Something elsewhere. */
export interface ExternalReferenceArtifact {
  /** Its uid, in the answer to its creation. */
  artifact_uid?: string;
  /** The run that made it, in the answer to its creation. */
  run_id?: string;
  /** Always `EXTERNAL_REFERENCE`. */
  artifact_type: 'EXTERNAL_REFERENCE';
  /** When it was made. */
  created_at: Timestamp;
  /** What it is. */
  data: {
    /** What is referred to, in a word of the agent's. */
    reference_type: string;
    /** Where it is. */
    url: string;
    /** A line about it. */
    title?: string;
    /** More about it. */
    metadata?: Record<string, unknown>;
  };
}

/** An artifact with what is needed to read it. */
export type ArtifactResponse = PlanArtifactResponse | PullRequestArtifactResponse | ScreenshotArtifactResponse | FileArtifactResponse | ExternalReferenceArtifactResponse | Unrecognized<'artifact_type', { artifact_uid: string; run_id?: string; created_at: Timestamp; data: unknown }>;

/** A plan, its text inline. */
export interface PlanArtifactResponse {
  /** Its uid. */
  artifact_uid: string;
  /** The run that made it. */
  run_id?: string;
  /** Always `PLAN`. */
  artifact_type: 'PLAN';
  /** When it was made. */
  created_at: Timestamp;
  /** What it is. */
  data: {
    /** The uid of the document. */
    document_uid: string;
    /**
     * The same as `document_uid`.
     * @deprecated
     */
    notebook_uid: string;
    /** Its uid. */
    artifact_uid?: string;
    /** A line about it. */
    title?: string;
    /** Where it is. */
    url?: string;
    /** The plan. */
    content: string;
    /** The media type of the text. */
    content_type: string;
    /** A signed link that needs no key. */
    download_url?: string;
    /** When the link ends. */
    expires_at?: Timestamp;
  };
}

/** A pull request. */
export interface PullRequestArtifactResponse {
  /** Its uid. */
  artifact_uid: string;
  /** The run that made it. */
  run_id?: string;
  /** Always `PULL_REQUEST`. */
  artifact_type: 'PULL_REQUEST';
  /** When it was made. */
  created_at: Timestamp;
  /** What it is. */
  data: {
    /** The branch. */
    branch: string;
    /** Where it is. */
    url: string;
    status: PullRequestStatus;
  };
}

/** A picture with a link to it. */
export interface ScreenshotArtifactResponse {
  /** Its uid. */
  artifact_uid: string;
  /** The run that made it. */
  run_id?: string;
  /** Always `SCREENSHOT`. */
  artifact_type: 'SCREENSHOT';
  /** When it was made. */
  created_at: Timestamp;
  /** What it is. */
  data: {
    /** Its uid. */
    artifact_uid: string;
    /** Its media type. */
    mime_type: string;
    /** Its name, without folders. */
    filename?: string;
    /** Its path in the workspace. */
    filepath?: string;
    /** Its size. */
    size_bytes?: number;
    /** A line about it. */
    title?: string;
    /** What it shows. */
    description?: string;
    /** A signed link that needs no key. */
    download_url: string;
    /** When the link ends. */
    expires_at: Timestamp;
    /** The media type of what the link leads to. */
    content_type: string;
  };
}

/** A file with a link to it. */
export interface FileArtifactResponse {
  /** Its uid. */
  artifact_uid: string;
  /** The run that made it. */
  run_id?: string;
  /** Always `FILE`. */
  artifact_type: 'FILE';
  /** When it was made. */
  created_at: Timestamp;
  /** What it is. */
  data: {
    /** Its uid. */
    artifact_uid: string;
    /** Its name, without folders. */
    filename: string;
    /** Its path in the workspace. */
    filepath: string;
    /** Its media type. */
    mime_type: string;
    /** Its size. */
    size_bytes?: number;
    /** A line about it. */
    title?: string;
    /** What it shows. */
    description?: string;
    /** A signed link that needs no key. */
    download_url: string;
    /** When the link ends. */
    expires_at: Timestamp;
    /** The media type of what the link leads to. */
    content_type: string;
  };
}

/** Something elsewhere. */
export interface ExternalReferenceArtifactResponse {
  /** Its uid. */
  artifact_uid: string;
  /** The run that made it. */
  run_id?: string;
  /** Always `EXTERNAL_REFERENCE`. */
  artifact_type: 'EXTERNAL_REFERENCE';
  /** When it was made. */
  created_at: Timestamp;
  /** What it is. */
  data: {
    /** What is referred to, in a word of the agent's. */
    reference_type: string;
    /** Where it is. */
    url: string;
    /** A line about it. */
    title?: string;
    /** More about it. */
    metadata?: Record<string, unknown>;
  };
}

/** A plan, a pull request or a reference. */
export interface CreateArtifactRequest {
  /** Which of them. */
  artifact_type: 'PLAN' | 'PULL_REQUEST' | 'EXTERNAL_REFERENCE';
  /**
   * For PLAN `content` (Markdown) and perhaps `title` and `url`; for PULL_REQUEST `branch`, `url` and perhaps `status`; for EXTERNAL_REFERENCE
   * `reference_type` and `url` and perhaps `title` and `metadata`.
   */
  data: {
    /** A line about it. */
    title?: string | undefined;
    /** Where it is. */
    url?: string | undefined;
    /** The plan. */
    content?: string | undefined;
    /** The branch. */
    branch?: string | undefined;
    /** What is referred to, in a word of yours. */
    reference_type?: string | undefined;
    /** More about it. */
    metadata?: Record<string, unknown> | undefined;
  };
}

/** A file or a screenshot. */
export interface UploadArtifactRequest {
  /** The content. Its `filename` and media type are taken from the part unless given below. */
  file: Blob;
  /** Which of them. */
  artifact_type?: 'FILE' | 'SCREENSHOT' | undefined;
  /** Its name, without folders. */
  filename?: string | undefined;
  /** Its path in the workspace. */
  filepath?: string | undefined;
  /** Its media type. */
  mime_type?: string | undefined;
  /** A line about it. */
  title?: string | undefined;
  /** What it shows. */
  description?: string | undefined;
}

/** Skills. */
export interface ListAgentSkillsResponse {
  /** The skills. */
  agents: AgentSkillItem[];
}

/** A skill and the places where it was found. */
export interface AgentSkillItem {
  /** Its name. */
  name: string;
  /** The places. */
  variants: AgentSkillVariant[];
}

/** One place of a skill. */
export interface AgentSkillVariant {
  /** What to give as `skill`, `owner/repo:path/SKILL.md`. */
  id: string;
  /** What it says it is for. */
  description: string;
  /** Its text. */
  base_prompt: string;
  /** Where its file lies. */
  source: {
    /** The repository's owner. */
    owner: string;
    /** The repository's name. */
    name: string;
    /** The file. */
    skill_path: string;
    /** The worker that has it. */
    worker_host?: string;
  };
  /** The environments that have the repository. */
  environments: {
    /** Its uid. */
    uid: string;
    /** Its name. */
    name: string;
  }[];
  /** When a run used it last. */
  last_run_timestamp?: NullableTimestamp;
  /** Why it cannot be used. */
  error?: string;
}

/** The catalogue of bundled skills. */
export interface ListBundledSkillsResponse {
  /** The skills, by id. */
  skills: BundledSkill[];
}

/** A skill that a server may come with. */
export interface BundledSkill {
  /** What to give as `skill`, and the `bundled_skill_id` of runs and actions. */
  id: string;
  /** What it is for. */
  purpose: string;
  /** Whether this release has it. */
  shipped: boolean;
  /** Why not, where it has not. */
  reason?: string;
  /** What the skill says it is for, where it is there. */
  description?: string;
  /** Its text, where it is there. */
  base_prompt?: string;
}

/** Models. */
export interface ListModelsResponse {
  /** The model of runs that name none. */
  default_model_id: string;
  /** The models. */
  models: ModelInfo[];
}

/** A model. */
export interface ModelInfo {
  /** What to give as `model_id`. */
  id: string;
  /** Its name. */
  display_name: string;
  /** Whose it is. */
  provider: Open<'OPENAI' | 'ANTHROPIC' | 'GOOGLE' | 'UNKNOWN'>;
  /** Whether it can look at pictures. */
  vision_supported: boolean;
  /** What it is good for. */
  description?: string;
  /** How hard it thinks. */
  reasoning_level?: string;
  /** Why it cannot be used now. `ADMIN_DISABLED`: this server has no key of its provider. */
  disable_reason?: Open<'PROVIDER_OUTAGE' | 'OUT_OF_REQUESTS' | 'ADMIN_DISABLED' | 'REQUIRES_UPGRADE'>;
  /** The same in a sentence, such as which key is missing. */
  disable_detail?: string;
}

/** Workers. */
export interface ListConnectedWorkersResponse {
  /** The workers. */
  workers: ConnectedWorker[];
}

/** The workers of one host. */
export interface ConnectedWorker {
  /** What to give as `worker_host`. */
  worker_host: string;
  /** How many of them are connected. */
  connection_count: number;
  /** How many runs they execute at once at most. */
  capacity: number;
  /** How many they execute now, as of what was heard of them last. */
  busy: number;
  /** Since when. */
  connected_at: Timestamp;
  /** When one was heard of last. */
  last_seen_at: Timestamp;
}

/** Environments. */
export interface ListEnvironmentsResponse {
  /** The environments. */
  environments: CloudEnvironment[];
}

/** Where runs work. */
export interface CloudEnvironment {
  /** Its uid. */
  uid: string;
  config: CloudEnvironmentConfig;
  /** When it was changed last. */
  last_updated: Timestamp;
  /** Whether the latest run that used it failed while setting it up. */
  setup_failed: boolean;
  last_task_created?: EnvironmentTask;
  /** When a run last worked in it. */
  last_task_run_timestamp?: Timestamp;
  scope?: Scope;
  /** Who created it. */
  creator?: RunCreatorInfo;
  /** Who changed it last. */
  last_editor?: RunCreatorInfo;
}

/** The latest run of an environment. */
export interface EnvironmentTask {
  /** The run's id. */
  id: string;
  /** Its title. */
  title: string;
  state: RunState;
  /** When it was created. */
  created_at: Timestamp;
  /** When it changed last. */
  updated_at: Timestamp;
  /** When a worker first took it. */
  started_at?: NullableTimestamp;
}

/** What an environment is made of. */
export interface CloudEnvironmentConfig {
  /** Its name. */
  name?: string | undefined;
  /** What it is for. */
  description?: string | undefined;
  /** The image for workers that use containers. Others run on the host's tools and say so on the timeline. */
  docker_image?: string | undefined;
  /** Repositories on GitHub to clone. */
  github_repos?: GitHubRepo[] | undefined;
  /** Repositories anywhere to clone. */
  repos?: GitRepo[] | undefined;
  /** Shell commands that prepare the workspace, in order. One that fails ends the run FAILED. */
  setup_commands?: string[] | undefined;
  /** Settings of cloud providers. Kept and handed on as given. */
  providers?: Record<string, unknown> | undefined;
  /** How long the sandbox of a failed run is kept. Not at all without it. */
  failure_session_retention_minutes?: number | null | undefined;
}

/** A repository on GitHub. */
export interface GitHubRepo {
  /** Its owner. */
  owner: string;
  /** Its name. */
  repo: string;
}

/** A Git repository. */
export interface GitRepo {
  /** Its address, `https://` or `ssh://`. */
  url: string;
  /** A branch, tag or commit. Without it the default branch. */
  ref?: string | undefined;
}

/** Agents. */
export interface ListAgentsResponse {
  /** The agents. */
  agents: AgentResponse[];
}

/** An agent to be created. */
export interface Agent {
  /** Its name. */
  name: string;
  /** What it is for. */
  description?: string | undefined;
  /** What it is told before any prompt. */
  prompt?: string | undefined;
  /** The model of its runs. */
  base_model?: string | undefined;
  /** The agent program of its runs. */
  harness?: Harness | undefined;
  /**
   * The type of `harness` alone. `harness` wins; one of another type is a 400.
   * @deprecated
   */
  base_harness?: string | undefined;
  /** The environment of its runs. */
  environment_id?: string | undefined;
  /** The runner of its runs: a name of `runners` in the files of its factory. */
  default_runner_uid?: string | undefined;
  /** The self-hosted worker of its runs. */
  worker_host?: string | undefined;
  /** Managed secrets that its runs get. */
  secrets?: SecretRef[] | undefined;
  /** Skills that its runs have at hand. */
  skills?: string[] | undefined;
  /** MCP servers of its runs, by name. */
  mcp_servers?: Record<string, MCPServerConfig> | undefined;
  /** What it remembers between runs. */
  memory?: AgentMemory | undefined;
  /** Names of managed secrets that hold a harness's credentials. */
  harness_auth_secrets?: Record<string, string> | undefined;
  /** Whose credentials its runs use. */
  credential_strategy?: 'CREATOR' | 'EXECUTOR' | undefined;
  /** Whether it may start runs on behalf of users. */
  on_behalf_of_enabled?: boolean | undefined;
  /** Its part in a factory. */
  agent_type?: 'FOREMAN' | 'TRIAGE' | 'SPEC' | 'IMPLEMENT' | 'REVIEW' | 'VERIFY' | 'CUSTOM' | undefined;
}

/** Changes to an agent. Absent or null leaves a field, an empty value clears it. */
export interface UpdateAgent {
  /** Its name. It cannot be cleared. */
  name?: string | null | undefined;
  /** What it is for. */
  description?: string | null | undefined;
  /** What it is told before any prompt. */
  prompt?: string | null | undefined;
  /** The model of its runs. */
  base_model?: string | null | undefined;
  /** The agent program of its runs. */
  harness?: Harness | null | undefined;
  /**
   * The type of `harness` alone. `harness` wins; one of another type is a 400. Empty clears `harness`.
   * @deprecated
   */
  base_harness?: string | null | undefined;
  /** The environment of its runs. */
  environment_id?: string | null | undefined;
  /** The runner of its runs: a name of `runners` in the files of its factory. */
  default_runner_uid?: string | null | undefined;
  /** The self-hosted worker of its runs. */
  worker_host?: string | null | undefined;
  /** Managed secrets that its runs get. */
  secrets?: SecretRef[] | null | undefined;
  /** Secrets that its runs get beside those that they get now. The only field of its request. One that the agent has is skipped. */
  secrets_append?: SecretRef[] | undefined;
  /** Skills that its runs have at hand. */
  skills?: string[] | null | undefined;
  /** MCP servers of its runs, by name. */
  mcp_servers?: Record<string, MCPServerConfig> | null | undefined;
  /** What it remembers between runs. */
  memory?: AgentMemory | null | undefined;
  /** Names of managed secrets that hold a harness's credentials. */
  harness_auth_secrets?: Record<string, string> | null | undefined;
  /** Whose credentials its runs use. */
  credential_strategy?: 'CREATOR' | 'EXECUTOR' | '' | null | undefined;
  /** Whether it may start runs on behalf of users. */
  on_behalf_of_enabled?: boolean | null | undefined;
  /** Its part in a factory. */
  agent_type?: 'FOREMAN' | 'TRIAGE' | 'SPEC' | 'IMPLEMENT' | 'REVIEW' | 'VERIFY' | 'CUSTOM' | '' | null | undefined;
}

/** An agent. */
export interface AgentResponse {
  /** Its uid. */
  uid: string;
  /** Its name. */
  name: string;
  /** Whether runs can be made with it now. */
  available: boolean;
  /** When it was created. */
  created_at: Timestamp;
  /** When it was changed last. */
  updated_at: Timestamp;
  /** The factory that defines it. */
  factory_uid?: string;
  /** What it is for. */
  description?: string;
  /** What it is told before any prompt. */
  prompt?: string;
  /** The model of its runs. */
  base_model?: string;
  /** The agent program of its runs. */
  harness?: Harness;
  /**
   * The type of `harness`.
   * @deprecated
   */
  base_harness?: string;
  /** The environment of its runs. */
  environment_id?: string;
  /** The runner of its runs: a name of `runners` in the files of its factory. */
  default_runner_uid: string;
  /** The self-hosted worker of its runs. */
  worker_host?: string;
  /** Managed secrets that its runs get. */
  secrets: SecretRef[];
  /** Skills that its runs have at hand. */
  skills: string[];
  /** MCP servers of its runs, by name. */
  mcp_servers?: Record<string, MCPServerConfig>;
  /** What it remembers between runs. */
  memory: AgentMemory;
  /** Names of managed secrets that hold a harness's credentials. */
  harness_auth_secrets?: Record<string, string>;
  /** Whose credentials its runs use. */
  credential_strategy?: Open<'CREATOR' | 'EXECUTOR'>;
  /** Whether it may start runs on behalf of users. */
  on_behalf_of_enabled?: boolean;
  /** Its part in a factory. */
  agent_type?: Open<'FOREMAN' | 'TRIAGE' | 'SPEC' | 'IMPLEMENT' | 'REVIEW' | 'VERIFY' | 'CUSTOM'>;
}

/** A managed secret by name. */
export interface SecretRef {
  /** Its name. */
  name: string;
}

/** What an agent remembers between runs. */
export interface AgentMemory {
  /** Memory that it keeps by itself. */
  auto_memory: {
    /** Whether it does. */
    enabled: boolean;
  };
  /** Memory stores that it is given, each once. Kept and shown; this server has none. */
  attached_stores: MemoryStoreRef[];
}

/** A memory store for an agent. */
export interface MemoryStoreRef {
  /** Its uid. */
  uid: string;
  /** What the agent may do with it. */
  access: Open<'read_write' | 'read_only'>;
  /** How the agent should use it. */
  instructions: string;
}

/** Schedules. */
export interface ListSchedulesResponse {
  /** The schedules. */
  schedules: ScheduledAgentItem[];
}

/** A schedule to be created. Needs a `prompt` or a skill. */
export interface Schedule {
  /** Its name. */
  name: string;
  cron_schedule: CronSchedule;
  /** Whether it fires. */
  enabled?: boolean | undefined;
  /** What the agent is asked. */
  prompt?: string | undefined;
  /** How its runs go about the prompt. */
  mode?: Known<RunMode> | undefined;
  /** The skill to run, as in `agent_config.skill_spec`, which it wins over. */
  skill?: string | undefined;
  /** How its runs are executed. */
  agent_config?: AmbientAgentConfig | undefined;
  /** The agent that its runs are executed as. */
  agent_uid?: string | undefined;
  /** Labels that its runs get. */
  metadata?: Metadata | undefined;
  /** Whether the team sees it and its runs, which is the default. */
  team?: boolean | undefined;
}

/** A whole schedule. Needs a `prompt` or a skill. */
export interface UpdateSchedule {
  /** Its name. */
  name: string;
  cron_schedule: CronSchedule;
  /** Whether it fires. */
  enabled: boolean;
  /** What the agent is asked. */
  prompt?: string | undefined;
  /** How its runs go about the prompt. */
  mode?: Known<RunMode> | undefined;
  /** The skill to run, as in `agent_config.skill_spec`, which it wins over. */
  skill?: string | undefined;
  /** How its runs are executed. */
  agent_config?: AmbientAgentConfig | undefined;
  /** The agent that its runs are executed as. */
  agent_uid?: string | undefined;
  /** Labels that its runs get. */
  metadata?: Metadata | undefined;
  /** Whether the team sees it and its runs, which is the default. */
  team?: boolean | undefined;
}

/** When to fire, in UTC. Five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, `@every 1h30m`. One that never fires is a 400. */
export type CronSchedule = string;

/** A schedule. */
export interface ScheduledAgentItem {
  /** Its id. */
  id: string;
  /** Its name. */
  name: string;
  cron_schedule: CronSchedule;
  /** Whether it fires. */
  enabled: boolean;
  /** What the agent is asked. Empty when its runs come from a skill alone. */
  prompt: string;
  /** How its runs go about the prompt. */
  mode: RunMode;
  /** When it was created. */
  created_at: Timestamp;
  /** When it was changed last. */
  updated_at: Timestamp;
  agent_config?: AmbientAgentConfig;
  /** The agent that its runs are executed as. */
  agent_uid?: string;
  metadata?: Metadata;
  /** The environment that `agent_config` names. */
  environment?: CloudEnvironmentConfig;
  /** Who created it. */
  created_by?: RunCreatorInfo;
  /** Who changed it last. */
  updated_by?: RunCreatorInfo;
  /** When it fired and will fire. */
  history?: {
    /** When it fired last. */
    last_ran?: NullableTimestamp;
    /** When it fires next; null while it is paused. */
    next_run?: NullableTimestamp;
  };
  /** The next five times, while it is enabled. */
  upcoming?: Timestamp[];
  /** Why its last time started no run. */
  last_spawn_error?: string | null;
  scope?: Scope;
}

/**
 * What a key may do. `admin` includes all others, `worker` lets a key serve as a worker. With `secrets:use` a
 * request for a run, or a schedule, may name managed secrets, which the agent can read, and a follow-up may go to
 * such a run. What agents, automations and factories name needs no such scope of the caller, nor of whoever
 * writes it: with `factories:manage` any secret can be given to the runs of an agent. `metrics:read` lets Prometheus read `/metrics`. `own_run`
 * is what the key of an execution has: it reads its own run and adds artifacts to it. No key can be created with
 * it.
 */
export type KeyScope = Open<'runs:read' | 'runs:write' | 'factories:read' | 'factories:manage' | 'secrets:use' | 'secrets:manage' | 'keys:manage' | 'metrics:read' | 'worker' | 'own_run' | 'admin'>;

/** A secret to be created. */
export interface CreateSecretRequest {
  /** Its name, which is that of the environment variable in which runs find it. */
  name: string;
  /** Its value, at most 65,536 bytes of UTF-8 without NUL. One of fewer than four characters cannot be masked in what runs print. When absent, the secret is pending. */
  value?: string | undefined;
}

/** A secret's next value. */
export interface SetSecretRequest {
  /** The value, at most 65,536 bytes of UTF-8 without NUL. */
  value: string;
}

/** A managed secret, without its value. */
export interface Secret {
  /** Its name. */
  name: string;
  /** How many values it was given; 0 while it is pending. */
  version: number;
  /** Whether it is declared and has no value yet. */
  pending: boolean;
  /** When it was created. */
  created_at: Timestamp;
  /** When it was given its value. */
  updated_at: Timestamp;
  /** When a run was given it last, to the minute or so. */
  last_used_at?: Timestamp;
  /** Who created it. */
  created_by?: RunCreatorInfo;
  /** Who gave it its value. */
  updated_by?: RunCreatorInfo;
  /** The webhook that the server made it for, also once that is deleted. Runs never get such a secret. */
  webhook_uid?: string;
  /** What names it and keeps it from being deleted. */
  used_by: SecretUser[];
}

/** Something that names a secret. Of somebody else's personal schedule only its type is told. */
export interface SecretUser {
  /** What it is. A `factory` names it for all its agents, for the image of a runner, or to read its repository. */
  type: Open<'agent' | 'schedule' | 'automation' | 'webhook' | 'factory'>;
  /** Its uid. */
  uid?: string;
  /** Its name. */
  name?: string;
  /** The factory that it belongs to, if any. */
  factory_uid?: string;
  /** The name of that factory. */
  factory_name?: string;
}

/** Secrets. */
export interface ListSecretsResponse {
  /** The secrets. */
  secrets: Secret[];
}

/**
 * How a delivery shows that it is the sender's: `token` in `Authorization: Bearer`, `url_token` as the last segment of the
 * URL, `signature` over the body by a scheme.
 */
export type WebhookAuthMode = Open<'token' | 'url_token' | 'signature'>;

/** How a sender signs. `custom_hmac` is described by the webhook's `signature`. */
export type SignatureScheme = Open<'standard_webhooks' | 'svix' | 'github' | 'gitlab' | 'stripe' | 'sentry' | 'pagerduty' | 'vercel' | 'slack' | 'linear' | 'shopify' | 'bitbucket' | 'jira' | 'zendesk' | 'intercom' | 'typeform' | 'circleci' | 'calendly' | 'mux' | 'paddle' | 'notion' | 'launchdarkly' | 'dropbox' | 'meta' | 'woocommerce' | 'buildkite' | 'discord' | 'square' | 'hubspot' | 'grafana' | 'docusign' | 'contentful' | 'coinbase_commerce' | 'custom_hmac'>;

/** A `custom_hmac` scheme, or the `timestamp_header` of a Grafana contact point. */
export interface Signature {
  /** The header that holds the signature. */
  header?: string | undefined;
  /** What stands before the signature, such as `sha256=`. */
  prefix?: string | undefined;
  /** The hash of the HMAC. */
  hash?: Open<'sha1' | 'sha256' | 'sha512'> | undefined;
  /** How the signature is written. */
  encoding?: Open<'hex' | 'base64'> | undefined;
  /** How the secret is turned into the key: as it stands, or decoded. */
  key_form?: Open<'text' | 'base64' | 'hex' | 'whsec'> | undefined;
  /** The text that is signed: literal text with `{body}` once, and `{timestamp}`, `{method}`, `{url}`, `{path}`, `{header:Name}`. */
  template?: string | undefined;
  /** The header that holds `{timestamp}`, in unix seconds or milliseconds or RFC 3339. */
  timestamp_header?: string | undefined;
}

/** When a webhook takes a new value of its managed secret: when it is changed or switched on, or at once. */
export type SecretRefresh = Open<'apply' | 'immediate'>;

/** A webhook to be created. */
export interface CreateWebhookRequest {
  /** What it is called. In lower case and with - for spaces it is the webhook's `name`: 1 to 63 letters, digits and -. */
  name: string;
  /** How a delivery shows that it is the sender's. */
  auth_mode?: Known<WebhookAuthMode> | undefined;
  /** How the sender signs, for `signature` only. */
  signature_scheme?: Known<SignatureScheme> | undefined;
  /** For `custom_hmac` and `grafana` only. */
  signature?: Signature | undefined;
  /** The secret, where it is not made here. */
  secret?: string | undefined;
  /** The managed secret; `<NAME>_WEBHOOK_SECRET` unless it is given. */
  secret_name?: string | undefined;
  /**
   * A header whose value tells deliveries apart, instead of the sender's own. Headers that carry credentials (such as
   * `Authorization`, `Cookie`, `X-Api-Key` and every signature) or belong to the connection are refused.
   */
  delivery_id_header?: string | undefined;
  /**
   * Whether the same signed bytes, their signed time included, are a duplicate under another id that is not signed: the
   * value of `delivery_id_header`, a header of the sender's, or `X-Penstock-Delivery-Id`.
   */
  replay_guard?: boolean | undefined;
  /** When it takes a new value of its managed secret. */
  secret_refresh?: Known<SecretRefresh> | undefined;
  /** Whether it takes deliveries as soon as it has its secret. */
  enabled?: boolean | undefined;
}

/** What is to change of a webhook. */
export interface UpdateWebhookRequest {
  /** For `custom_hmac` and `grafana` only. */
  signature?: Signature | undefined;
  /** The secret of a webhook that is pending. */
  secret?: string | undefined;
  /** A header whose value tells deliveries apart; empty for the sender's own. */
  delivery_id_header?: string | undefined;
  /** Whether the same signed bytes are a duplicate under another id that is not signed. */
  replay_guard?: boolean | undefined;
  /** When it takes a new value of its managed secret. */
  secret_refresh?: Known<SecretRefresh> | undefined;
  /** Whether it takes deliveries. */
  enabled?: boolean | undefined;
  /** Whether it takes none although it is enabled, until that is cleared. */
  suspended?: boolean | undefined;
}

/** How a secret is replaced. */
export interface RotateSecretRequest {
  /** The new secret; one is made where this is left out. */
  secret?: string | undefined;
  /** How long the old one stays valid. At most 5 are at a time. */
  overlap_seconds?: number | undefined;
}

/** A standing team of agents with its automations and webhooks. */
export interface Factory {
  /** Its uid. */
  uid: string;
  /** Its name. */
  name: string;
  /** A short name for it. */
  alias?: string;
  /** What it is for. */
  description?: string;
  /** Where it is edited: here, or in a Git repository. */
  source: Open<'service' | 'repository'>;
  /** Where that is, for `repository`. */
  repository?: FactoryRepository;
  /** The agent that its work comes to first; empty until the first commit of its repository is applied. */
  foreman_agent_uid: string;
  /** Its agents, by name. */
  agents: FactoryAgent[];
  /** How many webhooks it has. */
  webhooks_count: number;
  /** How many automations it has. */
  automations_count: number;
  definition: FactoryDefinition;
  /** When it was created. */
  created_at: Timestamp;
  /** When it was changed last. */
  updated_at: Timestamp;
  /** The team that it belongs to. */
  team_uid: string;
  /** The repositories that it works on, as in factory.yaml. */
  repositories: WorkRepository[];
  /** Where those are. */
  code_forge: CodeForge;
  /** The same, as a list. */
  code_forges: CodeForge[];
  /** Whose credentials its runs use, unless an agent says otherwise. */
  credential_strategy: Open<'CREATOR' | 'EXECUTOR'>;
  /** The model of its agents, where factory.yaml names one for the built-in harness. */
  default_model?: string;
  /** The environment of its agents, where factory.yaml names one. */
  default_environment?: string;
  /** What its agents have unless they say otherwise. */
  agent_defaults: FactoryAgentDefaults;
  /** Defaults of scorers. Empty: files cannot set any. */
  scorer_defaults: Record<string, unknown>;
  /** Settings of scoring. Empty: files cannot set any. */
  scoring: Record<string, unknown>;
}

/** A repository that a factory works on. */
export interface WorkRepository {
  /** A user, organisation or group. */
  owner: string;
  /** Its name. */
  repo: string;
  /** Where it is. */
  code_forge?: CodeForge;
}

/** A host of repositories. Files of factories name no host, so it is `GITHUB`, and `NONE` without repositories. */
export type CodeForge = Open<'GITHUB' | 'NONE'>;

/** What the agents of a factory have unless they say otherwise, as in `agentDefaults` of factory.yaml. */
export interface FactoryAgentDefaults {
  /** The runner of their runs; empty where none is named. */
  default_runner_uid: string;
  /** The self-hosted worker of their runs; empty where none is named. */
  worker_host: string;
  /** Managed secrets that their runs get. */
  secrets: SecretRef[];
  /** MCP servers of their runs, by name. */
  mcp_servers: Record<string, MCPServerConfig>;
  /** The agent program of their runs. */
  harness?: Harness;
  /** Names of managed secrets that hold a harness's credentials. */
  harness_auth_secrets?: Record<string, string>;
}

/** A Git repository that defines a factory. */
export interface FactoryRepository {
  /** An `https://` or `ssh://` URL, or `user@host:path`, without credentials; `file://` where the server allows it. */
  url: string;
  /** The production branch; the default branch of the repository where it is absent. */
  branch?: string | undefined;
  /** The folder that holds factory.yaml; the top of the repository where it is absent. */
  path?: string | undefined;
  /** The managed secret with the credential for an `https://` URL: a token, or `user:token`. */
  secret?: string | undefined;
}

/** An agent of a factory. */
export interface FactoryAgent {
  /** Its uid. */
  uid: string;
  /** Its name. */
  name: string;
  /** Its part. */
  agent_type: Open<'FOREMAN' | 'TRIAGE' | 'SPEC' | 'IMPLEMENT' | 'REVIEW' | 'VERIFY' | 'CUSTOM'>;
}

/** A finding in a factory's files. */
export interface Diagnostic {
  /** The kind of finding, such as `FF_UNKNOWN_FIELD`. */
  code: string;
  /** What is wrong. */
  message: string;
  /** The file. */
  path: string;
  /** The line, from 1. */
  line: number;
  /** The character of the line, from 1. */
  column: number;
  /** Only an error keeps files from being applied; a note is about a file that is ignored. */
  severity: Open<'error' | 'warning' | 'note'>;
  /** What was perhaps meant. */
  nearest?: string;
}

/** The files that define a factory. */
export interface FactoryFiles {
  files: FileTree;
  /** Counts the changes of the files. */
  revision: number;
  /** When they were applied. */
  applied_at: Timestamp;
  /** Where they are edited. */
  source: Open<'service' | 'repository'>;
}

/** A page of revisions. */
export interface ListRevisionsResponse {
  /** The revisions, the newest first. */
  revisions: Revision[];
  page_info: PageInfo;
}

/** A change of a factory's files. */
export interface Revision {
  /** What was new. */
  created: ResourceChange[];
  /** What was not as before. */
  changed: ResourceChange[];
  /** What was gone. */
  removed: ResourceChange[];
  /** Its number; of a commit that has changed nothing that of the one in force, 0 where there was none. */
  revision: number;
  /** What became of it. Only commits of a repository can be anything but `applied`. */
  result: Open<'applied' | 'unchanged' | 'rejected'>;
  /** The commit, of a factory that comes from a repository. */
  commit?: Commit;
  /** Why a commit was rejected. */
  detail?: string;
  /** What was found in the files of a commit, at most 200 findings. */
  diagnostics?: Diagnostic[];
  /** Who made it. */
  author?: RunCreatorInfo;
  /** When it was applied. */
  created_at: Timestamp;
  /** The change of the files as a unified diff, cut where it is very long. */
  diff: string;
}

/** A commit of a repository, as its author says. */
export interface Commit {
  /** Its id. */
  id: string;
  /** Name and address of its author. */
  author: string;
  /** The first line of its message, cut where it is very long. */
  message: string;
  /** When it was committed, where the commit could be read. */
  committed_at?: Timestamp;
}

/** The content of each file by its path. */
export type FileTree = Record<string, string>;

/** Files for a factory. */
export interface ApplyDefinitionRequest {
  files: FileTree;
  /** Whether only the plan is wanted. */
  dry_run?: boolean | undefined;
  /** The revision that was edited; a 409 where the factory has another one by now. */
  base_revision?: number | undefined;
}

/** What applying files changes. */
export interface DefinitionPlan {
  /** What is new. */
  created: ResourceChange[];
  /** What is not as it was. */
  changed: ResourceChange[];
  /** What is gone. */
  removed: ResourceChange[];
  /** The revision that is in force now. */
  revision: number;
  /** Warnings. */
  diagnostics: Diagnostic[];
}

/** A resource of a factory that changes. */
export interface ResourceChange {
  /** The kind of resource. */
  kind: Open<'factory' | 'agent' | 'automation' | 'webhook' | 'runner' | 'skill' | 'scorer' | 'benchmark'>;
  /** Its name. */
  name: string;
  /** The keys that change. */
  fields?: string[];
  /** Whether there was another one of this name before: this one has a uid of its own. */
  again?: boolean;
}

/** Files to be checked. */
export interface ValidateFilesRequest {
  /** The files, by path or as a list. */
  files: FileTree | ListedFile[];
}

/** A file in a list. */
export interface ListedFile {
  /** Its path, such as `agents/triage/agent.md`. */
  path: string;
  /** Its content. */
  content: string;
}

/** What is wrong with files. */
export interface FilesVerdict {
  /** Whether no error was found. */
  valid: boolean;
  /** The version that factory.yaml names, or the current one. */
  schema_version: string;
  /** Every finding. */
  diagnostics: Diagnostic[];
  validation_scope: ValidationScope;
  /** Checks that were left out. Applying makes them. */
  state_dependent_checks_not_run: string[];
  /** Values that only applying resolves; none at present. */
  deferred_resolutions: DeferredResolution[];
}

/** What was checked. */
export interface ValidationScope {
  /** The documents. */
  parser: Open<'checked' | 'not_run'>;
  /** What the files say about each other. */
  state_independent: Open<'checked' | 'not_run'>;
  /** What they name of the server and the team. */
  state_dependent: Open<'checked' | 'not_checked'>;
}

/** A value of a file that was not resolved. */
export interface DeferredResolution {
  /** The file. */
  path: string;
  /** The field. */
  field: string;
  /** The kind of value. */
  kind: string;
}

/** What files of factories can be. */
export interface FactorySchemaVersions {
  /** The version that new files should have. */
  current_version: string;
  /** Every version, sorted. */
  versions: FactorySchemaVersion[];
  /** The names of the documents, such as `agent.schema.json`. */
  documents: string[];
}

/** A version of factory files. */
export interface FactorySchemaVersion {
  /** The value of `schemaVersion`. */
  schema_version: string;
  /** The path of its schemas. */
  schema_url: string;
}

/** The schemas of a version of factory files. */
export interface FactorySchemas {
  /** The version. */
  schema_version: string;
  /** The schemas by their names, which are also their `$id`. */
  documents: Record<string, Record<string, unknown>>;
}

/** What a factory is defined by. */
export interface FactoryDefinition {
  /** Counts its changes; 0 while nothing was applied yet. */
  revision: number;
  /**
   * `applied`: what was read last is in force. `invalid`: the newest commit of the repository was rejected, and the one before it
   * stays in force. `syncing`: the repository is being read, for the first time or because that was asked for.
   */
  status: Open<'applied' | 'invalid' | 'syncing'>;
  /** The commit of the repository that is in force. */
  commit?: string;
  /** The newest commit, where it was rejected. */
  rejected_commit?: string;
  /** Why it was rejected. */
  detail?: string;
  /** What was found in the newest commit, at most 200 findings; where the factory was just made of files, warnings about them. */
  diagnostics?: Diagnostic[];
  /** Why the repository cannot be read at the moment, such as a credential that does not hold. What is in force stays. */
  problem?: string;
  /** When the repository was looked at last. */
  checked_at?: Timestamp;
  /**
   * Names of webhooks whose managed secret has a new value that they have not taken yet. They take it with the next
   * change of the factory's files: of a factory from a repository, push a commit that changes one of its files. With
   * `secretRefresh: immediate` in the file of a webhook, it takes a new value at once.
   */
  outdated_webhooks?: string[];
}

/** A page of factories. */
export interface ListFactoriesResponse {
  /** The factories, by name. */
  factories: Factory[];
  page_info: PageInfo;
}

/** A factory to be made. */
export interface CreateFactoryRequest {
  /**
   * Its name; required without `files` and `repository`. With a repository it holds until the first commit is applied, whose
   * factory.yaml has the name, and is that of the repository where it is absent.
   */
  name?: string | undefined;
  /** A short name for it: letters and digits of any script, spaces and `. _ -`. Not with files or a repository. */
  alias?: string | undefined;
  /** What it is for; not with files or a repository. */
  description?: string | undefined;
  files?: FileTree | undefined;
  /** The repository that defines it; not with files. */
  repository?: FactoryRepository | undefined;
}

/** What of a factory is to change. */
export interface UpdateFactoryRequest {
  /** Its name. */
  name?: string | undefined;
  /** A short name for it. */
  alias?: string | null | undefined;
  /** What it is for. */
  description?: string | null | undefined;
  /** Where it comes from, of a factory of a repository. */
  repository?: FactoryRepository | undefined;
}

/** Work for a factory. */
export interface DispatchRequest {
  /** What is to be done. */
  prompt: string;
  /** The run's title; made from the prompt where it is absent. */
  title?: string | undefined;
  /** The ticket that the work is for, as `<source>:<id>`. */
  ticket_ref?: string | undefined;
  /** Where the ticket can be read. */
  ticket_url?: string | undefined;
}

/** A run that was dispatched. */
export interface DispatchResponse {
  /** Its id. */
  run_id: string;
  /** Its page. */
  run_url: string;
  state: RunState;
  /** The factory. */
  factory_uid: string;
  /** The name of its foreman, who got the work. */
  foreman_agent: string;
  /** The ticket that the work is for, as `<source>:<id>`; `adhoc:<run id>` where the request names none. */
  ticket_ref: string;
}

/**
 * An event that an automation waits for. `webhook` / `received` waits for deliveries to webhooks of the factory, `schedule` / `cron_fired` for a clock
 * of its own or for schedules of the team. The events of `github` and `linear` are told by deliveries to every enabled webhook of the factory whose
 * `signature_scheme` has the same name; a delivery may tell several, and starts one run of an automation, however many of its triggers match. Triggers
 * of other providers are valid and kept, and `problems` say that they are not connected, as of those of GitHub and Linear where the factory has no
 * such webhook.
 */
export interface Trigger {
  /** Where the event comes from. */
  provider: Open<'webhook' | 'schedule' | 'github' | 'gitlab' | 'linear' | 'jira' | 'slack' | 'factory'>;
  /** What happened there. */
  event: string;
  /**
   * What the event has to be like. Of `webhook`: `webhook_ids`, UIDs or names of the factory's webhooks, and `payload`, a payload filter. Of `schedule`: `schedule_ids`, where
   * there is no `schedule`; both name at least one. Of the others: values for each key; all keys must match, and one that is absent or
   * empty matches everything. Each key but `payload` has a list, or an object with `in` and `not_in`. What an event does not tell is in no list. Case does not count but in `branches`, `base_branches` and `paths`, which, like
   * `repos`, may be patterns: `*` and `?` within a folder, `**` across folders. `paths` are files that a push changes, of which one must match.
   */
  filter?: Record<string, unknown> | null | undefined;
  /** Of `schedule`: a clock of its own. */
  schedule?: CronTrigger | null | undefined;
}

/**
 * A clock. A time that the clocks show twice, in the night in which they go back, fires once, unless the hour of `cron` is `*`; one that they leave out fires
 * when they go forward. A server that was down fires once when it is back.
 */
export interface CronTrigger {
  /** When to fire: five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, `@every 1h30m`. */
  cron: string;
  /** The name that its runs show. */
  name?: string | undefined;
  /** IANA time zone name. */
  timezone?: string | undefined;
  /** When it started a run last. Only in answers. */
  last_run?: Timestamp | undefined;
  /** When it will fire. Only in answers. */
  next_run?: Timestamp | undefined;
  /** Why its last time started no run. Only in answers. */
  last_error?: string | undefined;
}

/**
 * Starts a run of one of its factory's agents when a trigger fires. A delivery starts one run of it, however many of its triggers match. Its
 * runs have the automation as their creator: it acts for no person.
 */
export interface Automation {
  /** Its uid. */
  uid: string;
  /** Its name. */
  name: string;
  /** Whether it fires. */
  enabled: boolean;
  /** What each of its runs starts with. */
  prompt: string;
  /** What it waits for. */
  triggers: Trigger[];
  /** Why it, or a trigger of it, stays silent. */
  problems?: FieldError[];
  /** The agent that works, by its name in the factory; the foreman where it is absent. */
  agent?: string;
  /** Model of its runs: short for the built-in harness with this model. Not with `harness`. */
  model?: string;
  /** The agent program of its runs. Not with `model`. */
  harness?: Harness;
  /** The runner of its runs. */
  runner?: string;
  /** The environment of its runs. */
  environment_id?: string;
  /** Managed secrets that its runs get, in place of the agent's. */
  secrets?: string[];
  /** MCP servers of its runs by name, in place of the agent's. */
  mcp_servers?: Record<string, MCPServerConfig>;
  /** The self-hosted worker of its runs. */
  worker_host?: string;
  /** The secrets that the harness gets its credentials from, as the factory's files name them. */
  harness_auth_secrets?: Record<string, unknown>;
  /** Whose credentials its runs use. */
  credential_strategy?: Open<'CREATOR' | 'EXECUTOR'>;
  /** When it was created. */
  created_at: Timestamp;
  /** When it was changed last. */
  updated_at: Timestamp;
}

/** Automations. */
export interface ListAutomationsResponse {
  /** The automations, by name. */
  automations: Automation[];
}

/** An automation to be made. */
export interface CreateAutomationRequest {
  /** Its name. It is folded: lower case, with - for spaces. */
  name: string;
  /** Whether it fires. */
  enabled?: boolean | undefined;
  /** What each of its runs starts with. */
  prompt: string;
  /** What it waits for. */
  triggers: Trigger[];
  /** The agent that works, by its name in the factory; the foreman where it is absent. */
  agent?: string | undefined;
  /** Model of its runs: short for the built-in harness with this model. Not with `harness`. */
  model?: string | undefined;
  /** The agent program of its runs. Not with `model`. */
  harness?: Harness | undefined;
  /** The runner of its runs. */
  runner?: string | undefined;
  /** The environment of its runs. */
  environment_id?: string | undefined;
  /** Managed secrets that its runs get, in place of the agent's. */
  secrets?: string[] | undefined;
  /** MCP servers of its runs by name, in place of the agent's. */
  mcp_servers?: Record<string, MCPServerConfig> | undefined;
  /** The self-hosted worker of its runs. */
  worker_host?: string | undefined;
  /** Whose credentials its runs use. */
  credential_strategy?: 'CREATOR' | 'EXECUTOR' | undefined;
}

/** What of an automation is to change. Null clears. */
export interface UpdateAutomationRequest {
  /** Its name. */
  name?: string | undefined;
  /** Whether it fires. */
  enabled?: boolean | undefined;
  /** What each of its runs starts with. */
  prompt?: string | undefined;
  /** What it waits for. */
  triggers?: Trigger[] | undefined;
  /** The agent that works, by its name in the factory; the foreman where it is absent. */
  agent?: string | null | undefined;
  /** Model of its runs: short for the built-in harness with this model. Not with `harness`. */
  model?: string | null | undefined;
  /** The agent program of its runs. Not with `model`. */
  harness?: Harness | null | undefined;
  /** The runner of its runs. */
  runner?: string | null | undefined;
  /** The environment of its runs. */
  environment_id?: string | null | undefined;
  /** Managed secrets that its runs get, in place of the agent's. */
  secrets?: string[] | null | undefined;
  /** MCP servers of its runs by name, in place of the agent's. */
  mcp_servers?: Record<string, MCPServerConfig> | null | undefined;
  /** The self-hosted worker of its runs. */
  worker_host?: string | null | undefined;
  /** Whose credentials its runs use. */
  credential_strategy?: 'CREATOR' | 'EXECUTOR' | null | undefined;
}

/** A filter, and what it is tried on. Of `payload` and `delivery_id` at most one. */
export interface TestFilterRequest {
  /** Of which triggers the filter is; those of `webhook` have payload filters. */
  provider?: 'webhook' | 'github' | 'linear' | undefined;
  /** The event of a trigger of `github` or `linear`, for which it is required. */
  event?: string | undefined;
  /** A payload filter, or the filter of such a trigger. */
  filter: Record<string, unknown>;
  /** The webhook that the delivery came to. */
  webhook_uid?: string | undefined;
  /** An accepted delivery whose payload is kept. */
  delivery_id?: string | undefined;
  /** A payload, any JSON value. */
  payload?: unknown | undefined;
  /** What the header `X-GitHub-Event` of a payload of GitHub says, for which it is required. */
  github_event?: string | undefined;
}

/** What a filter makes of a payload. */
export interface FilterVerdict {
  /** Whether every check has passed. */
  would_trigger: boolean;
  /** The checks in their order. */
  checks: FilterCheck[];
  sample?: FilterSample;
}

/** One condition. */
export interface FilterCheck {
  /** What was checked: whether the webhook takes deliveries, the payload, or the event that it tells of. */
  check: Open<'webhook' | 'payload' | 'event'>;
  /** Whether it holds. */
  passed: boolean;
  /** JSON pointer of the first key of the filter that fails. */
  path?: string;
  /** Why it fails. */
  reason?: string;
}

/** The webhook's last accepted deliveries. */
export interface FilterSample {
  /** How many of them match. */
  matched: number;
  /** How many there were. */
  of: number;
}

/** An authenticated URL that starts automations. */
export interface Webhook {
  /** Its uid, of 131 random bits. */
  uid: string;
  /** Its name, the only one in the factory. */
  name: string;
  /** The name as it was typed. */
  label: string;
  /** How a delivery shows that it is the sender's. */
  auth_mode: WebhookAuthMode;
  /** How the sender signs, for `signature`. */
  signature_scheme?: SignatureScheme;
  /** The scheme of `custom_hmac`, or what `grafana` needs. */
  signature?: Signature;
  /** The managed secret that it takes its value from. */
  secret_name: string;
  /** A header whose value tells deliveries apart. */
  delivery_id_header?: string;
  /** Whether the same signed bytes are a duplicate under another id that is not signed. */
  replay_guard: boolean;
  /** When it takes a new value of its managed secret. */
  secret_refresh: SecretRefresh;
  /** Whether it takes deliveries; its sender gets 404 where it does not. */
  enabled: boolean;
  /** Whether it takes no deliveries although it is enabled: its sender gets 404. That is no part of the factory's files, and stays through every change of them. */
  suspended: boolean;
  /** Whether it waits for its secret, and takes no deliveries until then. */
  pending_secret: boolean;
  /**
   * Whether its managed secret has a new value that the webhook has not taken yet. It takes it when it is changed or
   * switched on, or with the next change of the factory's files; at once where `secret_refresh` is `immediate`.
   */
  outdated_secret: boolean;
  /** Where to send deliveries. For `url_token`, `{token}` stands for the secret, except in the answer that shows it. */
  ingress_url: string;
  /** The secrets that are valid now, the newest first. */
  secrets: WebhookSecret[];
  /** The deliveries of the last 24 hours. */
  counts: DeliveryCounts;
  /** When it was created. */
  created_at: Timestamp;
  /** When it was changed last. */
  updated_at: Timestamp;
  /** When a delivery came last whose token or signature was right, also a duplicate. */
  last_delivery_at?: Timestamp;
  /** The secret, in the answer that makes it and never again. */
  secret?: string;
}

/** Signature schemes. */
export interface ListSignatureSchemesResponse {
  /** The schemes in the order in which to show them. */
  signature_schemes: SignaturePreset[];
}

/** What is known of a scheme. */
export interface SignaturePreset {
  /** Its name. */
  scheme: SignatureScheme;
  /** Who signs so, for people. */
  sender: string;
  /** Where the sender shows its secret. */
  hint: string;
  /** Whether the secret exists only once the URL was registered: the webhook is made without one and finished later. */
  secret_after_url: boolean;
  /** Whether the sender takes a secret that is made here. */
  secret_generated: boolean;
  /** The layouts that are tried in turn; none of `custom_hmac`, which its webhook describes. */
  forms: SignatureForm[];
}

/** One layout of a signature. */
export interface SignatureForm {
  /** The header that holds the signature. */
  header: string;
  /** What stands before each signature, such as `sha256=`. */
  prefix?: string;
  /** The hash of an HMAC. */
  hash?: Open<'sha1' | 'sha256' | 'sha512'>;
  /** How the signature is written. */
  encoding?: Open<'hex' | 'base64'>;
  /** How the secret is turned into the key. */
  key_form?: Open<'text' | 'base64' | 'hex' | 'whsec' | 'whpk' | 'ed25519'>;
  /** The text that is signed. */
  template?: string;
  /** The header that holds `{timestamp}`. */
  timestamp_header?: string;
  /** How it is made; of `token` the header holds the secret itself. */
  algorithm: Open<'hmac' | 'ed25519' | 'token'>;
  /** What stands between several signatures in the header. */
  separator?: string;
  /** Whether `header` is followed by a number, from 1 to 100, and each has a signature. */
  numbered?: boolean;
  /** The header that lists the names of `{signed_headers}`. */
  signed_headers?: string;
  /** The field of the signature header that holds `{timestamp}`. */
  timestamp_field?: string;
  /** The key of the body that holds the time. */
  timestamp_body?: string;
  /** How the time is written. */
  timestamp_unit?: Open<'s' | 'ms' | 'rfc3339' | 'any'>;
  /** How far the time may be from the server's, both ways. */
  tolerance_seconds?: number;
  /** The header with the sender's id of a delivery. */
  id_header?: string;
  /** The key of the body with it. */
  id_body?: string;
  /** Every header that the signature depends on, its own first. */
  headers: string[];
  /** Whether the signature covers a time, so that an old delivery cannot be sent again. */
  time_signed: boolean;
  /** Whether it covers the id, so that a delivery cannot be sent again under another one. */
  id_signed: boolean;
}

/** When a clock fires. */
export interface ScheduleTimes {
  /** The next five times, fewer where there are no more. */
  upcoming: Timestamp[];
}

/** A secret that is valid, without its value. */
export interface WebhookSecret {
  /** 0 is the present one; those after it are older. */
  index: number;
  /** When a delivery was authenticated with it last, to the minute. */
  last_used_at?: Timestamp;
  /** When it stops, after a rotation with an overlap. */
  expires_at?: Timestamp;
}

/** Deliveries of the last 24 hours, to a quarter of an hour. */
export interface DeliveryCounts {
  /** Accepted. */
  accepted: number;
  /** Accepted before. */
  duplicate: number;
  /** Not authenticated, no JSON, or too large. */
  rejected: number;
  /** Too many at once. */
  rate_limited: number;
}

/** What became of a delivery. It never changes. */
export type Outcome = Open<'accepted' | 'duplicate' | 'rejected_auth' | 'rejected_json' | 'rejected_size'>;

/** An entry of a webhook's log. */
export interface Delivery {
  /** Its id. */
  delivery_id: string;
  /** The webhook. */
  webhook_uid: string;
  /** What became of it. */
  outcome: Outcome;
  /** That in words, such as Rejected (auth). */
  label: string;
  /**
   * Why, where there is more to say: of a failed authentication `missing_header`, `bad_format`, `stale`, `future`, `mismatch` or
   * `no_secret`; of a body `invalid_json` or `content_encoding`; of a duplicate `replayed_signature`; `handshake` where the sender only
   * checked the URL.
   */
  reason?: string;
  /** Bytes of the body, as it was announced where it was not read. */
  size: number;
  /** When it arrived. */
  received_at: Timestamp;
  /**
   * What identifies it. `x_penstock_delivery_id` stands for `X-Service-Delivery-Id` and `X-Warp-Delivery-Id`, too;
   * `none` for a rejection or a sender's handshake, whose identity was not read.
   */
  identity_source: Open<'delivery_id_header' | 'provider' | 'x_penstock_delivery_id' | 'body_hash' | 'replay' | 'none'>;
  /** The delivery that was accepted before. */
  duplicate_of?: string;
  /** What its sender was answered. */
  http_status: number;
  /** The runs that it started. */
  runs: string[];
  /** What it meant to each automation. */
  matches: DeliveryMatch[];
  /** The delivery of which it is a replay. */
  replay_of?: string;
  /** What its sender said about it, of an allow-list without secrets; names in lower case. */
  headers: Record<string, string>;
  /** SHA-256 of the body. */
  payload_sha256?: string;
  /** From where it came; empty for a replay. */
  client_ip: string;
}

/** What a delivery meant to one automation. */
export interface DeliveryMatch {
  /** Its name. */
  automation: string;
  /** Its uid. */
  automation_uid: string;
  /** Whether it started a run. */
  would_trigger: boolean;
  /** The run. */
  run_id?: string;
  /**
   * Where there is none: the JSON pointer of the first key of its filter that failed, such as `/data/status` of a payload filter and `/labels` of a trigger of
   * `github` or `linear` (empty for the body as a whole, and where it tells of another event), or `automation` where that is broken.
   */
  failed_at?: string;
  /** Why there is none, for people. */
  reason?: string;
}

/** A page of a webhook's log. */
export interface ListDeliveriesResponse {
  /** The deliveries, newest first. */
  deliveries: Delivery[];
  /** How to go on. */
  page_info: PageInfo;
}

/** Webhooks. */
export interface ListWebhooksResponse {
  /** The webhooks. */
  webhooks: Webhook[];
}

/** A key to be created. */
export interface CreateKeyRequest {
  /** What it is for. */
  name: string;
  /** What it may do. */
  scopes: Known<KeyScope>[];
  /** How long it holds, at most as long as the key that makes it. 0 means as long as that key, which may be for ever. */
  expires_in_seconds?: number | undefined;
  /** The agent that its bearer acts as. */
  agent_uid?: string | undefined;
}

/** An API key. */
export interface Key {
  /** Its uid. */
  uid: string;
  /** What it is for. */
  name: string;
  /** What it may do. */
  scopes: KeyScope[];
  /** How the key begins, to tell keys apart. */
  prefix: string;
  /** Whom its bearer acts as. */
  owner: RunCreatorInfo;
  /** The agent that its bearer acts as, when it is one. */
  agent_uid?: string;
  /** When it was created. */
  created_at: Timestamp;
  /** When it ends. */
  expires_at?: Timestamp;
  /** When it was used last, to the minute or so. */
  last_used_at?: Timestamp;
  /** The key itself, in the answer that creates it and never again. */
  key?: string;
}

/** Keys. */
export interface ListKeysResponse {
  /** The keys. */
  keys: Key[];
}

/** The caller. */
export interface Me {
  /** The uid of the team that everything belongs to. */
  team: string;
  /** Who it is. */
  actor: RunCreatorInfo;
  /** What the caller may do. */
  scopes: KeyScope[];
  /** The key that was used. */
  key_uid?: string;
  /** The run, for the key of an execution. */
  run_id?: string;
}

/** A sign-in. */
export interface CreateSessionRequest {
  /** An API key in force. That of an execution cannot sign in. */
  api_key: string;
}

/** A session of the dashboard. */
export interface Session {
  /** The uid of the team that everything belongs to. */
  team: string;
  /** Who has signed in. */
  actor: RunCreatorInfo;
  /** What the session may do. */
  scopes: KeyScope[];
  /** The key that began it. */
  key_uid: string;
  /** Must be sent as X-Penstock-Session-Secret beside the cookie. Only in the answer that begins the session. */
  secret?: string;
  /** When it ends, however much it is used. */
  expires_at: string;
  /** After how long without a request it ends. */
  idle_seconds: number;
}

/** What happened lately, in sums. */
export interface Stats {
  /** When the first hour began. */
  since: Timestamp;
  /** Now. */
  until: Timestamp;
  /** The 24 hours, the earliest first; the last one is not over. */
  hours: HourStats[];
  /** Those whose runs cost the most, the dearest first. */
  factories: FactoryStats[];
  capacity: Capacity;
}

/** What happened in an hour. */
export interface HourStats {
  /** When it began. */
  start: Timestamp;
  /** How many runs that were created in it are now in which state. States that none has are left out. */
  runs: Record<string, number>;
  queue_wait: QueueWait;
  deliveries?: HourDeliveries;
}

/** How long runs that were created in an hour waited until a worker first took them. Those that still wait do not count. */
export interface QueueWait {
  /** How many were taken. */
  runs: number;
  /** How long they waited on average. */
  mean_seconds: number;
  /** The longest wait. */
  max_seconds: number;
}

/** Deliveries of an hour to the webhooks that there are, by what became of them. */
export interface HourDeliveries {
  /** Accepted. */
  accepted: number;
  /** Accepted before. */
  duplicate: number;
  /** Not authenticated, no JSON, or too large. */
  rejected: number;
  /** Too many at once. */
  rate_limited: number;
}

/** Runs of a factory, or of none. */
export interface FactoryStats {
  /** The factory; absent for runs of none. */
  factory_uid?: string;
  /** Its name. */
  factory_name?: string;
  /** How many there were. */
  runs: number;
  /** What their models cost in US dollars, as far as prices are known. */
  cost_usd: number;
}

/** What the connected workers can execute at once, and do. */
export interface Capacity {
  /** How many runs all workers together execute at most. */
  slots: number;
  /** How many they execute now. */
  busy: number;
  /** Those of the workers inside of servers, of `slots`. */
  server_slots: number;
  /** Those of the workers inside of servers, of `busy`. */
  server_busy: number;
  /** How many runs of the team wait for a worker. */
  queued: number;
}

/** Limits. 0 means none. */
export interface Limits {
  /** Requests of one key. */
  requests_per_minute: number;
  /** Validations of factory files that one address asks for without a key. */
  validations_per_minute: number;
  /** A JSON body, attachments aside. */
  request_body_bytes: number;
  /** The configuration of a run as JSON, of whatever makes runs, and an environment. */
  configuration_bytes: number;
  /** Attachments of one request. */
  attachments_per_run: number;
  /** Those together, decoded. */
  attachment_bytes: number;
  /** One file that a run makes. */
  artifact_bytes: number;
  /** All files that a run makes. */
  run_artifact_bytes: number;
  /** Levels of runs that start runs. */
  run_depth: number;
  /** Keys of a run's metadata. */
  metadata_keys: number;
  /** The largest `limit` of a list. */
  page_size: number;
  /** A page of runs as JSON, which ends early for that, with one run at least. */
  page_bytes: number;
  /** A prompt in a list of runs, which is shortened. */
  listed_prompt_bytes: number;
  /** How long an `Idempotency-Key` is remembered. */
  idempotency_seconds: number;
  /** How long a signed link holds. */
  signed_link_seconds: number;
  /** How long a run may wait before it ends, ERROR. */
  queue_timeout_seconds: number;
  /** How long a run stays once it is over and no longer changes. */
  run_retention_seconds: number;
  /** Managed secrets of a team. */
  secrets_per_team: number;
  /** The value of one. */
  secret_value_bytes: number;
  /** Webhooks of a factory. */
  webhooks_per_factory: number;
  /** The body of a delivery. */
  delivery_bytes: number;
  /** Deliveries of one webhook that are admitted in any 60 seconds. */
  deliveries_per_minute: number;
  /** Failed authentications of one client address at one webhook, in a minute. */
  auth_failures_per_address: number;
  /** Failed authentications at one webhook, in a minute, that are logged. */
  auth_failures_per_webhook: number;
  /** Rejected deliveries of one webhook and outcome, in a minute, that are logged. */
  logged_rejections: number;
  /** The newest deliveries of each outcome, which are always kept. */
  kept_deliveries: number;
  /** How long all deliveries are kept. */
  delivery_retention_seconds: number;
  /** How long an equal body is a duplicate where nothing else tells deliveries apart. */
  dedup_body_seconds: number;
}

/** Parameters of {@link runs.list}. */
export interface ListRunsQuery {
  /** Maximum number of items. */
  limit?: number | undefined;
  /** `page_info.next_cursor` of the previous page. A cursor from different filters or another sort order returns 400. */
  cursor?: string | undefined;
  /** Sort key. Ties are sorted by run id. */
  sort_by?: 'updated_at' | 'created_at' | 'title' | 'agent' | undefined;
  /** Sort direction. */
  sort_order?: 'asc' | 'desc' | undefined;
  /**
   * Search in title, prompt and skill, case-insensitive. Every word must occur as a substring. If all words have
   * fewer than three characters, the title must begin with each of them. A new run is found within 2 seconds.
   */
  q?: string | undefined;
  /** Only runs in one of these states. Repeat the parameter for several. */
  state?: Known<RunState>[] | Known<RunState> | undefined;
  /**
   * Coarser than `state`. `running` is QUEUED, CLAIMED, PENDING or INPROGRESS. `failed` is FAILED or ERROR.
   * `complete` is SUCCEEDED. Repeat the parameter for several.
   */
  task_status?: ('running' | 'failed' | 'blocked' | 'cancelled' | 'complete')[] | 'running' | 'failed' | 'blocked' | 'cancelled' | 'complete' | undefined;
  /** Only runs whose configuration has this `name`. */
  name?: string | undefined;
  /** Only runs whose configuration has this `model_id`. */
  model_id?: string | undefined;
  /** Only runs created by the user or service account with this uid. */
  creator?: string | undefined;
  /** Only runs executed as the user or service account with this uid. */
  executor?: string | undefined;
  /**
   * Only runs from one of these sources. Repeat the parameter for several. `CUSTOM_WEBHOOK` is an alias of
   * `WEBHOOK`, the value that runs show. Some sources are accepted although no run of this server has them:
   * `MCP`, `TEAMS`, `AZURE_DEVOPS_WEBHOOK`, `BENCHMARK_TRIAL`, `CREATE_BENCHMARK_TASK`.
   */
  source?: Known<RunSourceFilter>[] | Known<RunSourceFilter> | undefined;
  /** Only runs executed in this location. */
  execution_location?: Known<ExecutionLocation> | undefined;
  /** Only runs created after this time. */
  created_after?: string | Date | undefined;
  /** Only runs created before this time. */
  created_before?: string | Date | undefined;
  /** Only runs that changed after this time. */
  updated_after?: string | Date | undefined;
  /** Only runs in this environment. Use `empty-environment` for runs without one. */
  environment_id?: string | undefined;
  /** Only runs of this skill: its `id` from `GET /agent`, or the reference that was used to create the runs. */
  skill?: string | undefined;
  /** Alias of `skill`. */
  skill_spec?: string | undefined;
  /** Only runs that this schedule started. */
  schedule_id?: string | undefined;
  /** Only descendants of this run, at any depth. */
  ancestor_run_id?: string | undefined;
  /** Only runs that this automation started. */
  automation_id?: string | undefined;
  /** Only runs of these factories. Repeat the parameter for several. */
  factory_uid?: string[] | string | undefined;
  /** Only runs that belong to a factory. */
  factory_only?: boolean | undefined;
  /** Only runs started by deliveries to this webhook. */
  webhook_uid?: string | undefined;
  /** Only runs that have an artifact of this type. */
  artifact_type?: Known<ArtifactType> | undefined;
  /** Only runs with this metadata, written as `metadata[key]=value`. At most five pairs. All must match. */
  metadata?: Record<string, string> | undefined;
}

/** Parameters of {@link runs.cancel}. */
export interface CancelRunQuery {
  /** Also cancel the runs that this run started. */
  cascade?: boolean | undefined;
}

/** Parameters of {@link runs.events}. */
export interface StreamRunEventsQuery {
  /** Same as `Last-Event-ID`, for clients that cannot set headers. */
  after?: number | undefined;
}

/** Parameters of {@link runs.findByExternalReference}. */
export interface FindRunByExternalReferenceQuery {
  /** The URL of the artifact. */
  url: string;
}

/** Parameters of {@link skills.list}. */
export interface ListAgentSkillsQuery {
  /** Only skills of this repository, written as `owner/name`. */
  repo?: string | undefined;
  /** Read the repositories again instead of returning the last result. */
  refresh?: boolean | undefined;
  /** Sort key. `last_run` sorts by the latest run, newest first. */
  sort_by?: 'name' | 'last_run' | undefined;
  /** Also list skills that cannot be used, each with its `error`. */
  include_malformed_skills?: boolean | undefined;
}

/** Parameters of {@link agents.list}. */
export interface ListAgentsQuery {
  /** Only agents of this factory. */
  factory_uid?: string | undefined;
}

/** Parameters of {@link environments.list}. */
export interface ListEnvironmentsQuery {
  /** Sort key. `name` sorts from A to Z, `last_updated` from newest to oldest. */
  sort_by?: 'name' | 'last_updated' | undefined;
}

/** Parameters of {@link factories.list}. */
export interface ListFactoriesQuery {
  /** Only factories whose name or alias contains this text, case-insensitive. */
  search?: string | undefined;
  /** Maximum number of items. */
  limit?: number | undefined;
  /** `page_info.next_cursor` of the previous page. A cursor from different filters or another sort order returns 400. */
  cursor?: string | undefined;
}

/** Parameters of {@link factories.definition.history}. */
export interface ListRevisionsQuery {
  /** Maximum number of items. */
  limit?: number | undefined;
  /** `page_info.next_cursor` of the previous page. A cursor from different filters or another sort order returns 400. */
  cursor?: string | undefined;
}

/** Parameters of {@link deliveries.list}. */
export interface ListDeliveriesQuery {
  /** Maximum number of items. */
  limit?: number | undefined;
  /** `page_info.next_cursor` of the previous page. A cursor from different filters or another sort order returns 400. */
  cursor?: string | undefined;
  /** Only deliveries with this outcome. `rejected` includes all three kinds of rejection. */
  outcome?: 'accepted' | 'duplicate' | 'rejected_auth' | 'rejected_json' | 'rejected_size' | 'rejected' | undefined;
}

/** Parameters of {@link schedules.preview}. */
export interface PreviewScheduleTimesQuery {
  /** Five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, `@every 1h30m`. */
  cron: string;
  /** IANA time zone name. */
  timezone?: string | undefined;
}
