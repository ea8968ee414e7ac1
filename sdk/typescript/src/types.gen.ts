// Generated from api/openapi.yaml and sdk/operations.yaml by `make generate`. Do not edit.

import type { Known, Open, Unrecognized } from './open.js';

/** RFC 3339 in UTC, with at least millisecond precision. */
export type Timestamp = string;

/** A problem (RFC 9457). */
export interface Error {
  /** URL of the page that explains the error. Its last segment is the error code. */
  type: string;
  /** The error code in words. */
  title: string;
  /** The HTTP status. */
  status: number;
  /** `title` and `detail` in one line. */
  error: string;
  /** What is wrong with this request. */
  detail?: string;
  /** The route of the request, such as `/api/v1/agent/runs/{runId}`. It contains no path values, because they can hold a token. Absent if no route matches the path. */
  instance?: string;
  /** Whether a retry of the same request can help. */
  retryable?: boolean;
  /** OpenTelemetry trace id of the request, if it has one. */
  trace_id?: string;
  /** The invalid fields, if any. */
  errors?: FieldError[];
  /** With `invalid_definition`, all findings in the files. */
  diagnostics?: Diagnostic[];
}

/** An invalid field. */
export interface FieldError {
  /** JSON pointer (RFC 6901) into the body. Empty for the whole body, and for a parameter, which `detail` names. */
  pointer: string;
  /** What is wrong with the field. */
  detail: string;
}

/** Error code. See [the error pages](/docs/errors). */
export type ErrorCode = Open<'invalid_request' | 'authentication_required' | 'not_authorized' | 'feature_not_available' | 'resource_not_found' | 'method_not_allowed' | 'conflict' | 'payload_too_large' | 'operation_not_supported' | 'invalid_definition' | 'content_policy_violation' | 'budget_exceeded' | 'rate_limited' | 'internal_error' | 'resource_unavailable' | 'environment_setup_failed' | 'agent_process_failed' | 'infrastructure_timeout' | 'external_authentication_required' | 'integration_not_configured' | 'unpriced_model' | 'agent_did_nothing'>;

/** Confirmation of success. */
export interface Success {
  /** Always true. */
  success: boolean;
}

/** Position in a paginated list. */
export interface PageInfo {
  /** Whether there is another page. */
  has_next_page: boolean;
  /** The `cursor` of the next page. */
  next_cursor?: string;
}

/**
 * A request to create a run. One of `prompt`, `skill`, `config.skill_spec`, `config.skills` and `conversation_id`
 * is required.
 */
export type RunAgentRequest = RunAgentRequestFields & (
  | Required<Pick<RunAgentRequestFields, 'prompt'>>
  | Required<Pick<RunAgentRequestFields, 'skill'>>
  | Required<Pick<RunAgentRequestFields, 'conversation_id'>>
  | Required<Pick<RunAgentRequestFields, 'config'>>
);

/** The fields of {@link RunAgentRequest}, of which some are required. */
export interface RunAgentRequestFields {
  /** The task for the agent. */
  prompt?: string | undefined;
  /** Title in lists. Defaults to the first line of the prompt, cut at a word, at most 80 characters. */
  title?: string | undefined;
  config?: AmbientAgentConfig | undefined;
  /** The skill to run, in the format of `config.skill_spec`. Takes precedence over it. */
  skill?: string | undefined;
  mode?: Known<RunMode> | undefined;
  /** The conversation to continue. */
  conversation_id?: string | undefined;
  /** Files that the agent finds in `.penstock/attachments/` of its workspace. At most 25 MB in total. */
  attachments?: Attachment[] | undefined;
  /** The agent to run as. Its configuration provides the defaults for `config`. The uid of a foreman dispatches the run to its factory. */
  agent_identity_uid?: string | undefined;
  /** The uid of the user to run for. Only for admins and for agents with `on_behalf_of_enabled`; others get 403. */
  on_behalf_of?: string | undefined;
  /** The parent run. At most 8 levels deep. */
  parent_run_id?: string | undefined;
  /** Whether the session stays open for follow-ups, for `config.idle_timeout_minutes` after each turn. */
  interactive?: boolean | undefined;
  /** Whether the team sees the run. Only its creator and admins see a personal run. */
  team?: boolean | undefined;
  /** What the run is about, such as `acme/shop#7`, without placeholders. One run at most works on a subject of the caller at a time: while one works, or for 14 days after its success, a request with the same subject reaches that run, and its configuration is ignored. Not with `attachments`, `conversation_id`, `parent_run_id` or a personal run, unless `when_busy` is `parallel`. */
  subject?: string | undefined;
  /** What the request does while a run works on its subject. `coalesce` by default. Needs `subject`. */
  when_busy?: Known<WhenBusy> | undefined;
  metadata?: Metadata | undefined;
  /** How many runs to create, in one fork group. Default: one for each of `configs`, or else a single run without a group. Not with `subject` or `conversation_id`. */
  attempts?: number | undefined;
  /** Values for each of the attempts that replace those of `config`, one for each. `{}` replaces none. Not with `subject` or `conversation_id`. */
  configs?: AmbientAgentConfig[] | undefined;
}

/**
 * `plan` and `orchestrate` tell the agent to plan first and ask. The run is then BLOCKED until a follow-up
 * replies.
 */
export type RunMode = Open<'normal' | 'plan' | 'orchestrate'>;

/** A file to send to the agent. */
export interface Attachment {
  /** File name, without folders. */
  file_name: string;
  /** Media type. */
  mime_type: string;
  /** Content in base64. */
  data: string;
}

/**
 * Labels to find runs by. A request can have at most 20 keys. A key is 1 to 64 bytes of `a-z A-Z 0-9 . _ -`. A
 * value is up to 256 bytes of UTF-8 without NUL. Labels are merged key by key: the request's override the parent
 * run's. Only the server sets `automation_id`, `webhook_uid` and `delivery_id`, for runs that an automation starts
 * and their children. A request that sets one of them is rejected.
 */
export type Metadata = Record<string, string>;

/** The created run. */
export interface RunAgentResponse {
  /** The run: with `subject`, the one that works on it. */
  run_id: string;
  /**
   * Same as `run_id`.
   * @deprecated
   */
  task_id: string;
  state: RunState;
  /** Whether every worker is busy, so that the run, or one of `runs`, has to wait. */
  at_capacity?: boolean;
  outcome?: CallOutcome;
  /** What the runs have in common, for `GET /agent/fork-groups/{forkGroup}`. Only with `attempts` or `configs`. */
  fork_group?: string;
  /** All runs, in order. The first is `run_id`. Only with `attempts` or `configs`. */
  runs?: ForkedRun[];
}

/**
 * What became of a request for a run: it started the run; or, with a subject, its prompt reaches the run as a
 * follow-up (`continued`), or together with the prompt of a run that has not begun (`merged_into`).
 */
export type CallOutcome = Open<'started' | 'continued' | 'merged_into'>;

/** A message to the agent of a run. */
export interface RunFollowupRequest {
  /** The message. Can be empty only with attachments, or to continue a saved conversation. */
  message?: string | undefined;
  mode?: Known<RunMode> | undefined;
  /** Files for the agent: at most 25, of which at most 5 include their content, with 25 MiB in total. */
  attachments?: FollowupAttachment[] | undefined;
}

/** A file of a follow-up. Set either `attachment_id`, or `file_name`, `mime_type` and `data`. */
export interface FollowupAttachment {
  /** The id of a file that was prepared for this run and uploaded, or that another of its follow-ups included. */
  attachment_id?: string | undefined;
  /** File name, without folders. With `attachment_id`, replaces the name of the uploaded file. */
  file_name?: string | undefined;
  /** Media type. */
  mime_type?: string | undefined;
  /** Content in base64. */
  data?: string | undefined;
}

/** A recorded follow-up. */
export interface FollowupResponse {
  /** The run that receives the follow-up, if the request named a conversation. */
  run_id?: string;
  /** The id of the follow-up, and of its message in the conversation. */
  followup_id: string;
  /**
   * `queue_pending`: the agent receives it after its prompt; if a budget blocks the run, once it has room. `live_session`: the running agent receives it at
   * its next turn. `handoff_execution`: it starts another execution of the run.
   */
  outcome: Open<'queue_pending' | 'live_session' | 'handoff_execution'>;
}

/** A recorded interrupt. */
export interface InterruptResponse {
  /** The run whose agent is interrupted, if the request named a conversation. */
  run_id?: string;
}

/** The saved turns of a run. */
export interface Checkpoints {
  /** Turns whose files are kept, in order. */
  checkpoints: Checkpoint[];
}

/** A turn whose files are kept. */
export interface Checkpoint {
  /** Unique id. */
  uid: string;
  /** The number of the turn by its message, from 1. 0: what the run was forked from. */
  turn: number;
  /** The message that began the turn. It is the id of a step of the conversation. */
  message_id: string;
  /** The agent program that worked in it. */
  harness: string;
  /** When it was saved. */
  created_at: Timestamp;
  /** How many files, folders and links have changed since the workspace was prepared. */
  files: number;
  /** The size of these files, in bytes. */
  bytes: number;
  /** True if the run went back to an earlier turn since. Nothing continues from it then. */
  superseded?: boolean;
}

/** Something outside of a run that its agent has declared, and that is done after the turn. */
export interface Output {
  /** Unique id. */
  uid: string;
  /** The run. */
  run_id: string;
  /** The turn that declared it, by its message, from 1. */
  turn: number;
  /** What it is. */
  kind: OutputKind;
  /** How far it is. */
  state: OutputState;
  /** Where it goes. */
  target: {
    /** The name of the connection. */
    connection: string;
    /** The repository, as owner/name. */
    repository: string;
    /** The number of the pull request, once it is known. */
    pull_request?: number;
  };
  /** What it says. The kind decides which fields it has. */
  payload: {
    /** The title. */
    title?: string;
    /** The text, in Markdown. */
    body?: string;
    /** The branch of a pull request. */
    branch?: string;
    /** The base branch that was asked for. */
    base?: string;
    /** Whether a new pull request is a draft. */
    draft?: boolean;
  };
  /** The result on the forge. */
  url?: string;
  /** Why it failed, waits, was discarded, or could be done only in part. */
  problem?: string;
  /** When it was declared. */
  created_at: Timestamp;
  /** When it last changed. */
  updated_at: Timestamp;
}

/** The kind of an output. */
export type OutputKind = Open<'pr' | 'comment'>;

/**
 * How far an output is: `declared` until its turn ends, `held` until a person releases it (the outputs of forks,
 * and all with `approval: always`), `queued` while it is done or waits for the forge, and then `done`, `failed` or
 * `discarded`.
 */
export type OutputState = Open<'declared' | 'held' | 'queued' | 'done' | 'failed' | 'discarded'>;

/** Outputs. */
export interface OutputList {
  /** The outputs, the oldest first. */
  outputs: Output[];
}

/** What an agent declares. */
export interface DeclareOutputRequest {
  /** What it is. */
  kind: Known<OutputKind>;
  /** The repository, as owner/name. Needed if the run has several with a connection. */
  repository?: string | undefined;
  /** The title of a pull request, in one line. */
  title?: string | undefined;
  /** The text, in Markdown. */
  body?: string | undefined;
  /** A branch that the run has pushed. Default: the last one. */
  branch?: string | undefined;
  /** A branch that `forge.outputs.pullRequest.base` of the run allows, which is the ref of the repository in the run or its default branch without settings. Default: the first of the two that there is. */
  base?: string | undefined;
  /** Whether a new pull request is a draft. By default what `forge.outputs.pullRequest.draft` of the run says, or `true`. */
  draft?: boolean | undefined;
}

/** How to fork a run. */
export interface ForkRunRequest {
  /** The turn to begin from. Default: the last one that ended. */
  turn?: number | undefined;
  /** What the agents should do next. */
  prompt: string;
  /** How many runs to begin. */
  count?: number | undefined;
  /** Values that replace those of the configuration of the run. */
  config?: AmbientAgentConfig | undefined;
  /** The title of the new runs. Default: that of the run. */
  title?: string | undefined;
}

/** The new runs. */
export interface ForkRunResponse {
  /** What the runs have in common, for `GET /agent/fork-groups/{forkGroup}`. */
  fork_group: string;
  /** The runs, in order. */
  runs: ForkedRun[];
}

/** A run of a new fork group. */
export interface ForkedRun {
  /** Unique id. */
  run_id: string;
  /** The state of the new run. */
  state: RunState;
}

/** Where to go back to. */
export interface RewindRunRequest {
  /** The turn whose files and conversation the next turn has. */
  turn: number;
  /** The next message to the agent. Default: none; the run waits for a follow-up. */
  prompt?: string | undefined;
}

/** A run that went back. */
export interface RewindRunResponse {
  /** Unique id. */
  run_id: string;
  /** The turn. */
  turn: number;
  /** The state of the run now. */
  state: RunState;
  /** The id of the message in the conversation, if `prompt` was given. */
  followup_id?: string;
  /** Hosts that the run sent requests to in the executions that ended after the turn, without models. */
  reached: ReachedHost[];
}

/** A host that a run sent requests to. */
export interface ReachedHost {
  /** Its name or address. */
  host: string;
  /** Its port. */
  port: number;
  /** How many requests or connections. */
  requests: number;
  /** Bytes that the run has sent. */
  bytes_out: number;
}

/** The runs that one request has forked, or created as attempts. */
export interface ForkGroup {
  /** Unique id. */
  fork_group: string;
  /** The runs, in order. */
  runs: ComparedRun[];
}

/** What a run of a group has changed and consumed. */
export interface ComparedRun {
  /** Unique id. */
  run_id: string;
  /** Its title. */
  title: string;
  /** Its state. */
  state: RunState;
  /** Its agent program. */
  harness: string;
  /** Its model. */
  model_id?: string;
  /** Where it began. */
  forked_from?: ForkedFrom;
  /** When it was created. */
  created_at: Timestamp;
  /** When it ended. */
  finished_at?: Timestamp;
  /** How long workers had it, as an ISO 8601 duration. */
  run_time?: string;
  /** True if the agent ended its work without doing anything. */
  hollow?: boolean;
  request_usage?: RequestUsage;
  /** What it has changed in its repositories. */
  changes: ChangeSums;
}

/** Sums of what a run has changed in its repositories. */
export interface ChangeSums {
  /** Repositories that were checked out. */
  repositories: number;
  /** Files that were changed. */
  files: number;
  /** Lines added. */
  additions: number;
  /** Lines removed. */
  deletions: number;
}

/** The turn of another run. */
export interface ForkedFrom {
  /** The run. */
  run_id: string;
  /** The turn. */
  turn: number;
}

/** Files to upload. */
export interface PrepareAttachmentsRequest {
  /** The files. */
  files: PrepareAttachment[];
}

/** A file to upload. */
export interface PrepareAttachment {
  /** File name, without folders. */
  filename: string;
  /** Media type. */
  mime_type: string;
}

/** Upload links. */
export interface PrepareAttachmentsResponse {
  /** The upload link of each file, in the order of the request. */
  attachments: PreparedAttachment[];
}

/** The upload link of a file. */
export interface PreparedAttachment {
  /** The id of the attachment, for follow-ups. */
  attachment_id: string;
  /** `PUT` the file to this URL. The link grants access, so no key is needed. */
  upload_url: string;
  upload_target: UploadTarget;
  /** When the link expires. */
  expires_at: string;
}

/** The request that uploads the file. The file is its body. */
export interface UploadTarget {
  /** The upload link. */
  url: string;
  /** Always `PUT`. */
  method: string;
  /** Headers to send. */
  headers: Record<string, string>;
  /** Form fields. Always empty, because the file is the body. */
  fields: string[];
}

/** An uploaded attachment. */
export interface UploadedAttachment {
  /** The id of the attachment, for follow-ups. */
  attachment_id: string;
  /** Name. */
  filename: string;
  /** Media type. */
  mime_type: string;
  /** Size in bytes. */
  size_bytes: number;
}

/** A page of runs. */
export interface ListRunsResponse {
  /** The runs. */
  runs: RunItem[];
  page_info: PageInfo;
}

/**
 * `QUEUED`: waits for a worker. `CLAIMED`: a worker has claimed it. `PENDING`: its workspace is being prepared.
 * `INPROGRESS`: the agent is working. `BLOCKED`: waits for a follow-up from a person. `SUCCEEDED`: completed.
 * `FAILED`: ended for a cause that its owner can fix. `ERROR`: ended for a cause on the server. `CANCELLED`: was
 * cancelled.
 */
export type RunState = Open<'QUEUED' | 'PENDING' | 'CLAIMED' | 'INPROGRESS' | 'SUCCEEDED' | 'FAILED' | 'BLOCKED' | 'ERROR' | 'CANCELLED'>;

/** What created the run. */
export type RunSourceType = Open<'API' | 'CLI' | 'WEB_APP' | 'SCHEDULED_AGENT' | 'WEBHOOK' | 'ORCHESTRATION' | 'GITHUB_ACTION' | 'GITHUB_WEBHOOK' | 'GITLAB_WEBHOOK' | 'LOCAL' | 'CLOUD_MODE' | 'SLACK' | 'LINEAR' | 'JIRA' | 'SELF_IMPROVEMENT' | 'AUTOFIX' | 'RUN_SCORER'>;

/** What created the run, as a filter value. */
export type RunSourceFilter = Open<'API' | 'CLI' | 'WEB_APP' | 'SCHEDULED_AGENT' | 'WEBHOOK' | 'CUSTOM_WEBHOOK' | 'ORCHESTRATION' | 'GITHUB_ACTION' | 'GITHUB_WEBHOOK' | 'GITLAB_WEBHOOK' | 'AZURE_DEVOPS_WEBHOOK' | 'LOCAL' | 'CLOUD_MODE' | 'MCP' | 'SLACK' | 'TEAMS' | 'LINEAR' | 'JIRA' | 'SELF_IMPROVEMENT' | 'AUTOFIX' | 'RUN_SCORER' | 'BENCHMARK_TRIAL' | 'CREATE_BENCHMARK_TASK'>;

/**
 * `REMOTE` is a worker, including the one in the server. `LOCAL`, a user's own machine, never occurs on this
 * server.
 */
export type ExecutionLocation = Open<'LOCAL' | 'REMOTE'>;

/** Why the run is in its state. */
export interface RunStatusMessage {
  /** Message for people. */
  message: string;
  error_code?: ErrorCode;
  /** Whether a retry of the same run can succeed. */
  retryable?: boolean;
  budget?: BudgetShortage;
}

/**
 * The budget that blocks or ended the run, and the amount that the next call needs: either costs or tokens. When
 * the budget is raised, a blocked run continues.
 */
export interface BudgetShortage {
  /** The budget, or the id of a run for its own. */
  budget_uid: string;
  /** What people call the budget, such as `monthly budget of the team`. Absent for that of a run. */
  budget_name?: string;
  /** What was spent and reserved, in US dollars. */
  spent_usd?: number;
  /** The cap, in US dollars. */
  cap_usd?: number;
  /** The most that the next call can cost, in US dollars. */
  needed_usd?: number;
  /** Tokens that were used and reserved. */
  spent_tokens?: number;
  /** The cap, in tokens. */
  cap_tokens?: number;
  /** The most tokens that the next call can use. */
  needed_tokens?: number;
}

/** A user or a service account. */
export interface RunCreatorInfo {
  /** User or service account. */
  type: Open<'user' | 'service_account'>;
  /** Unique id. */
  uid: string;
  /** Name. */
  display_name?: string;
  /** Email address. */
  email?: string;
  /** URL of a picture. */
  photo_url?: string;
}

/** A run. */
export interface RunItem {
  /** The run's id. */
  run_id: string;
  /**
   * Same as `run_id`.
   * @deprecated
   */
  task_id: string;
  /** Title in lists. */
  title: string;
  state: RunState;
  /** The task for the agent. Empty if the run has only a skill. */
  prompt: string;
  /** True in a list if `prompt` is shortened. Get the run for the complete prompt. */
  prompt_truncated?: boolean;
  /** When it was created. */
  created_at: Timestamp;
  /** When the run last changed. */
  updated_at: Timestamp;
  /** When a worker first claimed the run. */
  started_at?: NullableTimestamp;
  /** When the run ended. Absent while it is active. */
  finished_at?: Timestamp;
  /** Total time of its executions, as an ISO 8601 duration. */
  run_time?: string;
  /** Number of the current execution. A follow-up to an ended run starts the next one. */
  execution_id: number;
  /** Position in the queue, from 1, while QUEUED. */
  queue_position?: number;
  /** The factory that the run belongs to. */
  factory_uid?: string;
  /** The parent run. */
  parent_run_id?: string;
  /** The run at the root of the tree. */
  root_run_id?: string;
  /** Depth in the tree. Absent for the root. */
  depth?: number;
  status_message?: RunStatusMessage;
  source?: RunSourceType;
  /** The agent's session. */
  session_id?: string;
  /** URL of the run's live page. */
  session_link?: string;
  /** URL of the resource that triggered the run. */
  trigger_url?: string;
  /** The creator. */
  creator?: RunCreatorInfo;
  /** The user or service account that the run acts as. */
  executor?: RunCreatorInfo;
  /** The configuration that the run was created with, with all defaults resolved. */
  agent_config?: AmbientAgentConfig;
  /**
   * The source of each key of `agent_config`. Secrets and MCP servers that a factory adds to those from another
   * source are listed as `secrets/NAME` and `mcp_servers/NAME`.
   */
  agent_config_sources?: Record<string, Open<'request' | 'parent' | 'automation' | 'agent' | 'factory' | 'server' | 'skill' | 'event'>>;
  agent_skill?: AgentSkill;
  mode?: RunMode;
  /** Whether the session stays open for follow-ups after a turn. */
  interactive?: boolean;
  /** The conversation. */
  conversation_id?: string;
  metadata?: Metadata;
  /** Whether the sandbox is running. */
  is_sandbox_running?: boolean;
  /** Whether runs of this type can be cancelled. Always true on this server. */
  is_run_type_cancellable?: boolean;
  execution_location?: ExecutionLocation;
  /** Artifacts of the run. */
  artifacts?: ArtifactItem[];
  schedule?: RunSchedule;
  scope?: Scope;
  request_usage?: RequestUsage;
  /** What the run has provably done. Absent until a worker has executed it. In a list, a run that waits for a worker or is at one has none: get the run to have it counted. */
  evidence?: RunEvidence;
  /** Whether the agent ended its work without doing anything: it took no action, changed no file and has no output, or every action failed. The run is SUCCEEDED, or FAILED with `agent_did_nothing` if its automation has `on_hollow: fail`. Absent if not. */
  hollow?: boolean;
  /** Why the run is hollow, in a sentence. */
  hollow_reason?: string;
  /** What the events of the run are about, such as `acme/shop#7`. Absent without a subject. */
  subject?: string;
  /** Unique id of the subject, for `GET /subjects/{uid}`. Absent if each event has a run of its own. */
  subject_uid?: string;
  /** How many events about it the run has received. */
  events_count?: number;
  /** The run on the same subject that ended before this one. */
  continues?: string;
  /** The turn of another run whose files and conversation this run began with. */
  forked_from?: ForkedFrom;
  /** What runs of one fork, or the attempts of one request, have in common, for `GET /agent/fork-groups/{forkGroup}`. */
  fork_group?: string;
  /** What the run waits for now, or what waits in a run that works. Computed for each response. Absent if nothing waits. */
  waiting?: RunWaiting;
  /** Set while the run works, but has had no event for the `stall_after` of its environment or of the server. The next event of the agent removes it. */
  stalled?: RunStalled;
  /** Whether every sandbox of the run so far was proved to be sealed: it has no credentials, and no way out except the allowed ones. Absent until the first check. */
  sealed?: boolean;
  /** The part of the policy that was fixed when the run was created: the layers of its runner, factory, agent and MCP servers. `GET /agent/runs/{runId}/network` adds those of the server and the environment. */
  network?: NetworkPolicy;
}

/** A time, or null if not set. */
export type NullableTimestamp = string | null;

/** The skill of a run. */
export interface AgentSkill {
  /** Name. */
  name?: string;
  /** Description. */
  description?: string;
  /** Path in its repository or in the factory's files. Not together with `bundled_skill_id`. */
  full_path?: string;
  /** Id of the bundled skill. */
  bundled_skill_id?: string;
}

/** The schedule that started a run. */
export interface RunSchedule {
  /** Unique id. */
  schedule_id: string;
  /** Name of the schedule when the run was created. */
  schedule_name: string;
  /** Cron expression of the schedule when the run was created. */
  cron_schedule: string;
}

/** Who sees the resource. */
export interface Scope {
  /** A user or the team. */
  type: Open<'User' | 'Team'>;
  /** Unique id of the user or team. */
  uid?: string;
}

/** What a run has provably done, over all its executions. It is counted from what the server stores. */
export interface RunEvidence {
  /** Prompts and follow-ups that the agent received. */
  turns: number;
  /** Calls of models through the model gateway. */
  model_calls: number;
  /** Tool calls of the agent. */
  actions: number;
  /** Actions whose last result is a failure or a denial. */
  failed_actions: number;
  /** Files that differ from the commit that was checked out. */
  files_changed: number;
  /** Stored artifacts (PLAN, FILE, SCREENSHOT), and pull requests that the proxy observed. A claimed pull request, a reference, or an answer in words is not an output. */
  outputs: number;
}

/** What a run waits for, and what ends the wait. */
export interface RunWaiting {
  /** `worker`: no connected worker can execute it. `slot`: such workers are busy, or other runs are before it. `worker_return`: its worker is silent. `budget`: a budget has no room. `answer`: its agent has a question, or was interrupted. `followup`: its session is open, and has no turn. `turn`: the run works, and follow-ups wait until the turn ends. */
  for: Open<'worker' | 'slot' | 'worker_return' | 'budget' | 'answer' | 'followup' | 'turn'>;
  /** What it waits for, in a sentence. */
  message: string;
  /** What ends the wait, in a sentence. */
  ends_when: string;
}

/** Since when a run has stalled. */
export interface RunStalled {
  /** When the time without an event was over. */
  since: Timestamp;
  /** The last event before. The text of an unfinished message may no longer be in the log. */
  last_event: {
    /** Number of the event. */
    seq: number;
    /** Type of event. */
    type: string;
    /** When it happened. */
    at: Timestamp;
  };
}

/** The run's usage so far. A cost without a known price is absent. */
export interface RequestUsage {
  /** Input and output tokens. */
  total_tokens?: number;
  /** Cost of the model. */
  inference_cost?: number;
  /** Cost of the machine. */
  compute_cost?: number;
  /** Cost of the platform. */
  platform_cost?: number;
  /** Cost of the model in US dollars. */
  inference_cost_usd?: number;
  /** Cost of the model in US dollars, by kind of token. */
  inference_cost_breakdown_usd?: {
    /** Cost of input tokens in US dollars. */
    input_cost_usd: number;
    /** Cost of tokens read from the provider's cache, in US dollars. */
    input_cache_read_cost_usd: number;
    /** Cost of tokens written to the provider's cache, in US dollars. */
    input_cache_write_cost_usd: number;
    /** Cost of output tokens in US dollars. */
    output_cost_usd: number;
  };
}

/** A run's id. */
export interface RunReference {
  /** The run's id. */
  run_id: string;
}

/**
 * How a run is executed. An omitted field is taken from the automation, the agent, the factory or the server, in
 * this order.
 */
export interface AmbientAgentConfig {
  /** A label to group and filter runs by. Defaults to the name of the skill, if the run has one skill. */
  name?: string | undefined;
  /** The model: an id from `GET /agent/models`, or an alias that the server defines. `auto`, and `auto-*` if it is not an alias, means the server's default model. */
  model_id?: string | undefined;
  /** Instructions that come before the prompt. */
  base_prompt?: string | undefined;
  /** The environment to work in. */
  environment_id?: string | undefined;
  /**
   * The runner: a name of `runners` in the files of the agent's factory. Its setup commands run before the
   * environment's, and its image replaces the environment's. If no worker has its platform, the run waits and
   * its status message says so.
   */
  runner_id?: string | undefined;
  /**
   * The skill to run. Not together with `skills`. A bare name is looked up in the run's agent, then its factory,
   * then the bundled skills (by id), then the environment's repositories. The other formats
   * (`owner/repo:path/SKILL.md`, `owner/repo:name`, `repo:name`) refer to a repository. The name of a skill is
   * the one in the front matter of its SKILL.md, or else the name of its folder. At most 1,024 bytes. In
   * responses it is also the entry of `skills`, if there is only one.
   */
  skill_spec?: string | undefined;
  /** Skills available to the run, in addition to those of the agent and its factory. In the format of `skill_spec`, and not together with it. */
  skills?: string[] | undefined;
  /** MCP servers for the agent, by name. */
  mcp_servers?: Record<string, MCPServerConfig> | undefined;
  harness?: Harness | undefined;
  /** Names of managed secrets with the harness's credentials, such as `claude_auth_secret_name`. */
  harness_auth_secrets?: Record<string, string> | undefined;
  /** Whether the workspace may come from what an earlier run of the environment has prepared. `false` prepares everything anew. */
  prebuild?: boolean | undefined;
  /**
   * Repositories that the run works on, in addition to those of its environment. Without the list, the run has
   * the one of its automation, agent or factory; an empty list means none. The same URL and ref is cloned once.
   * If the environment has the repository at another ref, the ref of the run applies; without a ref, the
   * environment's. Private ones are read with the credentials of the run's network, as far as its rules allow
   * the repository's path, or, at GitHub, with the run's secret `GITHUB_TOKEN` or `GH_TOKEN`. Other URLs than
   * `https://` are read with the worker's own ssh key or files, and require the scope `secrets:use`. The key of
   * an agent can name only what the network of the run allows.
   */
  repositories?: RunRepository[] | undefined;
  /** Minutes that an interactive session stays open after a turn. 0 ends it with the turn. */
  idle_timeout_minutes?: number | undefined;
  /** The self-hosted worker to run on. The run waits until it is connected. `warp` (hosted execution) means any worker, and the timeline shows `any_worker`. */
  worker_host?: string | undefined;
  /**
   * What the run may do on the forges of its repositories. A request can only narrow what the layers of the run
   * allow: a branch must match `branches` of both, `add` adds protected paths that no exception lifts, `except`
   * can only repeat exceptions of the layers, and a limit can only be lower. The base of a pull request must
   * match `base` of both, labels and reviewers can only be left out, and `draft`, `approval` and `status` can
   * only go towards `true`, `always` and `none`. Every other value is an error.
   * Unlike other unknown fields, unknown ones below `forge` are errors, too. A run has the values of all layers
   * here, and in `policy` and `output_policy` what they mean together. A child run keeps to the policy of its parent, and a run that
   * the key of an agent creates keeps to that of the agent.
   */
  forge?: ForgeSettings | undefined;
  /** What anyone with the run's link may do. */
  session_sharing?: {
    /** Whether the link allows watching only, or also steering. */
    public_access?: Open<'VIEWER' | 'EDITOR'>;
  } | undefined;
  /** Memory stores for the agent, each once. Stored and returned, but not used: this server has no memory stores. */
  memory_stores?: MemoryStoreRef[] | undefined;
  /** Settings of model providers. Stored and returned, but not used: the server's own settings apply. */
  inference_providers?: {
    /** Settings of AWS Bedrock. */
    aws?: {
      /** Whether AWS Bedrock is disabled. */
      disabled?: boolean;
      /** AWS region. */
      region?: string;
      /** ARN of the role to assume. */
      role_arn?: string;
    };
  } | undefined;
  /** Whose credentials the run uses. Defaults to the executor's. */
  credential_strategy?: Open<'CREATOR' | 'EXECUTOR'> | null | undefined;
  /** Whether the agent may use a screen. */
  computer_use_enabled?: boolean | undefined;
  /** The model for computer use. */
  computer_use_model_id?: string | undefined;
  /** Maximum minutes of one execution. Beyond it the run ends FAILED. */
  max_duration_minutes?: number | undefined;
  /** Maximum usage of the run. Beyond it the run ends FAILED. */
  budget?: {
    /** Input and output tokens. 0 means no limit. */
    max_total_tokens?: number;
    /** Cost of the model in US dollars. 0 means no limit. */
    max_cost_usd?: number;
  } | undefined;
  /**
   * Environment variables of the sandbox. The built-in agent passes them to commands and MCP servers. If the
   * server provides a harness with API keys, variables that could redirect the keys or load other code are not
   * allowed, such as `HTTPS_PROXY`, `SSL_CERT_FILE`, `NODE_OPTIONS` or `LD_PRELOAD`.
   */
  env?: Record<string, string> | undefined;
  /**
   * Names of managed secrets for the run. Each becomes an environment variable, and is masked in everything that
   * is recorded. A request can also use an object with a `name`. Requires the scope `secrets:use`.
   */
  secrets?: string[] | undefined;
  /**
   * Narrows what the run may reach. The run then reaches only the hosts that both this and its layers allow.
   * Without it, the layers decide. An empty object allows nothing. Rules cannot have credentials. A child run
   * keeps to the network of its parent. In `env`, variables that the sandbox or a preset sets, such as
   * `HTTPS_PROXY`, return 400.
   */
  network?: Network | undefined;
}

/** What runs may do on the forges of their repositories. */
export interface ForgeSettings {
  push?: PushSettings | undefined;
  outputs?: OutputSettings | undefined;
  followups?: FollowupSettings | undefined;
  policy?: PushPolicy | undefined;
  output_policy?: OutputPolicy | undefined;
}

/**
 * What runs may push. A value that no layer sets has its default. Patterns match a whole name. `**` as a segment
 * matches any number of segments, `*` any text in a segment, and `?` one character of a segment.
 */
export interface PushSettings {
  /** Patterns of branches. An empty list allows no branch. The default is `penstock/**`. */
  branches?: string[] | undefined;
  protected_paths?: PathProtection | undefined;
  limits?: PushBounds | undefined;
  /** Whether a push with a secret in a new commit is refused. The default is `refuse`. */
  secrets?: Open<'refuse' | 'off'> | undefined;
}

/** What runs may do on forges besides pushing. A value that no layer sets has its default. */
export interface OutputSettings {
  pull_request?: PullRequestSettings | undefined;
  limits?: OutputBounds | undefined;
  /**
   * Which outputs wait until a person releases them: `always` all. The default is `protected`. The outputs of a
   * fork always wait.
   */
  approval?: Open<'never' | 'protected' | 'always'> | undefined;
  /**
   * Whether one comment in the issue or pull request whose event has started a run says how it is. The default
   * is `comment`.
   */
  status?: Open<'comment' | 'none'> | undefined;
}

/** What of a forge continues runs that have opened a pull request. */
export interface FollowupSettings {
  /** How many commits of a run whose checks fail it is told of, without a person in between. Then a person is asked. The default is 3. 0: none. */
  checks?: number | undefined;
}

/** The pull requests of runs. */
export interface PullRequestSettings {
  /**
   * How many pull requests of the factory may be open. At this number, automations start no runs, and runs
   * cannot declare more. The default is 5. 0 allows none.
   */
  open_limit?: number | undefined;
  /** Patterns of the branches that a pull request may be against. An empty list, the default, means the ref of the repository in the run, or its default branch. */
  base?: string[] | undefined;
  /** Whether a pull request is a draft unless its declaration says otherwise. The default is `true`. */
  draft?: boolean | undefined;
  /** Labels of new pull requests, besides the one of the factory. */
  labels?: string[] | undefined;
  /** Who is asked to review a new pull request: logins, or owner/team. */
  reviewers?: string[] | undefined;
}

/** How many outputs a turn can declare. All kinds together are at most 20. */
export interface OutputBounds {
  /** Pull requests. The default is 1. 0 allows none. */
  pull_request?: number | undefined;
  /** Comments. The default is 3. 0 allows none. */
  comment?: number | undefined;
}

/** How many outputs a turn can declare. */
export interface OutputLimits {
  /** Pull requests. */
  pull_request: number;
  /** Comments. */
  comment: number;
}

/**
 * Which outputs a run may declare, and what happens to them. Set by the server when the run is created, and
 * ignored in requests. It is absent from a run for which nothing is set, and which has the defaults.
 */
export interface OutputPolicy {
  /** How many pull requests of the factory may be open. */
  open_limit: number;
  /** Lists of patterns. A base must match one pattern of each list. An empty list means the ref of the repository in the run, or its default branch. */
  base: string[][];
  /** Whether a pull request is a draft unless its declaration says otherwise. */
  draft: boolean;
  /** Labels of new pull requests, besides the one of the factory. */
  labels?: string[] | undefined;
  /** Who is asked to review a new pull request. */
  reviewers?: string[] | undefined;
  limits: OutputLimits;
  /** Which outputs wait until a person releases them. */
  approval: Open<'never' | 'protected' | 'always'>;
  /** Whether one comment in the issue or pull request whose event has started the run says how it is. Absent: none. */
  status?: Open<'comment' | 'none'> | undefined;
  followups?: FollowupPolicy | undefined;
}

/** What of a forge continues the run. Absent if nothing does. */
export interface FollowupPolicy {
  /** How many commits whose checks fail the run is told of, without a person in between. */
  checks: number;
}

/** Paths that a push must not change, in upper or lower case. */
export interface PathProtection {
  /** What happens to a push that changes a protected path. The default is `refuse`. */
  policy?: Open<'refuse' | 'allow'> | undefined;
  /** Patterns of protected paths, in addition to the default ones. */
  add?: string[] | undefined;
  /** Patterns of paths that are not protected. */
  except?: string[] | undefined;
}

/** How much a push may change, compared with the base branch. */
export interface PushBounds {
  /** Changed files. The default is 300. */
  files?: number | undefined;
  /** Bytes of all changed files. The default is 10 MiB. */
  bytes?: number | undefined;
  /** Bytes of one binary file. The default is 1 MiB. 0 allows none. */
  binary?: number | undefined;
}

/** How much a push may change. */
export interface PushLimits {
  /** Changed files. */
  files: number;
  /** Bytes of all changed files. */
  bytes: number;
  /** Bytes of one binary file. */
  binary: number;
}

/**
 * What a run may push. Set by the server when the run is created, and ignored in requests. It is absent from a run
 * for which nothing is set, and which has the defaults.
 */
export interface PushPolicy {
  /** Lists of patterns. A branch must match one pattern of each list. */
  branches: string[][];
  /** Patterns of protected paths, unless a pattern of `except` matches, too. */
  protected?: string[] | undefined;
  /** Patterns of paths that are not protected. */
  except?: string[] | undefined;
  /** Patterns of paths that are protected in any case. They come from requests. */
  always?: string[] | undefined;
  limits: PushLimits;
  /** Whether new commits are not searched for secrets. */
  allow_secrets?: boolean | undefined;
}

/**
 * What runs may reach besides their models. A run may reach what the network of the server, its environment, its
 * runner, its factory or its agent allows, within the ceiling that the operator sets.
 */
export interface Network {
  /** Rules. A request is allowed if one of them allows it. */
  allow?: NetworkRule[] | undefined;
  /** Tools of model providers that reach the network themselves, such as `web_search`. Tools that are not listed are refused. */
  provider_tools?: string[] | undefined;
  /** Bytes that a run may send to all hosts together. 0 means no limit. */
  max_upload_bytes?: number | undefined;
}

/** Allows a preset or a host. Exactly one of `preset` and `host` is set. The other fields go with `host`. */
export interface NetworkRule {
  /** Hosts that belong together, such as `packages`. */
  preset?: string | undefined;
  /** A host name in lower case and ASCII, `*.example.com` for all names below example.com, or an IP address. */
  host?: string | undefined;
  /** Ports. 80 and 443 if absent. */
  ports?: number[] | undefined;
  /** HTTP methods in capital letters. All if absent. With methods, paths or a credential, the proxy reads the requests. */
  methods?: string[] | undefined;
  /** Paths that begin with `/`, with `*` at the end for the rest. All if absent. */
  paths?: string[] | undefined;
  credential?: NetworkCredential | undefined;
}

/**
 * A managed secret that the proxy puts into each request to the host, over TLS. The secret must list the host. The
 * sandbox never has it, neither in a variable nor in a file or in memory.
 */
export interface NetworkCredential {
  /** Name of the managed secret. */
  secret: string;
  /** How the request carries it. */
  as: Open<'basic' | 'bearer' | 'header'>;
  /** The user, with `basic` only. Defaults to `x-access-token`. */
  user?: string | undefined;
  /** Name of the header, with `header` and only then. */
  header?: string | undefined;
}

/** Limits the models of runs. A model must be allowed by the server, the factory and the agent. */
export interface ModelPolicy {
  /** Ids of models, such as `anthropic/claude-sonnet-5-5`. An entry without a slash, such as `claude-*`, stands for the models of that name at every provider. `*` at the end stands for the rest. All if absent. */
  allow?: string[] | undefined;
}

/** What decides about the network of a run. */
export interface NetworkPolicy {
  /** The layers. A request is allowed if one of them allows it. */
  layers: NetworkLayer[];
  /** The most that the operator of the server allows. If absent, every public host. */
  ceiling?: Network;
  /** The `network` of the request. It narrows the layers. */
  request?: Network;
  /** The policies of server, factory and agent. A model must be allowed by each. */
  models?: ModelPolicy[];
  /** The hosts that may get a managed secret, by its name. Only in the response of `GET /agent/network`. */
  secret_hosts?: Record<string, string[]>;
}

/** What one source allows. */
export interface NetworkLayer {
  /** The source. `mcp_servers` has the hosts of the run's own HTTP MCP servers, and `forge` the repositories that a connection lets it read. */
  source: Open<'server' | 'environment' | 'runner' | 'factory' | 'agent' | 'mcp_servers' | 'forge'>;
  /** Its name, if it has one. */
  name?: string;
  network: Network;
}

/** The harness: the program that runs the agent. */
export interface Harness {
  /** `builtin` (the default; `oz` is an alias), `claude`, `codex`, `gemini`, `opencode`, `qwen`, `command`, or a name from the server's configuration. An unknown type returns 400. */
  type?: string | undefined;
  /** The model for the harness. */
  model_id?: string | undefined;
  /** Reasoning effort, for harnesses that have such a setting. */
  reasoning_level?: string | undefined;
}

/**
 * An MCP server. Set exactly one of `id`, `command` and `url`. Values of `env` and `headers` can refer to a
 * managed secret as `${{ secrets.NAME }}`. This server does not manage MCP servers: it skips one with an `id`, and
 * the run's timeline shows `mcp_server_not_used`.
 */
export type MCPServerConfig = MCPServerConfigFields & (
  | Required<Pick<MCPServerConfigFields, 'id'>>
  | Required<Pick<MCPServerConfigFields, 'warp_id'>>
  | Required<Pick<MCPServerConfigFields, 'command'>>
  | Required<Pick<MCPServerConfigFields, 'url'>>
);

/** The fields of {@link MCPServerConfig}, of which some are required. */
export interface MCPServerConfigFields {
  /** Id of a managed MCP server. */
  id?: string | undefined;
  /**
   * Alias of `id` in requests. Never in responses.
   * @deprecated
   */
  warp_id?: string | undefined;
  /** A program to start inside the sandbox. */
  command?: string | undefined;
  /** Arguments. */
  args?: string[] | undefined;
  /** Environment variables. */
  env?: Record<string, string> | undefined;
  /** URL of a remote server. */
  url?: string | undefined;
  /** Headers to send to it. */
  headers?: Record<string, string> | undefined;
  /** Whether the run ends if the server does not start or stops working. Otherwise the run continues without it: the timeline shows `mcp_server_failed`, and the agent is told. This applies to all servers of the built-in agent, and to those with a `command` of agents that speak ACP. Such agents connect to a `url` themselves, so the worker does not see its failures. */
  required?: boolean | undefined;
}

/** What a run may reach, and what it reached. */
export interface RunNetwork {
  /** Whether every sandbox of the run so far was proved to be sealed. Absent until the first check. */
  sealed?: boolean;
  policy: NetworkPolicy;
  /** Hosts, by name. At most 1,000 for each execution. */
  hosts: NetworkHost[];
}

/** What all executions of a run exchanged with a host. */
export interface NetworkHost {
  /** The host. */
  host: string;
  /** The port. */
  port: number;
  /** How it was reached. `tunnel`: TLS passed through. `inspect`: the proxy read the requests. `http`: without TLS. `model`: through the model gateway. `refused`: not at all. */
  mode: Open<'tunnel' | 'inspect' | 'http' | 'model' | 'refused'>;
  /** Requests. In a tunnel, connections. */
  requests: number;
  /** Bytes to the run. */
  bytes_in: number;
  /** Bytes from the run. */
  bytes_out: number;
  /** Requests that were refused. */
  refused: number;
  /** Reason of the latest refusal. */
  reason?: string;
}

/** What a run has changed in its repositories. */
export interface RunChanges {
  /** End of the turn that changed it last. Absent until a turn with a repository has ended. */
  updated_at?: Timestamp;
  /** The repositories, in the order of the environment, then of the run. */
  repositories: RepositoryChanges[];
}

/** What a run has changed in one repository. */
export interface RepositoryChanges {
  /** Name of its directory in the workspace, unique within the run. */
  name: string;
  /** URL of the repository, without credentials. */
  url: string;
  /** Id of the commit that was checked out, to which `git apply` applies the patch. Absent if it is unknown, or if the branch had no commits. */
  base?: string;
  /** Branch that the repository is on at the end of the turn. Absent without a branch. */
  branch?: string;
  /** Why the changes could not be computed. Otherwise, it is absent. */
  error?: string;
  /** The changed files, by path. At most 1,000. */
  files: FileChange[];
  /** Number of further changed files. They are not in the patch either. */
  files_omitted?: number;
  /** Whether the patch lacks files. They are marked or omitted. */
  truncated?: boolean;
  /** Where the patch is. It needs an API key, like every request. Absent without a patch. */
  patch_url?: string;
}

/** A changed file. */
export interface FileChange {
  /** Path in the repository. Bytes that are not UTF-8 are replaced by U+FFFD. */
  path: string;
  /** Path of a renamed file in the commit. */
  previous_path?: string;
  /** What happened to the file. */
  status: Open<'added' | 'modified' | 'deleted' | 'renamed'>;
  /** Added lines. 0 for a binary file. */
  additions: number;
  /** Removed lines. 0 for a binary file. */
  deletions: number;
  /** Whether the file is binary. The patch then has it as a `GIT binary patch`. */
  binary: boolean;
  /** Whether the patch lacks the file: it is too large, or `git apply` would refuse its part, for example because it has a masked secret of the commit. */
  truncated?: boolean;
}

/** A run's timeline. */
export interface TimelineResponse {
  /** The events, oldest first. */
  events: TimelineEvent[];
}

/** An event in a run's lifecycle, outside the agent. */
export interface TimelineEvent {
  /** Unique id. */
  event_uuid: string;
  /** The run. */
  run_id: string;
  /** The execution that the event belongs to, if any. */
  execution_id?: number;
  /** Type of event. */
  event_type: Open<'run_created' | 'run_claimed' | 'worker_container_ready' | 'shared_session_started' | 'agent_started' | 'run_blocked' | 'run_done' | 'run_failed' | 'run_errored' | 'run_cancelled' | 'vm_shutdown' | 'followup_received' | 'followup_delivered' | 'followup_undelivered' | 'interrupt_requested' | 'turn_interrupted' | 'changes_saved' | 'setup_step' | 'image_not_used' | 'unborn_branch' | 'skill_note' | 'image_ready' | 'run_requeued' | 'workspace_reused' | 'workspace_ready' | 'push_accepted' | 'push_refused' | 'output_declared' | 'output_held' | 'output_approved' | 'output_waiting' | 'output_done' | 'output_failed' | 'output_discarded' | 'workspace_restored' | 'workspace_not_restored' | 'checkpoint_skipped' | 'checks_failed' | 'status_not_shown' | 'rewound' | 'any_worker' | 'mcp_server_not_used' | 'mcp_server_failed' | 'sandbox_verified' | 'network_denied' | 'budget_threshold' | 'pod_created' | 'pod_waiting' | 'pod_started' | 'pod_lost' | 'run_stalled' | 'stall_ended'>;
  /** When it happened. */
  occurred_at: Timestamp;
  /** Details, by type. `setup_step` has the command, its exit code and last output. `image_ready` has the container `image` of the run, its `digest`, whether it was `pulled` (otherwise it was in the worker's cache), its unpacked size in `bytes` and the `duration_ms`. `workspace_ready` says what a new workspace was prepared `from`: a `layer` that an earlier run has left (its `prebuild_uid`, `age_seconds`, and `commits_behind` of the repositories), or `cold` with the `reason`; which `commands` ran (`skipped`, `updated`, `all`), the `changed_inputs` that made them necessary, the `duration_ms`, and the layer that it became for later runs (`sealed_uid`) or why it did not (`not_kept`, `secret_in_layer` with a `file` and the name of a `secret`). `workspace_restored` says that a new workspace has the files of a saved turn: its `checkpoint_uid` and `turn`, how many `files` and `bytes` they are, whether later turns have ended whose files could not be saved (`later_turns_lost`), and whether the setup commands had to run again below them (`prepared_again`). `workspace_not_restored` has the `turn` whose saved files are damaged or gone, and the `reason`; the run continues without them. `checkpoint_skipped` has the `reason` why the files of a turn were not saved, with `bytes`, `limit` and the `largest` folders if they are too many. `rewound` has the `turn` that the run went back to, the `message_id` of its message, and who did it (`by`). `push_accepted` says that the run has pushed to a `branch` of a `repository` on a forge: the commit `before` (empty for a new branch) and `after`, the number of new `commits`, and whether commits were `forced` away. `push_refused` has the same names and the `reason`. Events of an output (`output_declared`, `output_held` until a person releases it, `output_approved`, `output_waiting` for the forge, `output_done`, `output_failed`, `output_discarded`) have its `output_uid` and `kind`, the `repository` and `connection`, then the `pull_request` and `url`, and a `problem`. `checks_failed` says that checks of a `commit` which the run has pushed for a `pull_request` of a `repository` have failed: how many have `failed` of `all`, and the names of the first ones in `checks`; a follow-up or a question comes with it. `status_not_shown` says that a forge refuses the comment about the run below the issue or pull request `number` of a `repository`, with the `problem`. `image_not_used` has the `image`, `instance_shape` and `runner` that the worker's sandbox does not support, with a `reason` for an image. `skill_note` has the name of a `skill` and `notes` about what is odd in its SKILL.md, or why the skill is left out. `unborn_branch` has the `repository` that was checked out without files, because its `branch` has no commits, and `branches` that exist instead; set `ref` of the repository to one of them. `changes_saved` sums up what the run has changed so far: the numbers of `repositories`, `files`, `additions` and `deletions`, and `errors` if something could not be computed. `any_worker` has the requested `worker_host`. `mcp_server_not_used` has the `name` and `id` of the server. `mcp_server_failed` has the `name` of a server that did not start or stopped working, and the `reason`. `sandbox_verified` is the check before the agent starts, with the `sandbox`, what was `checked` and its `duration_ms`. `network_denied` comes once for each host that the policy refused, with `host`, `port` and `reason`. `budget_threshold` comes once for each value of `notify_at` that a budget reaches in a period, on the run whose call reached it, with `budget_uid`, `budget_name`, `notify_at`, `spent_usd` and `cap_usd`. If a launcher executes the run in a Pod, `pod_created` has its `namespace`, `job` and `image`, `pod_waiting` has the `reason` and `message` of what keeps the Pod from starting, each time it changes (`Starting` follows a reason that no longer holds), `pod_started` has the `worker_host` and `sandbox` of the worker in the Pod, and `pod_lost` has the `reason` and `message` of the end of the Pod, if it was not the end of the run. `run_stalled` has the values of `stalled` of the run, and `stall_ended` the `since`; an event that ends the work of a stalled run has it as `stalled_since`. */
  payload?: Record<string, unknown>;
}

/** The messages and actions of a run. */
export interface Conversation {
  /** Unique id. */
  conversation_id: string;
  /** Steps, in order. */
  steps: ConversationStep[];
}

/** A prompt and the agent's work on it. */
export interface ConversationStep {
  /** Id within the conversation. */
  id: string;
  /** What the step is about. */
  description?: string;
  /** Summary of the result. */
  summary?: string;
  /** When it started. */
  started_at?: Timestamp;
  /** When it ended. */
  completed_at?: Timestamp;
  /** Messages, in order. */
  messages: ConversationMessage[];
  /** True if the run went back to an earlier turn since, so that the agent does not know this one. */
  superseded?: boolean;
  /** Nested steps, such as those of a subagent. */
  steps: ConversationStep[];
}

/** A message of a conversation. */
export interface ConversationMessage {
  role: MessageRole;
  /** Content blocks, in order. */
  content: ContentBlock[];
  /** Time of the message. */
  timestamp?: Timestamp;
  /** Ids of the live messages that it combines. */
  message_ids?: string[];
  /** Id of the model request that produced it. */
  request_id?: string;
}

/** Author of the message. */
export type MessageRole = Open<'user' | 'assistant' | 'tool' | 'system'>;

/** A part of a message. */
export type ContentBlock = TextBlock | ActionBlock | ActionResultBlock | EventBlock | Unrecognized<'type', { message_id?: string }>;

/** Text. An agent's text is Markdown. */
export interface TextBlock {
  /** Always `text`. */
  type: 'text';
  /** The text. */
  text: string;
  /** Id of the live message that contained the block. */
  message_id?: string;
}

/** An action of the agent. */
export interface ActionBlock {
  /** Always `action`. */
  type: 'action';
  /** Id of the action. Its results refer to it. */
  id: string;
  category: ActionCategory;
  /** Kind of action, such as `run_command`, `read_files`, `edit_files`, `search_files`, `call_mcp_tool`, `read_skill` or `create_artifact`. */
  name: string;
  /**
   * Input of the action, with secrets masked. Its format depends on `name`. A `read_skill` has `skill_path`, the
   * path that was used to find the skill, and for a bundled skill `bundled_skill_id`. The path alone does not
   * prove where the skill comes from.
   */
  input: Record<string, unknown>;
  /** Id of the live message that contained the block. */
  message_id?: string;
}

/** The state or result of an action. A later result of the same action replaces an earlier one. */
export interface ActionResultBlock {
  /** Always `action_result`. */
  type: 'action_result';
  /** The action's `id`. */
  action_id: string;
  category: ActionCategory;
  /** The action's `name`. */
  name: string;
  /** Current state. */
  state: Open<'running' | 'completed' | 'failed' | 'denied'>;
  /** Output so far, with secrets masked. Its format depends on `name`. */
  output: Record<string, unknown>;
  /** Id of the live message that contained the block. */
  message_id?: string;
}

/** Any other event that a harness reports. */
export interface EventBlock {
  /** Always `event`. */
  type: 'event';
  /** Name of the event. `followup_undelivered` marks the message of a follow-up that the agent never received. `attachments` lists the files of a follow-up. */
  name: string;
  /** Details of the event, with secrets masked. */
  data: Record<string, unknown>;
  /** Id of the live message that contained the block. */
  message_id?: string;
}

/** Category of an action. */
export type ActionCategory = Open<'command' | 'files' | 'search' | 'integration' | 'documents' | 'computer' | 'review' | 'skill'>;

/** One event of a run's stream. */
export type RunEvent = RunStateEvent | RunMessageEvent | RunMessageDeltaEvent | RunActionEvent | RunActionResultEvent | RunPlanEvent | RunUsageEvent | RunArtifactEvent | RunTimelineEvent | RunDoneEvent | Unrecognized<'event', { id?: number; data: unknown }>;

/** The run's state changed. */
export interface RunStateEvent {
  /** Sequence number in the run. */
  id: number;
  /** Always `state`. */
  event: 'state';
  data: StateChange;
}

/** A message is complete. */
export interface RunMessageEvent {
  /** Sequence number in the run. */
  id: number;
  /** Always `message`. */
  event: 'message';
  data: LiveMessage;
}

/** More text of a message that is being generated. */
export interface RunMessageDeltaEvent {
  /** Sequence number in the run. */
  id: number;
  /** Always `message_delta`. */
  event: 'message_delta';
  data: MessageDelta;
}

/** The agent performs an action. */
export interface RunActionEvent {
  /** Sequence number in the run. */
  id: number;
  /** Always `action`. */
  event: 'action';
  data: ActionBlock;
}

/** The state or result of an action. */
export interface RunActionResultEvent {
  /** Sequence number in the run. */
  id: number;
  /** Always `action_result`. */
  event: 'action_result';
  data: ActionResultBlock;
}

/** The agent's plan changed. The data is the whole plan. */
export interface RunPlanEvent {
  /** Sequence number in the run. */
  id: number;
  /** Always `plan`. */
  event: 'plan';
  data: Plan;
}

/** The run's usage changed. */
export interface RunUsageEvent {
  /** Sequence number in the run. */
  id: number;
  /** Always `usage`. */
  event: 'usage';
  data: RequestUsage;
}

/** The run created an artifact. */
export interface RunArtifactEvent {
  /** Sequence number in the run. */
  id: number;
  /** Always `artifact`. */
  event: 'artifact';
  data: ArtifactItem;
}

/** A timeline event of the run. */
export interface RunTimelineEvent {
  /** Sequence number in the run. */
  id: number;
  /** Always `timeline`. */
  event: 'timeline';
  data: TimelineEvent;
}

/**
 * The run has ended and the stream closes. This event is not in the log, so it has no `id` of its own: `id` is
 * that of the last event, or absent.
 */
export interface RunDoneEvent {
  /** The id of the last event. */
  id?: number;
  /** Always `done`. */
  event: 'done';
  data: StateChange;
}

/** The state of a run. */
export interface StateChange {
  state: RunState;
  status_message?: RunStatusMessage;
  /** The execution. Always present in a `state` event. */
  execution_id?: number;
}

/** A complete message. */
export interface LiveMessage {
  /** Id of the message. Its deltas have the same id. */
  message_id: string;
  role: MessageRole;
  /** Content blocks, in order. */
  content: ContentBlock[];
  /** Time of the message. */
  timestamp?: Timestamp;
  /** Id of the model request that produced it. */
  request_id?: string;
}

/** A part of a message. */
export interface MessageDelta {
  /** Id of the message. */
  message_id: string;
  role: MessageRole;
  /** Text to append to the previous deltas. */
  text: string;
}

/** The agent's plan. */
export interface Plan {
  /** Steps, in order. */
  entries: PlanEntry[];
}

/** One step of a plan. */
export interface PlanEntry {
  /** The task. */
  content: string;
  /** Current state. */
  status: Open<'pending' | 'in_progress' | 'completed'>;
  /** Priority of the task. */
  priority: Open<'high' | 'medium' | 'low'>;
}

/** The attachments of a run. */
export interface HandoffAttachmentsResponse {
  /** The attachments. */
  attachments: HandoffAttachment[];
}

/** An attachment with a link to it. */
export interface HandoffAttachment {
  /** Unique id. */
  attachment_id: string;
  /** Name. */
  filename: string;
  /** A signed link that expires after 15 minutes. */
  download_url: string;
  /** Media type. */
  mime_type?: string;
}

/** The target of a link to a conversation. */
export interface ConversationRedirect {
  /** The active session, if there is one. */
  session_id?: string;
}

/** The target of a link to a session. */
export interface SessionRedirect {
  /** The conversation of the session. */
  conversation_id?: string;
}

/** A kind of artifact. */
export type ArtifactType = Open<'PLAN' | 'PULL_REQUEST' | 'SCREENSHOT' | 'FILE' | 'EXTERNAL_REFERENCE'>;

/** An artifact of a run. */
export type ArtifactItem = PlanArtifact | PullRequestArtifact | ScreenshotArtifact | FileArtifact | ExternalReferenceArtifact | Unrecognized<'artifact_type', { artifact_uid?: string; run_id?: string; created_at: Timestamp; data: unknown }>;

/** A plan. */
export interface PlanArtifact {
  /** Unique id. Only in the response that creates the artifact. */
  artifact_uid?: string;
  /** The run that created the artifact. Only in the response that creates it. */
  run_id?: string;
  /** Always `PLAN`. */
  artifact_type: 'PLAN';
  /** When it was created. */
  created_at: Timestamp;
  /** The content of the artifact. */
  data: {
    /** Unique id of the document. */
    document_uid: string;
    /** Unique id. */
    artifact_uid?: string;
    /** Title. */
    title?: string;
    /** URL. */
    url?: string;
  };
}

/** A pull request. */
export interface PullRequestArtifact {
  /** Unique id. Only in the response that creates the artifact. */
  artifact_uid?: string;
  /** The run that created the artifact. Only in the response that creates it. */
  run_id?: string;
  /** Always `PULL_REQUEST`. */
  artifact_type: 'PULL_REQUEST';
  /** When it was created. */
  created_at: Timestamp;
  /** The content of the artifact. */
  data: {
    /** Branch. */
    branch: string;
    /** URL. */
    url: string;
    status: PullRequestStatus;
    /** Whether the proxy of the sealed run saw the host confirm the pull request. If not, the agent or a client has reported it, and nothing has checked that. */
    observed?: boolean;
  };
}

/** State of the pull request when it was reported. `unknown` if the report did not include one. */
export type PullRequestStatus = Open<'open' | 'draft' | 'merged' | 'closed' | 'unknown'>;

/** A screenshot. */
export interface ScreenshotArtifact {
  /** Unique id. Only in the response that creates the artifact. */
  artifact_uid?: string;
  /** The run that created the artifact. Only in the response that creates it. */
  run_id?: string;
  /** Always `SCREENSHOT`. */
  artifact_type: 'SCREENSHOT';
  /** When it was created. */
  created_at: Timestamp;
  /** The content of the artifact. */
  data: {
    /** Unique id. */
    artifact_uid: string;
    /** Media type. */
    mime_type: string;
    /** File name, without folders. */
    filename?: string;
    /** Path in the workspace. */
    filepath?: string;
    /** Size in bytes. */
    size_bytes?: number;
    /** Title. */
    title?: string;
    /** Description. */
    description?: string;
  };
}

/** A file. */
export interface FileArtifact {
  /** Unique id. Only in the response that creates the artifact. */
  artifact_uid?: string;
  /** The run that created the artifact. Only in the response that creates it. */
  run_id?: string;
  /** Always `FILE`. */
  artifact_type: 'FILE';
  /** When it was created. */
  created_at: Timestamp;
  /** The content of the artifact. */
  data: {
    /** Unique id. */
    artifact_uid: string;
    /** File name, without folders. */
    filename: string;
    /** Path in the workspace. */
    filepath: string;
    /** Media type. */
    mime_type: string;
    /** Size in bytes. */
    size_bytes?: number;
    /** Title. */
    title?: string;
    /** Description. */
    description?: string;
  };
}

/** A link to an external resource. */
export interface ExternalReferenceArtifact {
  /** Unique id. Only in the response that creates the artifact. */
  artifact_uid?: string;
  /** The run that created the artifact. Only in the response that creates it. */
  run_id?: string;
  /** Always `EXTERNAL_REFERENCE`. */
  artifact_type: 'EXTERNAL_REFERENCE';
  /** When it was created. */
  created_at: Timestamp;
  /** The content of the artifact. */
  data: {
    /** Kind of reference, a word that the agent chooses. */
    reference_type: string;
    /** URL. */
    url: string;
    /** Title. */
    title?: string;
    /** Additional metadata. */
    metadata?: Record<string, unknown>;
  };
}

/** An artifact with its content or a link to it. */
export type ArtifactResponse = PlanArtifactResponse | PullRequestArtifactResponse | ScreenshotArtifactResponse | FileArtifactResponse | ExternalReferenceArtifactResponse | Unrecognized<'artifact_type', { artifact_uid: string; run_id?: string; created_at: Timestamp; data: unknown }>;

/** A plan with its text. */
export interface PlanArtifactResponse {
  /** Unique id. */
  artifact_uid: string;
  /** The run that created the artifact. */
  run_id?: string;
  /** Always `PLAN`. */
  artifact_type: 'PLAN';
  /** When it was created. */
  created_at: Timestamp;
  /** The content of the artifact. */
  data: {
    /** Unique id of the document. */
    document_uid: string;
    /**
     * Same as `document_uid`.
     * @deprecated
     */
    notebook_uid: string;
    /** Unique id. */
    artifact_uid?: string;
    /** Title. */
    title?: string;
    /** URL. */
    url?: string;
    /** Text of the plan. */
    content: string;
    /** Media type of the text. */
    content_type: string;
    /** A signed link that needs no key. */
    download_url?: string;
    /** When the link expires. */
    expires_at?: Timestamp;
  };
}

/** A pull request. */
export interface PullRequestArtifactResponse {
  /** Unique id. */
  artifact_uid: string;
  /** The run that created the artifact. */
  run_id?: string;
  /** Always `PULL_REQUEST`. */
  artifact_type: 'PULL_REQUEST';
  /** When it was created. */
  created_at: Timestamp;
  /** The content of the artifact. */
  data: {
    /** Branch. */
    branch: string;
    /** URL. */
    url: string;
    status: PullRequestStatus;
    /** Whether the proxy of the sealed run saw the host confirm the pull request. If not, the agent or a client has reported it, and nothing has checked that. */
    observed?: boolean;
  };
}

/** A screenshot with a link to it. */
export interface ScreenshotArtifactResponse {
  /** Unique id. */
  artifact_uid: string;
  /** The run that created the artifact. */
  run_id?: string;
  /** Always `SCREENSHOT`. */
  artifact_type: 'SCREENSHOT';
  /** When it was created. */
  created_at: Timestamp;
  /** The content of the artifact. */
  data: {
    /** Unique id. */
    artifact_uid: string;
    /** Media type. */
    mime_type: string;
    /** File name, without folders. */
    filename?: string;
    /** Path in the workspace. */
    filepath?: string;
    /** Size in bytes. */
    size_bytes?: number;
    /** Title. */
    title?: string;
    /** Description. */
    description?: string;
    /** A signed link that needs no key. */
    download_url: string;
    /** When the link expires. */
    expires_at: Timestamp;
    /** Media type of the linked content. */
    content_type: string;
  };
}

/** A file with a link to it. */
export interface FileArtifactResponse {
  /** Unique id. */
  artifact_uid: string;
  /** The run that created the artifact. */
  run_id?: string;
  /** Always `FILE`. */
  artifact_type: 'FILE';
  /** When it was created. */
  created_at: Timestamp;
  /** The content of the artifact. */
  data: {
    /** Unique id. */
    artifact_uid: string;
    /** File name, without folders. */
    filename: string;
    /** Path in the workspace. */
    filepath: string;
    /** Media type. */
    mime_type: string;
    /** Size in bytes. */
    size_bytes?: number;
    /** Title. */
    title?: string;
    /** Description. */
    description?: string;
    /** A signed link that needs no key. */
    download_url: string;
    /** When the link expires. */
    expires_at: Timestamp;
    /** Media type of the linked content. */
    content_type: string;
  };
}

/** A link to an external resource. */
export interface ExternalReferenceArtifactResponse {
  /** Unique id. */
  artifact_uid: string;
  /** The run that created the artifact. */
  run_id?: string;
  /** Always `EXTERNAL_REFERENCE`. */
  artifact_type: 'EXTERNAL_REFERENCE';
  /** When it was created. */
  created_at: Timestamp;
  /** The content of the artifact. */
  data: {
    /** Kind of reference, a word that the agent chooses. */
    reference_type: string;
    /** URL. */
    url: string;
    /** Title. */
    title?: string;
    /** Additional metadata. */
    metadata?: Record<string, unknown>;
  };
}

/** A plan, a pull request or a reference. */
export interface CreateArtifactRequest {
  /** Type of artifact. */
  artifact_type: 'PLAN' | 'PULL_REQUEST' | 'EXTERNAL_REFERENCE';
  /**
   * The content. PLAN: `content` (Markdown), and optionally `title` and `url`. PULL_REQUEST: `branch`, `url`,
   * and optionally `status`. EXTERNAL_REFERENCE: `reference_type`, `url`, and optionally `title` and `metadata`.
   */
  data: {
    /** Title. */
    title?: string | undefined;
    /** URL. */
    url?: string | undefined;
    /** Text of the plan. */
    content?: string | undefined;
    /** Branch. */
    branch?: string | undefined;
    /** Kind of reference, a word that you choose. */
    reference_type?: string | undefined;
    /** Additional metadata. */
    metadata?: Record<string, unknown> | undefined;
  };
}

/** A file or a screenshot. */
export interface UploadArtifactRequest {
  /** The content. `filename` and the media type default to those of the part. */
  file: Blob;
  /** Type of artifact. */
  artifact_type?: 'FILE' | 'SCREENSHOT' | undefined;
  /** File name, without folders. */
  filename?: string | undefined;
  /** Path in the workspace. */
  filepath?: string | undefined;
  /** Media type. */
  mime_type?: string | undefined;
  /** Title. */
  title?: string | undefined;
  /** Description. */
  description?: string | undefined;
}

/** Skills. */
export interface ListAgentSkillsResponse {
  /** The skills. */
  agents: AgentSkillItem[];
}

/** A skill and the places where it was found. */
export interface AgentSkillItem {
  /** Name. */
  name: string;
  /** The places where the skill was found. */
  variants: AgentSkillVariant[];
}

/** A place where a skill was found. */
export interface AgentSkillVariant {
  /** The value for `skill`: `owner/repo:path/SKILL.md`. */
  id: string;
  /** Description. */
  description: string;
  /** Text of the skill. */
  base_prompt: string;
  /** Location of the file. */
  source: {
    /** Owner of the repository. */
    owner: string;
    /** Name of the repository. */
    name: string;
    /** Path of the file. */
    skill_path: string;
    /** The worker that has the file. */
    worker_host?: string;
  };
  /** Environments that include the repository. */
  environments: {
    /** Unique id. */
    uid: string;
    /** Name. */
    name: string;
  }[];
  /** When a run last used the skill. */
  last_run_timestamp?: NullableTimestamp;
  /** What is odd about its SKILL.md. Agents can use the skill. */
  notes?: string[];
  /** Why the skill cannot be used. */
  error?: string;
}

/** The catalog of bundled skills. */
export interface ListBundledSkillsResponse {
  /** The skills, by id. */
  skills: BundledSkill[];
}

/** A skill of the catalog. `shipped` says whether this server includes it. */
export interface BundledSkill {
  /** The value for `skill`, and the `bundled_skill_id` of runs and actions. */
  id: string;
  /** Purpose. */
  purpose: string;
  /** Whether this release includes the skill. */
  shipped: boolean;
  /** Why this release does not include the skill. */
  reason?: string;
  /** Description from the skill itself, if it is included. */
  description?: string;
  /** Text of the skill, if it is included. */
  base_prompt?: string;
}

/** Models. */
export interface ListModelsResponse {
  /** The default model of runs. */
  default_model_id: string;
  /** The models. */
  models: ModelInfo[];
}

/** A model. */
export interface ModelInfo {
  /** The value for `model_id`. */
  id: string;
  /** Name. */
  display_name: string;
  /** Provider of the model. */
  provider: Open<'OPENAI' | 'ANTHROPIC' | 'GOOGLE' | 'UNKNOWN'>;
  /** Whether the model accepts images. */
  vision_supported: boolean;
  /** Description of the model. */
  description?: string;
  /** Reasoning effort. */
  reasoning_level?: string;
  /** Why the model is currently unavailable. `ADMIN_DISABLED`: this server has no API key for its provider. */
  disable_reason?: Open<'PROVIDER_OUTAGE' | 'OUT_OF_REQUESTS' | 'ADMIN_DISABLED' | 'REQUIRES_UPGRADE'>;
  /** The reason in a sentence, such as which key is missing. */
  disable_detail?: string;
}

/** Harnesses. */
export interface ListHarnessesResponse {
  /** The harnesses. */
  harnesses: HarnessInfo[];
}

/** An agent program that runs can name. */
export interface HarnessInfo {
  /** The value for `harness.type`. */
  name: string;
  /** The installed version, if it is installed. */
  version?: string;
  /** Ids of the models that it can use. Empty if they are not known. */
  models: string[];
  /** Whether a connected worker can run it now. */
  usable: boolean;
  /** Why it is not usable. */
  reason?: string;
  /** Number of connected workers that can run it. */
  workers: number;
}

/** Workers. */
export interface ListConnectedWorkersResponse {
  /** The workers. */
  workers: ConnectedWorker[];
}

/** The workers of one host. */
export interface ConnectedWorker {
  /** The value for `worker_host`. */
  worker_host: string;
  /** Number of connected workers. */
  connection_count: number;
  /** Maximum number of runs that they execute at once. */
  capacity: number;
  /** Number of runs that they execute now, as last reported. */
  busy: number;
  /** When the worker connected. */
  connected_at: Timestamp;
  /** When a worker was last seen. */
  last_seen_at: Timestamp;
  /** Number of the connected workers that are launchers: they execute each run in a Pod of a Kubernetes cluster. */
  launcher_count?: number;
  /**
   * The runs that its workers have and that you can see. Those that have not started come first, and of these
   * the oldest. A response has at most 500 for all hosts together.
   */
  executions?: WorkerExecution[];
}

/** A run that a connected worker has. */
export interface WorkerExecution {
  /** Id of the run. */
  run_id: string;
  /** Which execution of the run it is. */
  execution_id: number;
  /** Title of the run. */
  title: string;
  /** The state of the run. */
  state: RunState;
  /** When the state began; with `waiting`, when that began. */
  since: Timestamp;
  /** What the execution waits for, until the worker in the Pod has started. Only launchers have it. */
  waiting?: PodWait;
}

/** What keeps the Pod of an execution from starting. */
export interface PodWait {
  /** The word of Kubernetes, such as `ImagePullBackOff` or `Unschedulable`. It is missing if nothing unusual was seen. */
  reason?: string;
  /** The reason in words. */
  message: string;
}

/** Environments. */
export interface ListEnvironmentsResponse {
  /** The environments. */
  environments: CloudEnvironment[];
}

/** The workspace configuration of runs. */
export interface CloudEnvironment {
  /** Unique id. */
  uid: string;
  config: CloudEnvironmentConfig;
  /** When it last changed. */
  last_updated: Timestamp;
  /** Whether the latest run that used it failed during setup. */
  setup_failed: boolean;
  last_task_created?: EnvironmentTask;
  /** When a run last used it. */
  last_task_run_timestamp?: Timestamp;
  scope?: Scope;
  /** The creator. */
  creator?: RunCreatorInfo;
  /** Who last changed it. */
  last_editor?: RunCreatorInfo;
}

/** The latest run of an environment. */
export interface EnvironmentTask {
  /** The run's id. */
  id: string;
  /** Title of the run. */
  title: string;
  state: RunState;
  /** When it was created. */
  created_at: Timestamp;
  /** When the run last changed. */
  updated_at: Timestamp;
  /** When a worker first claimed the run. */
  started_at?: NullableTimestamp;
}

/** The configuration of an environment. */
export interface CloudEnvironmentConfig {
  /** Name. */
  name?: string | undefined;
  /** Purpose. */
  description?: string | undefined;
  /** The container image of the runs. Workers with the sandbox bubblewrap or docker pull it; a run whose image cannot be pulled fails. Workers with the sandbox process use the host's tools and record this on the timeline. */
  docker_image?: string | undefined;
  /** Name of the managed secret with the credentials for the registry of `docker_image`, as `USER:PASSWORD`. Its `hosts` must include the registry (`docker.io` for names without one), with its port unless that is 443. Only workers get the value. If absent, the credentials of the worker's machine apply. */
  docker_image_secret?: string | undefined;
  /** GitHub repositories to clone. */
  github_repos?: GitHubRepo[] | undefined;
  /** Git repositories to clone, on any host. */
  repos?: GitRepo[] | undefined;
  /** Shell commands that prepare the workspace, in order. If one fails, the run ends FAILED. */
  setup_commands?: string[] | undefined;
  /** Settings of cloud providers. Stored and passed on unchanged. */
  providers?: Record<string, unknown> | undefined;
  /** Minutes to keep the sandbox of a failed run. If absent, it is not kept. */
  failure_session_retention_minutes?: number | null | undefined;
  /** What its runs may reach, in addition to the other layers. A run reads it when an execution starts. */
  network?: Network | undefined;
  /** Time without an event after which a run that works has stalled, from `1m` to `720h`; `0` disables it. Text of a message and output of a tool are events. Absent or empty: `--stall-after` of the server. It also applies to runs that already work. */
  stall_after?: string | undefined;
  /** What happens to a run that has stalled: `alert` marks it as `stalled`, `cancel` also cancels it. Absent: `--on-stall` of the server. */
  on_stall?: Open<'alert' | 'cancel'> | undefined;
  prebuild?: Prebuild | undefined;
}

/**
 * How prepared workspaces are kept for later runs of the environment. Each worker keeps its own: the workspace,
 * HOME and the changes of the image as the setup commands left them. For that, the commands run without the
 * variables, attachments and models of the run. If they fail then, they run again with everything, and nothing is
 * kept. Absent: lazy, but only for runs without variables.
 */
export interface Prebuild {
  /** `lazy` keeps what a run has prepared, `off` nothing. */
  mode?: Open<'lazy' | 'off'> | undefined;
  /** Path patterns in the repositories. If their heads have moved since, and no file of these patterns has changed, no command runs. Absent: all commands run on what was kept. */
  inputs?: string[] | undefined;
  /** Commands that run instead of the setup commands on what was kept. */
  update_commands?: string[] | undefined;
  /** Names of the secrets that the commands get as variables. Only runs that have all of them get what was kept. If a file has the value of one afterwards, nothing is kept. */
  secrets?: string[] | undefined;
}

/** Prepared workspaces. */
export interface ListPrebuildsResponse {
  /** The prepared workspaces. */
  prebuilds: PreparedWorkspace[];
}

/** A workspace that a worker keeps for later runs of an environment, or why it keeps none. */
export interface PreparedWorkspace {
  /** Its uid. If workers have copies of one disk, several have the same one. */
  uid: string;
  /** Runs get a `ready` one. `failed`: the preparation left none. `retired`: no new run gets it. */
  state: Open<'ready' | 'failed' | 'retired'>;
  /** Why it has failed or was retired. */
  reason?: string;
  /** The `prebuild.mode` that made it. */
  mode?: Open<'lazy' | 'off'>;
  /** The commits of its repositories. */
  heads: PreparedHead[];
  /** Digest of its container image. Absent: the programs of the worker's machine. */
  image_digest?: string;
  /** The worker that keeps it. */
  worker_host: string;
  /** Its size. */
  bytes: number;
  /** The number of its files. */
  files: number;
  /** How long its preparation took. */
  duration_ms: number;
  /** When it was made, or when the last preparation failed. */
  built_at: string;
  /** When a run last got it. Absent: never. */
  last_used_at?: string;
  /** How many runs got it. */
  uses: number;
}

/** The commit of a repository in a prepared workspace. */
export interface PreparedHead {
  /** URL of the repository without credentials; empty if it is unknown. */
  url: string;
  /** The commit. */
  commit: string;
}

/** A repository on GitHub. */
export interface GitHubRepo {
  /** Owner of the repository. */
  owner: string;
  /** Name. */
  repo: string;
}

/**
 * A repository that a run works on: its `url`, or the `connection` and `path` that have it. The server sets all
 * three if a connection is used.
 */
export interface RunRepository {
  /** URL of the repository, `https://` or `ssh://` (also as `user@host:path`), without credentials. */
  url?: string | undefined;
  /** A branch, tag or commit. Defaults to the one of the environment, or else to the default branch. */
  ref?: string | undefined;
  /** Name of the connection that reads the repository. With a `url`, the server finds it. */
  connection?: string | undefined;
  /** Path of the repository on the forge, `owner/name`. */
  path?: string | undefined;
}

/** A Git repository. */
export interface GitRepo {
  /** URL of the repository, `https://` or `ssh://`. */
  url: string;
  /** A branch, tag or commit. Defaults to the default branch. */
  ref?: string | undefined;
}

/** Agents. */
export interface ListAgentsResponse {
  /** The agents. */
  agents: AgentResponse[];
}

/** An agent to create. */
export interface Agent {
  /** Name. */
  name: string;
  /** Purpose. */
  description?: string | undefined;
  /** Instructions that come before the prompt of each run. */
  prompt?: string | undefined;
  /** Default model of its runs. */
  base_model?: string | undefined;
  /** Default harness of its runs. */
  harness?: Harness | undefined;
  /**
   * The type of `harness` alone. `harness` takes precedence. A different type returns 400.
   * @deprecated
   */
  base_harness?: string | undefined;
  /** The environment of its runs. */
  environment_id?: string | undefined;
  /** Default runner of its runs: a name of `runners` in the files of its factory. */
  default_runner_uid?: string | undefined;
  /** The self-hosted worker of its runs. */
  worker_host?: string | undefined;
  /** What its runs may do on the forges of their repositories. Each value is inherited by itself. */
  forge?: ForgeSettings | undefined;
  /** Repositories that its runs work on beside the environment's, in place of those of its factory. An empty list means none. */
  repositories?: RunRepository[] | undefined;
  /** Managed secrets for its runs. */
  secrets?: SecretRef[] | undefined;
  /** Skills available to its runs. */
  skills?: string[] | undefined;
  /** MCP servers of its runs, by name. */
  mcp_servers?: Record<string, MCPServerConfig> | undefined;
  /** What the agent remembers between runs. */
  memory?: AgentMemory | undefined;
  /** Names of managed secrets with the harness's credentials. */
  harness_auth_secrets?: Record<string, string> | undefined;
  /** Whose credentials its runs use. */
  credential_strategy?: 'CREATOR' | 'EXECUTOR' | undefined;
  /** Whether the agent may start runs on behalf of users. */
  on_behalf_of_enabled?: boolean | undefined;
  /** Role of the agent in a factory. */
  agent_type?: 'FOREMAN' | 'TRIAGE' | 'SPEC' | 'IMPLEMENT' | 'REVIEW' | 'VERIFY' | 'CUSTOM' | undefined;
  /** What its runs may reach, in addition to the other layers. */
  network?: Network | undefined;
  /** The models that its runs may use. */
  models?: ModelPolicy | undefined;
}

/** Changes to an agent. An absent or null field stays unchanged. An empty value clears it. */
export interface UpdateAgent {
  /** Name. Cannot be cleared. */
  name?: string | null | undefined;
  /** Purpose. */
  description?: string | null | undefined;
  /** Instructions that come before the prompt of each run. */
  prompt?: string | null | undefined;
  /** Default model of its runs. */
  base_model?: string | null | undefined;
  /** Default harness of its runs. */
  harness?: Harness | null | undefined;
  /**
   * The type of `harness` alone. `harness` takes precedence. A different type returns 400. An empty value clears `harness`.
   * @deprecated
   */
  base_harness?: string | null | undefined;
  /** The environment of its runs. */
  environment_id?: string | null | undefined;
  /** Default runner of its runs: a name of `runners` in the files of its factory. */
  default_runner_uid?: string | null | undefined;
  /** The self-hosted worker of its runs. */
  worker_host?: string | null | undefined;
  /** What its runs may do on the forges of their repositories, in place of what it has set so far. An empty value removes it. */
  forge?: ForgeSettings | null | undefined;
  /** Repositories that its runs work on beside the environment's, in place of those of its factory. An empty list means none. The key of an agent can only remove some. */
  repositories?: RunRepository[] | null | undefined;
  /** Managed secrets for its runs. */
  secrets?: SecretRef[] | null | undefined;
  /** Secrets to add to the current ones. Must be the only field of the request. Secrets that the agent already has are skipped. */
  secrets_append?: SecretRef[] | undefined;
  /** Skills available to its runs. */
  skills?: string[] | null | undefined;
  /** MCP servers of its runs, by name. */
  mcp_servers?: Record<string, MCPServerConfig> | null | undefined;
  /** What the agent remembers between runs. */
  memory?: AgentMemory | null | undefined;
  /** Names of managed secrets with the harness's credentials. */
  harness_auth_secrets?: Record<string, string> | null | undefined;
  /** Whose credentials its runs use. */
  credential_strategy?: 'CREATOR' | 'EXECUTOR' | '' | null | undefined;
  /** Whether the agent may start runs on behalf of users. */
  on_behalf_of_enabled?: boolean | null | undefined;
  /** Role of the agent in a factory. */
  agent_type?: 'FOREMAN' | 'TRIAGE' | 'SPEC' | 'IMPLEMENT' | 'REVIEW' | 'VERIFY' | 'CUSTOM' | '' | null | undefined;
  /** What its runs may reach, in addition to the other layers. */
  network?: Network | null | undefined;
  /** The models that its runs may use. */
  models?: ModelPolicy | null | undefined;
}

/** An agent. */
export interface AgentResponse {
  /** Unique id. */
  uid: string;
  /** Name. */
  name: string;
  /** Whether runs can currently use the agent. */
  available: boolean;
  /** When it was created. */
  created_at: Timestamp;
  /** When it last changed. */
  updated_at: Timestamp;
  /** The factory that defines the agent. */
  factory_uid?: string;
  /** What its runs may reach, in addition to the other layers. */
  network?: Network;
  /** The models that its runs may use. */
  models?: ModelPolicy;
  /** Purpose. */
  description?: string;
  /** Instructions that come before the prompt of each run. */
  prompt?: string;
  /** Default model of its runs. */
  base_model?: string;
  /** Default harness of its runs. */
  harness?: Harness;
  /**
   * The type of `harness`.
   * @deprecated
   */
  base_harness?: string;
  /** The environment of its runs. */
  environment_id?: string;
  /** Default runner of its runs: a name of `runners` in the files of its factory. */
  default_runner_uid: string;
  /** The self-hosted worker of its runs. */
  worker_host?: string;
  /** What its runs may do on the forges of their repositories. Each value is inherited by itself. */
  forge?: ForgeSettings;
  /** Repositories that its runs work on beside the environment's, in place of those of its factory. An empty list means none. */
  repositories?: RunRepository[];
  /** Managed secrets for its runs. */
  secrets: SecretRef[];
  /** Skills available to its runs. */
  skills: string[];
  /** MCP servers of its runs, by name. */
  mcp_servers?: Record<string, MCPServerConfig>;
  /** What the agent remembers between runs. */
  memory: AgentMemory;
  /** Names of managed secrets with the harness's credentials. */
  harness_auth_secrets?: Record<string, string>;
  /** Whose credentials its runs use. */
  credential_strategy?: Open<'CREATOR' | 'EXECUTOR'>;
  /** Whether the agent may start runs on behalf of users. */
  on_behalf_of_enabled?: boolean;
  /** Role of the agent in a factory. */
  agent_type?: Open<'FOREMAN' | 'TRIAGE' | 'SPEC' | 'IMPLEMENT' | 'REVIEW' | 'VERIFY' | 'CUSTOM'>;
}

/** A reference to a managed secret, by name. */
export interface SecretRef {
  /** Name. */
  name: string;
}

/** What an agent remembers between runs. */
export interface AgentMemory {
  /** Memory that the agent maintains itself. */
  auto_memory: {
    /** Whether automatic memory is enabled. */
    enabled: boolean;
  };
  /** Memory stores of the agent, each once. Stored and returned, but not used: this server has no memory stores. */
  attached_stores: MemoryStoreRef[];
}

/** A reference to a memory store. */
export interface MemoryStoreRef {
  /** Unique id. */
  uid: string;
  /** The agent's access to the store. */
  access: Open<'read_write' | 'read_only'>;
  /** Instructions for using the store. */
  instructions: string;
}

/** Schedules. */
export interface ListSchedulesResponse {
  /** The schedules. */
  schedules: ScheduledAgentItem[];
}

/** A schedule to create. Requires a `prompt` or a skill. */
export interface Schedule {
  /** Name. */
  name: string;
  cron_schedule: CronSchedule;
  /** IANA time zone of `cron_schedule`, such as `Europe/Berlin`. */
  time_zone?: string | undefined;
  /**
   * Another name of `time_zone`. Not in responses.
   * @deprecated
   */
  timezone?: string | undefined;
  catch_up?: Known<CatchUp> | undefined;
  overlap?: Known<Overlap> | undefined;
  /** After so many runs in a row that ended `FAILED` or `ERROR`, it is paused until it is enabled again. A `CANCELLED` run neither counts nor ends the row. 0, the default, never pauses it. */
  pause_after_failures?: number | undefined;
  /** How often a run is expected to start, or an event to reach one, such as `26h`; at least `1m`. If none does for so long, it is `silent`, and endpoints get `automation.silent`. Runs that somebody starts by hand do not count. 0, the default, expects none. */
  expect_every?: Period | undefined;
  /** Whether it fires. */
  enabled?: boolean | undefined;
  /** The task for the agent. */
  prompt?: string | undefined;
  /** How its runs handle the prompt. */
  mode?: Known<RunMode> | undefined;
  /** The skill to run, in the format of `agent_config.skill_spec`. Takes precedence over it. */
  skill?: string | undefined;
  /** The configuration of its runs. */
  agent_config?: AmbientAgentConfig | undefined;
  /** The agent that its runs are executed as. */
  agent_uid?: string | undefined;
  /** Labels for its runs. */
  metadata?: Metadata | undefined;
  /** Whether the team sees the schedule and its runs. Default: true. */
  team?: boolean | undefined;
}

/** A complete schedule. Requires a `prompt` or a skill. */
export interface UpdateSchedule {
  /** Name. */
  name: string;
  cron_schedule: CronSchedule;
  /** IANA time zone of `cron_schedule`, such as `Europe/Berlin`. Absent: unchanged, as are `catch_up`, `overlap`, `pause_after_failures` and `expect_every`. */
  time_zone?: string | undefined;
  /**
   * Another name of `time_zone`. If they differ, the one that is not the present zone counts.
   * @deprecated
   */
  timezone?: string | undefined;
  catch_up?: Known<CatchUp> | undefined;
  overlap?: Known<Overlap> | undefined;
  /** After so many runs in a row that ended `FAILED` or `ERROR`, it is paused until it is enabled again. A `CANCELLED` run neither counts nor ends the row. 0 never pauses it. Absent: unchanged. */
  pause_after_failures?: number | undefined;
  /** How often a run is expected to start, or an event to reach one, such as `26h`; at least `1m`. If none does for so long, it is `silent`, and endpoints get `automation.silent`. Runs that somebody starts by hand do not count. 0 expects none. Absent: unchanged. */
  expect_every?: Period | undefined;
  /** Whether it fires. */
  enabled: boolean;
  /** The task for the agent. */
  prompt?: string | undefined;
  /** How its runs handle the prompt. */
  mode?: Known<RunMode> | undefined;
  /** The skill to run, in the format of `agent_config.skill_spec`. Takes precedence over it. */
  skill?: string | undefined;
  /** The configuration of its runs. */
  agent_config?: AmbientAgentConfig | undefined;
  /** The agent that its runs are executed as. */
  agent_uid?: string | undefined;
  /** Labels for its runs. */
  metadata?: Metadata | undefined;
  /** Whether the team sees the schedule and its runs. Default: true. */
  team?: boolean | undefined;
}

/**
 * What starts for times that passed while no server was there. `once`, the default, starts one run for all of
 * them, `all` one for each of the latest 100. With `none`, a time that is more than a minute late starts none.
 */
export type CatchUp = Open<'once' | 'all' | 'none'>;

/**
 * What happens at a time when a run that an earlier time started has not ended. `allow`, the default, starts
 * another beside it, `queue` starts it once that one has ended, `skip` starts none, and `replace` cancels that one
 * with all that it started, once a run of the same automation, or of the schedule itself, is QUEUED instead. A run
 * that somebody continued after its end does not count. At most 100 times wait in a queue.
 */
export type Overlap = Open<'allow' | 'queue' | 'skip' | 'replace'>;

/** One event that was due to start work, and what became of it. */
export interface Occurrence {
  /** Unique id. */
  occurrence_uid: string;
  /** What it was. */
  kind: OccurrenceKind;
  /** The schedule whose time it was. */
  schedule_id?: string;
  /** The automation that it was to start. Absent for the own run of a schedule, and for a delivery that was rejected or a duplicate. */
  automation_uid?: string;
  /** The webhook of the delivery. */
  webhook_uid?: string;
  /** The delivery. */
  delivery_id?: string;
  /** What it was about, such as `acme/shop#7`. */
  subject?: string;
  /** When it was due. For missed times, the last of them. */
  due_at: Timestamp;
  /** When it got its fate. Absent while it waits. */
  decided_at?: Timestamp;
  fate: Fate;
  /** Why it has this fate. For an automation with the fate `failed`, only with `factories:read`. */
  reason?: string;
  missed?: MissedTicks;
  /** The runs that it started or joined. If a budget refused its run, that one. */
  run_ids: string[];
}

/**
 * What an occurrence was. `tick`: a time of a schedule, or of an automation with a clock of its own. `delivery`: to
 * a webhook. `call`: a request for a run, also of an automation by hand. `dispatch`: work for a factory; without a
 * subject, it is known by the metadata `ticket_source` and `ticket_id` of its run, so that a request for a run of
 * an agent with both counts as one.
 */
export type OccurrenceKind = Open<'tick' | 'delivery' | 'call' | 'dispatch'>;

/**
 * What became of an occurrence. `waiting` is followed by one of the others, which never change. `continued`: a
 * follow-up gave it to a run. `merged_into`: it joined a run that another one started. `superseded`: a later one replaced it before it
 * started anything. `no_match`: the automation waits for something else. `duplicate`: the same delivery had come
 * before. `rejected`: the webhook did not accept the delivery. `skipped`: a run was live, too many times waited, a budget refused the run, or the schedule or
 * automation was changed, paused or deleted. `missed`: no server was there in time. `failed`: no run could be
 * made.
 */
export type Fate = Open<'waiting' | 'started' | 'continued' | 'merged_into' | 'superseded' | 'no_match' | 'duplicate' | 'rejected' | 'skipped' | 'missed' | 'failed'>;

/** Times of a schedule that passed while no server was there. */
export interface MissedTicks {
  /** How many. */
  count: number;
  /** Whether there were more than were counted. */
  at_least?: boolean;
  /** The first of them. */
  first: Timestamp;
  /** The last of them. */
  last: Timestamp;
}

/** A page of occurrences. */
export interface ListOccurrencesResponse {
  /** The occurrences, newest first. */
  occurrences: Occurrence[];
  /** Position in the list. */
  page_info: PageInfo;
}

/**
 * When to fire: five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, `@every 1h30m`. An
 * expression that never fires returns 400.
 *
 *
 * When clocks go forward, all times that they skip fire together, once, at the change: in Europe/Berlin,
 * `30 1,2 * * *` fires at 01:30 and 03:00 on that day. When clocks go back, a time that is shown twice fires the
 * first time only. If every hour matches (`*` or `0-23`), it fires whenever the clock shows one of its times: not
 * in the hour that is skipped, and twice in the hour that is repeated. `@every` does not depend on clocks.
 */
export type CronSchedule = string;

/** A schedule. */
export interface ScheduledAgentItem {
  /** Unique id. */
  id: string;
  /** Name. */
  name: string;
  cron_schedule: CronSchedule;
  /** IANA time zone of `cron_schedule`. */
  time_zone: string;
  catch_up: CatchUp;
  overlap: Overlap;
  /** Whether it fires. */
  enabled: boolean;
  /** The task for the agent. Empty if its runs have only a skill. */
  prompt: string;
  /** How its runs handle the prompt. */
  mode: RunMode;
  /** When it was created. */
  created_at: Timestamp;
  /** When it last changed. */
  updated_at: Timestamp;
  agent_config?: AmbientAgentConfig;
  /** The agent that its runs are executed as. */
  agent_uid?: string;
  metadata?: Metadata;
  /** The environment that `agent_config` refers to. */
  environment?: CloudEnvironmentConfig;
  /** The creator. */
  created_by?: RunCreatorInfo;
  /** Who last changed it. */
  updated_by?: RunCreatorInfo;
  /** Last and next time it fires. */
  history?: {
    /** When it last fired. */
    last_ran?: NullableTimestamp;
    /** When it fires next. Null while it is paused. */
    next_run?: NullableTimestamp;
  };
  /** The next five times, while it is enabled. */
  upcoming?: Timestamp[];
  /** Why no run was started at the last time that was decided. */
  last_spawn_error?: string | null;
  /** After so many runs in a row that ended `FAILED` or `ERROR`, it is paused until it is enabled again. A `CANCELLED` run neither counts nor ends the row. 0, the default, never pauses it. */
  pause_after_failures?: number;
  /** How often a run is expected to start, or an event to reach one, such as `26h`; at least `1m`. If none does for so long, it is `silent`, and endpoints get `automation.silent`. Runs that somebody starts by hand do not count. 0, the default, expects none. */
  expect_every?: Period;
  /** Failures have paused it: `enabled` is false. Deliveries and times are skipped. */
  paused?: FailuresInARow;
  /** One more failure pauses it. */
  degraded?: FailuresInARow;
  /** It has started nothing for the time of `expect_every`. */
  silent?: Silence;
  scope?: Scope;
}

/**
 * A permission of a key. `admin` includes all others. `worker` lets a key serve as a worker. `secrets:use` lets a
 * request for a run or a schedule name managed secrets, which the agent can read, and continue the conversations
 * of such runs. The secrets of agents, automations and factories do not require it: with `factories:manage`, a caller can
 * give any secret to the runs of an agent. `access:manage` is about users, service accounts and grants.
 * `metrics:read` lets Prometheus read `/metrics`. `own_run` is the scope
 * of an execution's key: it can read its own run and add artifacts to it. It cannot be given to other keys.
 */
export type KeyScope = Open<'runs:read' | 'runs:write' | 'factories:read' | 'factories:manage' | 'secrets:use' | 'secrets:manage' | 'keys:manage' | 'events:manage' | 'forges:manage' | 'access:manage' | 'metrics:read' | 'worker' | 'own_run' | 'admin'>;

/** A secret to create. */
export interface CreateSecretRequest {
  /** Name of the secret, and of the environment variable that contains it in runs. */
  name: string;
  /** The value, at most 65,536 bytes of UTF-8 without NUL. A value of fewer than four characters cannot be masked in the output of runs. If absent, the secret is pending. */
  value?: string | undefined;
  hosts?: SecretHosts | undefined;
}

/** Changes to a secret. At least one field is required. An absent field stays unchanged. */
export interface SetSecretRequest {
  /** The value, at most 65,536 bytes of UTF-8 without NUL. */
  value?: string | undefined;
  hosts?: SecretHosts | undefined;
}

/**
 * Hosts to which the proxy of a sealed run may send the secret: exact names in lower case and ASCII, or IP
 * addresses. A rule with the secret as its credential works for these only. A worker also logs in to image
 * registries at these hosts, at port 443. `HOST:PORT` stands for a registry at another port. A change replaces the
 * whole list.
 */
export type SecretHosts = string[];

/** A managed secret, without its value. */
export interface Secret {
  /** Name. */
  name: string;
  /** Number of values that the secret has had. 0 while it is pending. */
  version: number;
  /** Whether the secret is declared but has no value yet. */
  pending: boolean;
  /** When it was created. */
  created_at: Timestamp;
  /** When the value or the hosts were set. */
  updated_at: Timestamp;
  /** When a run last received the secret, or a webhook last accepted it, accurate to about a minute. */
  last_used_at?: Timestamp;
  /** The creator. */
  created_by?: RunCreatorInfo;
  /** Who set the value. */
  updated_by?: RunCreatorInfo;
  hosts?: SecretHosts;
  /** The webhook that the server generated the secret for. Stays set after the webhook is deleted. Runs never receive such a secret. */
  webhook_uid?: string;
  /** Resources that use the secret and prevent its deletion. */
  used_by: SecretUser[];
}

/** A resource that uses a secret. For another user's personal schedule, only the type is returned. */
export interface SecretUser {
  /** Type of resource. A `factory` uses a secret for all its agents, for the image or the network of a runner, or to read its repository. An `environment` uses it in its network. */
  type: Open<'agent' | 'schedule' | 'automation' | 'webhook' | 'factory' | 'environment'>;
  /** Unique id. */
  uid?: string;
  /** Name. */
  name?: string;
  /** The factory of the resource, if any. */
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
 * How a delivery is authenticated: `token` in `Authorization: Bearer`, `url_token` as the last segment of the URL,
 * or `signature` over the body.
 */
export type WebhookAuthMode = Open<'token' | 'url_token' | 'signature'>;

/** The signature scheme of a sender. The webhook's `signature` describes `custom_hmac`. */
export type SignatureScheme = Open<'standard_webhooks' | 'svix' | 'github' | 'gitlab' | 'stripe' | 'sentry' | 'pagerduty' | 'vercel' | 'slack' | 'linear' | 'shopify' | 'bitbucket' | 'jira' | 'zendesk' | 'intercom' | 'typeform' | 'circleci' | 'calendly' | 'mux' | 'paddle' | 'notion' | 'launchdarkly' | 'dropbox' | 'meta' | 'woocommerce' | 'buildkite' | 'discord' | 'square' | 'hubspot' | 'grafana' | 'docusign' | 'contentful' | 'coinbase_commerce' | 'custom_hmac'>;

/** A `custom_hmac` scheme, or the `timestamp_header` of a Grafana contact point. */
export interface Signature {
  /** The header that contains the signature. */
  header?: string | undefined;
  /** Text before the signature, such as `sha256=`. */
  prefix?: string | undefined;
  /** Hash function of the HMAC. */
  hash?: Open<'sha1' | 'sha256' | 'sha512'> | undefined;
  /** Encoding of the signature. */
  encoding?: Open<'hex' | 'base64'> | undefined;
  /** How the key is derived from the secret: unchanged, or decoded. */
  key_form?: Open<'text' | 'base64' | 'hex' | 'whsec'> | undefined;
  /** The signed text: literal text with `{body}` once, and optionally `{timestamp}`, `{method}`, `{url}`, `{path}` and `{header:Name}`. */
  template?: string | undefined;
  /** The header that contains `{timestamp}`: Unix seconds, Unix milliseconds or RFC 3339. */
  timestamp_header?: string | undefined;
}

/**
 * When a webhook starts to use a new value of its managed secret: when the webhook is changed or enabled, or
 * immediately.
 */
export type SecretRefresh = Open<'apply' | 'immediate'>;

/** A webhook to create. */
export interface CreateWebhookRequest {
  /**
   * Display name. The webhook's `name` is derived from it, in lower case and with `-` for spaces, and must have
   * 1 to 63 letters, digits and `-`.
   */
  name: string;
  /** How deliveries are authenticated. */
  auth_mode?: Known<WebhookAuthMode> | undefined;
  /** The sender's signature scheme. Only for `signature`. */
  signature_scheme?: Known<SignatureScheme> | undefined;
  /** Only for `custom_hmac` and `grafana`. */
  signature?: Signature | undefined;
  /** The secret, if the server does not generate it. */
  secret?: string | undefined;
  /** Name of the managed secret. Defaults to `<NAME>_WEBHOOK_SECRET`. */
  secret_name?: string | undefined;
  /**
   * A header that identifies deliveries, instead of the sender's own. `ce-id` is read together with `ce-source`.
   * Headers with credentials (such as `Authorization`, `Cookie`, `X-Api-Key` and all signatures) and connection
   * headers are not allowed.
   */
  delivery_id_header?: string | undefined;
  /**
   * Whether the same signed content, including its timestamp, is a duplicate even if its unsigned id differs:
   * the value of `delivery_id_header`, a header of the sender, or `X-Penstock-Delivery-Id`.
   */
  replay_guard?: boolean | undefined;
  /**
   * How long an equal body is a duplicate if nothing else identifies deliveries, such as `20h` or `90m`, up to
   * `8784h`. `0` turns this comparison off, for a sender whose body is always the same. Empty, the default, means
   * the `dedup_body_seconds` of `GET /limits`. A number is read as seconds.
   */
  dedup_body_window?: string | undefined;
  /** Whether a delivery that was accepted but started no run is evaluated again when it comes again. Otherwise it is a duplicate. */
  retry_unmatched?: boolean | undefined;
  /** Whether unsigned setup requests get 200 instead of 401 until the first verified delivery. Only for `woocommerce` and `bitbucket`. They start nothing. */
  setup_pings?: boolean | undefined;
  /** When the webhook starts to use a new value of its managed secret. */
  secret_refresh?: Known<SecretRefresh> | undefined;
  /** Whether the webhook accepts deliveries once it has its secret. */
  enabled?: boolean | undefined;
}

/** Changes to a webhook. */
export interface UpdateWebhookRequest {
  /** Only for `custom_hmac` and `grafana`. */
  signature?: Signature | undefined;
  /** The secret of a pending webhook. */
  secret?: string | undefined;
  /** A header that identifies deliveries. Empty means the sender's own. `ce-id` is read together with `ce-source`. */
  delivery_id_header?: string | undefined;
  /** Whether the same signed content is a duplicate even if its unsigned id differs. */
  replay_guard?: boolean | undefined;
  /** How long an equal body is a duplicate if nothing else identifies deliveries. `0` turns this off. Empty means the setting of the server. */
  dedup_body_window?: string | undefined;
  /** Whether a delivery that started no run is evaluated again when it comes again. */
  retry_unmatched?: boolean | undefined;
  /** Whether unsigned setup requests get 200 until the first verified delivery. */
  setup_pings?: boolean | undefined;
  /** When the webhook starts to use a new value of its managed secret. */
  secret_refresh?: Known<SecretRefresh> | undefined;
  /** Whether the webhook accepts deliveries. */
  enabled?: boolean | undefined;
  /** Whether an enabled webhook temporarily rejects deliveries, until you clear this field. */
  suspended?: boolean | undefined;
}

/** Options of a rotation. */
export interface RotateSecretRequest {
  /** The new secret. If absent, the server generates one. */
  secret?: string | undefined;
  /** Seconds that the old secret stays valid. A webhook can have at most 5 valid secrets. */
  overlap_seconds?: number | undefined;
}

/** A standing team of agents with its automations and webhooks. */
export interface Factory {
  /** Unique id. */
  uid: string;
  /** Name. */
  name: string;
  /** Short name. */
  alias?: string;
  /** Purpose. */
  description?: string;
  /** Where the factory is edited: in the API, or in a Git repository. */
  source: Open<'service' | 'repository'>;
  /** The repository, if `source` is `repository`. */
  repository?: FactoryRepository;
  /** The agent that receives the factory's work first. Empty until the first commit of the repository is applied. */
  foreman_agent_uid: string;
  /** Agents, by name. */
  agents: FactoryAgent[];
  /** Number of webhooks. */
  webhooks_count: number;
  /** Number of automations. */
  automations_count: number;
  definition: FactoryDefinition;
  /** When it was created. */
  created_at: Timestamp;
  /** When it last changed. */
  updated_at: Timestamp;
  /** The team that the factory belongs to. */
  team_uid: string;
  /** The repositories that the factory works on, as in factory.yaml. */
  repositories: WorkRepository[];
  /** Host of these repositories. */
  code_forge: CodeForge;
  /** `code_forge` as a list. */
  code_forges: CodeForge[];
  /** Whose credentials its runs use, unless an agent overrides it. */
  credential_strategy: Open<'CREATOR' | 'EXECUTOR'>;
  /** Default model of its agents, if factory.yaml sets one for the built-in harness. */
  default_model?: string;
  /** Default environment of its agents, if factory.yaml sets one. */
  default_environment?: string;
  /** Defaults of its agents. */
  agent_defaults: FactoryAgentDefaults;
  /** What all its runs may reach, in addition to the other layers, as in factory.yaml. */
  network?: Network;
  /** What all its runs may do on the forges of their repositories, unless `agentDefaults`, an agent or an automation sets it. As in factory.yaml. */
  forge?: ForgeSettings;
  /** The models that all its runs may use, as in factory.yaml. */
  models?: ModelPolicy;
  /** Defaults of scorers. Always empty: the key `scorerDefaults` of the files is kept, and not used yet. */
  scorer_defaults: Record<string, unknown>;
  /** Settings of scoring. Always empty: the key `scoring` of the files is kept, and not used yet. */
  scoring: Record<string, unknown>;
}

/** A repository that a factory works on. */
export interface WorkRepository {
  /** A user, organization or group. */
  owner: string;
  /** Name. */
  repo: string;
  /** URL. */
  code_forge?: CodeForge;
}

/**
 * Host of repositories, as `codeForges` of factory.yaml names it. Without this key, it is `GITHUB`, or
 * `NONE` without repositories.
 */
export type CodeForge = Open<'GITHUB' | 'GITLAB' | 'NONE'>;

/** Defaults of a factory's agents, as in `agentDefaults` of factory.yaml. */
export interface FactoryAgentDefaults {
  /** Default runner of their runs. Empty if not set. */
  default_runner_uid: string;
  /** Default self-hosted worker of their runs. Empty if not set. */
  worker_host: string;
  /** Managed secrets for their runs. */
  secrets: SecretRef[];
  /** MCP servers of their runs, by name. */
  mcp_servers: Record<string, MCPServerConfig>;
  /** The harness of their runs. */
  harness?: Harness;
  /** Names of managed secrets with the harness's credentials. */
  harness_auth_secrets?: Record<string, string>;
  /** Repositories that their runs work on beside the environment's. */
  repositories?: RunRepository[];
}

/** A Git repository that defines a factory. */
export interface FactoryRepository {
  /** An `https://` or `ssh://` URL, or `user@host:path`, without credentials. `file://` only if the server allows it. */
  url: string;
  /** The production branch. Defaults to the default branch of the repository. */
  branch?: string | undefined;
  /** The folder that contains factory.yaml. Defaults to the root of the repository. */
  path?: string | undefined;
  /** The managed secret with the credential for an `https://` URL: a token, or `user:token`. */
  secret?: string | undefined;
}

/** An agent of a factory. */
export interface FactoryAgent {
  /** Unique id. */
  uid: string;
  /** Name. */
  name: string;
  /** Role of the agent. */
  agent_type: Open<'FOREMAN' | 'TRIAGE' | 'SPEC' | 'IMPLEMENT' | 'REVIEW' | 'VERIFY' | 'CUSTOM'>;
}

/** A finding in a factory's files. */
export interface Diagnostic {
  /** Code of the finding, such as `FF_UNKNOWN_FIELD`. */
  code: string;
  /** What is wrong. */
  message: string;
  /** Path of the file. */
  path: string;
  /** Line number, from 1. */
  line: number;
  /** Column in characters, from 1. */
  column: number;
  /** Only an error prevents the files from being applied. A note is about an ignored file. */
  severity: Open<'error' | 'warning' | 'note'>;
  /** The closest valid name. */
  nearest?: string;
}

/** The files that define a factory. */
export interface FactoryFiles {
  files: FileTree;
  /** Revision number. It increases with each change of the files. */
  revision: number;
  /** When the files were applied. */
  applied_at: Timestamp;
  /** Where the files are edited. */
  source: Open<'service' | 'repository'>;
}

/** A page of revisions. */
export interface ListRevisionsResponse {
  /** The revisions, newest first. */
  revisions: Revision[];
  page_info: PageInfo;
}

/** A change of a factory's files. */
export interface Revision {
  /** Added resources. */
  created: ResourceChange[];
  /** Changed resources. */
  changed: ResourceChange[];
  /** Removed resources. */
  removed: ResourceChange[];
  /** Revision number. For a commit that changed nothing, the number of the active revision, or 0 if there was none. */
  revision: number;
  /** Result of the revision. Only commits of a repository can have a result other than `applied`. */
  result: Open<'applied' | 'unchanged' | 'rejected'>;
  /** The commit, if the factory is defined by a repository. */
  commit?: Commit;
  /** Why a commit was rejected. */
  detail?: string;
  /** Findings in the files of the commit, at most 200. */
  diagnostics?: Diagnostic[];
  /** Who made the change. */
  author?: RunCreatorInfo;
  /** When it was applied. */
  created_at: Timestamp;
  /** Changes of the files as a unified diff, truncated if it is very long. */
  diff: string;
}

/** A Git commit. */
export interface Commit {
  /** Unique id. */
  id: string;
  /** Name and address of the author. */
  author: string;
  /** First line of the message, truncated if it is very long. */
  message: string;
  /** When it was committed, if the commit could be read. */
  committed_at?: Timestamp;
}

/** The content of each file, by path. */
export type FileTree = Record<string, string>;

/** Files for a factory. */
export interface ApplyDefinitionRequest {
  files: FileTree;
  /** Whether to return only the plan and change nothing. */
  dry_run?: boolean | undefined;
  /** The revision that the edit is based on. If the factory has a newer revision, the request returns 409. */
  base_revision?: number | undefined;
}

/** The changes from applying files. */
export interface DefinitionPlan {
  /** Resources to add. */
  created: ResourceChange[];
  /** Resources to change. */
  changed: ResourceChange[];
  /** Resources to remove. */
  removed: ResourceChange[];
  /** The active revision. */
  revision: number;
  /** Warnings. */
  diagnostics: Diagnostic[];
}

/** A change of a factory's resource. */
export interface ResourceChange {
  /** The kind of resource. */
  kind: Open<'factory' | 'agent' | 'automation' | 'webhook' | 'runner' | 'skill' | 'scorer' | 'benchmark'>;
  /** Name. */
  name: string;
  /** The changed keys. */
  fields?: string[];
  /** Whether a resource with this name existed before. The new one has its own uid. */
  again?: boolean;
}

/** Files to check. */
export interface ValidateFilesRequest {
  /** The files, by path or as a list. */
  files: FileTree | ListedFile[];
}

/** A file in a list. */
export interface ListedFile {
  /** Path, such as `agents/triage/agent.md`. */
  path: string;
  /** Content. */
  content: string;
}

/** The result of validating files. */
export interface FilesValidation {
  /** Whether the files have no errors. */
  valid: boolean;
  /** The version in factory.yaml, or the current version. */
  schema_version: string;
  /** All findings. */
  diagnostics: Diagnostic[];
  validation_scope: ValidationScope;
  /** Checks that were skipped. They run when the files are applied. */
  state_dependent_checks_not_run: string[];
  /** Values that are resolved only when the files are applied. Always empty at present. */
  deferred_resolutions: DeferredResolution[];
}

/** The checks that were run. */
export interface ValidationScope {
  /** Whether the documents were parsed. */
  parser: Open<'checked' | 'not_run'>;
  /** Whether references between the files were checked. */
  state_independent: Open<'checked' | 'not_run'>;
  /** Whether references to resources of the server and the team were checked. */
  state_dependent: Open<'checked' | 'not_checked'>;
}

/** A value in a file that was not resolved. */
export interface DeferredResolution {
  /** Path of the file. */
  path: string;
  /** The field. */
  field: string;
  /** The kind of value. */
  kind: string;
}

/** The supported versions of factory files. */
export interface FactorySchemaVersions {
  /** The recommended version for new files. */
  current_version: string;
  /** All versions, sorted. */
  versions: FactorySchemaVersion[];
  /** Names of the documents, such as `agent.schema.json`. */
  documents: string[];
}

/** A version of factory files. */
export interface FactorySchemaVersion {
  /** The value of `schemaVersion`. */
  schema_version: string;
  /** Path of its schemas. */
  schema_url: string;
}

/** The schemas of one version of factory files. */
export interface FactorySchemas {
  /** The version. */
  schema_version: string;
  /** The schemas by name. The name is also the `$id`. */
  documents: Record<string, Record<string, unknown>>;
}

/** The definition of a factory. */
export interface FactoryDefinition {
  /** Revision number. It increases with each change. 0 until a revision is applied. */
  revision: number;
  /**
   * `applied`: the latest definition is active. `invalid`: the newest commit of the repository was rejected, and
   * the previous one stays active. `syncing`: the repository is being read, for the first time or on request.
   */
  status: Open<'applied' | 'invalid' | 'syncing'>;
  /** The active commit of the repository. */
  commit?: string;
  /** The newest commit, if it was rejected. */
  rejected_commit?: string;
  /** Why the newest commit was rejected. */
  detail?: string;
  /** Findings in the newest commit, at most 200. For a factory that was just created from files, its warnings. */
  diagnostics?: Diagnostic[];
  /** Why the repository cannot be read at the moment, such as an invalid credential. The active definition stays. */
  problem?: string;
  /** When the repository was last polled. */
  checked_at?: Timestamp;
  /**
   * Names of webhooks that do not yet use the new value of their managed secret. They start to use it with the
   * next change of the factory's files: for a factory that is defined by a repository, push a commit that
   * changes one of its files. A webhook with `secretRefresh: immediate` in its file uses a new value
   * immediately.
   */
  outdated_webhooks?: string[];
}

/** A page of factories. */
export interface ListFactoriesResponse {
  /** The factories, by name. */
  factories: Factory[];
  page_info: PageInfo;
}

/** A factory to create. */
export interface CreateFactoryRequest {
  /**
   * Name. Required without `files` and `repository`. With a repository, it is used until the first commit is
   * applied, whose factory.yaml sets the name. Defaults to the name of the repository.
   */
  name?: string | undefined;
  /** Short name: letters and digits of any script, spaces and `. _ -`. Not with `files` or `repository`. */
  alias?: string | undefined;
  /** Description. Not with `files` or `repository`. */
  description?: string | undefined;
  files?: FileTree | undefined;
  /** The repository that defines the factory. Not with `files`. */
  repository?: FactoryRepository | undefined;
}

/** Changes to a factory. */
export interface UpdateFactoryRequest {
  /** Name. */
  name?: string | undefined;
  /** Short name. */
  alias?: string | null | undefined;
  /** Purpose. */
  description?: string | null | undefined;
  /** What all its runs may reach, in addition to the other layers. An empty value removes it. */
  network?: Network | null | undefined;
  /** What all its runs may do on the forges of their repositories, in place of what it has set so far. An empty value removes it. */
  forge?: ForgeSettings | null | undefined;
  /** The models that all its runs may use. An empty value removes the limit. */
  models?: ModelPolicy | null | undefined;
  /** The repository of a factory that is defined by one. */
  repository?: FactoryRepository | undefined;
}

/** Work for a factory. */
export interface DispatchRequest {
  /** The task. */
  prompt: string;
  /** Title of the run. Defaults to a title from the prompt. */
  title?: string | undefined;
  /** The ticket of the work, as `<source>:<id>`. */
  ticket_ref?: string | undefined;
  /** URL of the ticket. */
  ticket_url?: string | undefined;
  /** What the work is about, such as `acme/shop#7`, without placeholders. One run at most works on a subject of the factory at a time: while one works, or for 14 days after its success, work with the same subject reaches that run. */
  subject?: string | undefined;
  /** What the work does while a run works on its subject. `coalesce` by default. Needs `subject`. */
  when_busy?: Known<WhenBusy> | undefined;
}

/** A dispatched run. */
export interface DispatchResponse {
  /** Unique id. */
  run_id: string;
  /** URL of the run's page. */
  run_url: string;
  state: RunState;
  /** The factory. */
  factory_uid: string;
  /** Name of the foreman that received the work. */
  foreman_agent: string;
  /** The ticket of the work, as `<source>:<id>`. `adhoc:<run id>` if the request has none. */
  ticket_ref: string;
  outcome?: CallOutcome;
}

/**
 * An event that starts an automation. `webhook` / `received` fires on deliveries to webhooks of the factory.
 * `schedule` / `cron_fired` fires on its own schedule or on schedules of the team. Events of `github` and `linear`
 * come from deliveries to every enabled webhook of the factory whose `signature_scheme` has the same name. A
 * delivery can contain several events. It starts one run of an automation, even if several of its triggers match.
 * Triggers of other providers are valid and stored, but not connected, as `problems` says. The same applies to
 * GitHub and Linear if the factory has no such webhook.
 */
export interface Trigger {
  /** Provider of the event. */
  provider: Open<'webhook' | 'schedule' | 'github' | 'gitlab' | 'linear' | 'jira' | 'slack' | 'factory'>;
  /** Name of the event. */
  event: string;
  /**
   * Conditions on the event. For `webhook`: `webhook_ids` (uids or names of the factory's webhooks) and
   * `payload` (a payload filter). For `schedule`: `schedule_ids`, if there is no `schedule`. Both lists need at
   * least one entry. For other providers: values for each key. All keys must match. An absent or empty key
   * matches everything. Each key except `payload` has a list, or an object with `in` and `not_in`. A value that
   * is missing from the event is in no list. Matching ignores case except in `branches`, `base_branches` and
   * `paths`. These and `repos` can be patterns: `*` and `?` match within a folder, `**` across folders. `paths`
   * matches if a push changes at least one matching file.
   */
  filter?: Record<string, unknown> | null | undefined;
  /** For `schedule`: a schedule of its own. */
  schedule?: CronTrigger | null | undefined;
}

/**
 * A cron schedule of a trigger. `CronSchedule` describes what happens when clocks change. A time that passed while
 * the server was down fires once when it is back, unless `catch_up` says otherwise.
 *
 * Clocks of one automation that are due at the same time start one run, for which `overlap` of the first of them
 * counts. Unless `catch_up` of one of them is `all`, they also start one run for all that they missed.
 *
 * If an automation's triggers are replaced and `catch_up` or `overlap` is absent, it stays as it was for the clock
 * with the same `name`, or else the same `cron`, or else at the same place among the clocks.
 */
export interface CronTrigger {
  /** When to fire: five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, `@every 1h30m`. */
  cron: string;
  /** Name that its runs show. */
  name?: string | undefined;
  /** IANA time zone name. UTC if absent. */
  timezone?: string | undefined;
  /** Another name of `timezone`. If a zone is set, responses have both. If a request has two different ones, the one that is not the present zone of this clock counts. */
  time_zone?: string | undefined;
  catch_up?: CatchUp | undefined;
  overlap?: Overlap | undefined;
  /** When it last started a run. Only in responses. */
  last_run?: Timestamp | undefined;
  /** When it fires next. Only in responses. */
  next_run?: Timestamp | undefined;
  /** Why no run was started at the last time that was decided. Only in responses. */
  last_error?: string | undefined;
}

/**
 * Starts a run of an agent of its factory when a trigger fires. A delivery starts one run, even if several
 * triggers match. The automation is the creator of its runs, which act for no user.
 */
export interface Automation {
  /** Unique id. */
  uid: string;
  /** Name. */
  name: string;
  /** Whether it fires. */
  enabled: boolean;
  /** Title of its runs. `{{data.order}}` stands for that string, number or boolean of the delivery's payload, as text; a value that does not exist is empty. Titles have up to 80 characters. Defaults to the name. */
  title?: string;
  /** The prompt of each run. */
  prompt: string;
  /** The triggers. */
  triggers: Trigger[];
  /** Why the automation or one of its triggers is inactive. */
  problems?: FieldError[];
  /** What events are about, as a template like `title`, such as `{{repository.full_name}}#{{pull_request.number}}`, or `auto` for what the provider names. Later events about the same reach the run that works on it. If a value is absent, the event has no subject. */
  subject?: string;
  /** Whose events about the same reach the same run: those of this automation (`automation`, the default), or of all automations of the factory that have `factory`. These must have the same agent, secrets, environment, runner, worker host and MCP servers. A follow-up has the prompt of the automation whose events it has. */
  subject_scope?: Open<'automation' | 'factory'>;
  /** What an event does while a run works on its subject. `coalesce` by default. */
  when_busy?: WhenBusy;
  /** How long no event of the subject must come before a run or follow-up starts. By default a first event starts at once, and later ones wait for 30s; with `queue` and `replace` they do not wait. */
  quiet?: Period;
  /** The most that an event waits for `quiet`. 5m by default. */
  longest_wait?: Period;
  /** How long after its success later events continue a run. 14d by default. */
  keep?: Period;
  /** How often events may continue a run before a person has to answer. 20 by default. */
  max_followups?: number;
  /** The prompt for later events. Defaults to `prompt`. */
  followup_prompt?: string;
  /** Events that reach the run which works on their subject, or has succeeded less than `keep` ago, and never start one, such as a comment. The event must come to the webhook whose event started the run. Not `schedule`. */
  continue_on?: Trigger[];
  /** Events that end their subject: what waits is skipped, and nothing starts or continues until an event of `triggers` with a newer `updated_at` opens it again, with a new run. They come before `triggers`. Not `schedule`. */
  closes?: Trigger[];
  /** Whether they also cancel the run on the subject. */
  closes_run?: boolean;
  /** After so many runs in a row that ended `FAILED` or `ERROR`, it is paused until it is enabled again. A `CANCELLED` run neither counts nor ends the row. 0, the default, never pauses it. */
  pause_after_failures?: number;
  /** How often a run is expected to start, or an event to reach one, such as `26h`; at least `1m`. If none does for so long, it is `silent`, and endpoints get `automation.silent`. Runs that somebody starts by hand do not count. 0, the default, expects none. */
  expect_every?: Period;
  /** Failures have paused it: `enabled` is false. Deliveries and times are skipped. */
  paused?: FailuresInARow;
  /** One more failure pauses it. */
  degraded?: FailuresInARow;
  /** It has started nothing for the time of `expect_every`. */
  silent?: Silence;
  /** What happens to a run that is `hollow`. `alert` by default. A run keeps the value that the automation had when it started. */
  on_hollow?: OnHollow;
  /** The agent, by its name in the factory. Defaults to the foreman. */
  agent?: string;
  /** Model of its runs: short for the built-in harness with this model. Not with `harness`. */
  model?: string;
  /** The harness of its runs. Not with `model`. */
  harness?: Harness;
  /** The runner of its runs. */
  runner?: string;
  /** The environment of its runs. */
  environment_id?: string;
  /** Managed secrets for its runs, instead of the agent's. */
  secrets?: string[];
  /** MCP servers of its runs by name, instead of the agent's. */
  mcp_servers?: Record<string, MCPServerConfig>;
  /** The self-hosted worker of its runs. */
  worker_host?: string;
  /** What its runs may do on the forges of their repositories. Each value is inherited by itself. */
  forge?: ForgeSettings;
  /** Repositories that its runs work on beside the environment's, in place of the agent's. An empty list means none. */
  repositories?: RunRepository[];
  /** The secrets with the harness's credentials, as the factory's files name them. */
  harness_auth_secrets?: Record<string, unknown>;
  /** Whose credentials its runs use. */
  credential_strategy?: Open<'CREATOR' | 'EXECUTOR'>;
  /** When it was created. */
  created_at: Timestamp;
  /** When it last changed. */
  updated_at: Timestamp;
}

/** Automations. */
export interface ListAutomationsResponse {
  /** The automations, by name. */
  automations: Automation[];
}

/** An automation to create. */
export interface CreateAutomationRequest {
  /** Name. Converted to lower case, with `-` for spaces. */
  name: string;
  /** Whether it fires. */
  enabled?: boolean | undefined;
  /** Title of its runs. `{{data.order}}` stands for that string, number or boolean of the delivery's payload, as text; a value that does not exist is empty. Titles have up to 80 characters. Defaults to the name. */
  title?: string | undefined;
  /** The prompt of each run. */
  prompt: string;
  /** The triggers. */
  triggers: Trigger[];
  /** What events are about, as a template like `title`, such as `{{repository.full_name}}#{{pull_request.number}}`, or `auto` for what the provider names. Later events about the same reach the run that works on it. If a value is absent, the event has no subject. */
  subject?: string | undefined;
  /** Whose events about the same reach the same run: those of this automation (`automation`, the default), or of all automations of the factory that have `factory`. These must have the same agent, secrets, environment, runner, worker host and MCP servers. A follow-up has the prompt of the automation whose events it has. */
  subject_scope?: 'automation' | 'factory' | undefined;
  /** What an event does while a run works on its subject. `coalesce` by default. */
  when_busy?: Known<WhenBusy> | undefined;
  /** How long no event of the subject must come before a run or follow-up starts. By default a first event starts at once, and later ones wait for 30s; with `queue` and `replace` they do not wait. */
  quiet?: Period | undefined;
  /** The most that an event waits for `quiet`. 5m by default. */
  longest_wait?: Period | undefined;
  /** How long after its success later events continue a run. 14d by default. */
  keep?: Period | undefined;
  /** How often events may continue a run before a person has to answer. 20 by default. */
  max_followups?: number | undefined;
  /** The prompt for later events. Defaults to `prompt`. */
  followup_prompt?: string | undefined;
  /** Events that reach the run which works on their subject, or has succeeded less than `keep` ago, and never start one, such as a comment. The event must come to the webhook whose event started the run. Not `schedule`. */
  continue_on?: Trigger[] | undefined;
  /** Events that end their subject: what waits is skipped, and nothing starts or continues until an event of `triggers` with a newer `updated_at` opens it again, with a new run. They come before `triggers`. Not `schedule`. */
  closes?: Trigger[] | undefined;
  /** Whether they also cancel the run on the subject. */
  closes_run?: boolean | undefined;
  /** After so many runs in a row that ended `FAILED` or `ERROR`, it is paused until it is enabled again. A `CANCELLED` run neither counts nor ends the row. 0, the default, never pauses it. */
  pause_after_failures?: number | undefined;
  /** How often a run is expected to start, or an event to reach one, such as `26h`; at least `1m`. If none does for so long, it is `silent`, and endpoints get `automation.silent`. Runs that somebody starts by hand do not count. 0, the default, expects none. */
  expect_every?: Period | undefined;
  /** What happens to a run that is `hollow`. `alert` by default. A run keeps the value that the automation had when it started. */
  on_hollow?: Known<OnHollow> | undefined;
  /** The agent, by its name in the factory. Defaults to the foreman. */
  agent?: string | undefined;
  /** Model of its runs: short for the built-in harness with this model. Not with `harness`. */
  model?: string | undefined;
  /** The harness of its runs. Not with `model`. */
  harness?: Harness | undefined;
  /** The runner of its runs. */
  runner?: string | undefined;
  /** The environment of its runs. */
  environment_id?: string | undefined;
  /** Managed secrets for its runs, instead of the agent's. */
  secrets?: string[] | undefined;
  /** MCP servers of its runs by name, instead of the agent's. */
  mcp_servers?: Record<string, MCPServerConfig> | undefined;
  /** The self-hosted worker of its runs. */
  worker_host?: string | undefined;
  /** What its runs may do on the forges of their repositories. Each value is inherited by itself. */
  forge?: ForgeSettings | undefined;
  /** Repositories that its runs work on beside the environment's, in place of the agent's. An empty list means none. */
  repositories?: RunRepository[] | undefined;
  /** Whose credentials its runs use. */
  credential_strategy?: 'CREATOR' | 'EXECUTOR' | undefined;
}

/** Changes to an automation. Null clears a field. */
export interface UpdateAutomationRequest {
  /** Name. */
  name?: string | undefined;
  /** Whether it fires. */
  enabled?: boolean | undefined;
  /** Title of its runs. `{{data.order}}` stands for that string, number or boolean of the delivery's payload, as text; a value that does not exist is empty. Titles have up to 80 characters. Defaults to the name. */
  title?: string | null | undefined;
  /** The prompt of each run. */
  prompt?: string | undefined;
  /** The triggers. */
  triggers?: Trigger[] | undefined;
  /** What events are about, as a template like `title`, such as `{{repository.full_name}}#{{pull_request.number}}`, or `auto` for what the provider names. Later events about the same reach the run that works on it. If a value is absent, the event has no subject. */
  subject?: string | null | undefined;
  /** Whose events about the same reach the same run: those of this automation (`automation`, the default), or of all automations of the factory that have `factory`. These must have the same agent, secrets, environment, runner, worker host and MCP servers. A follow-up has the prompt of the automation whose events it has. */
  subject_scope?: 'automation' | 'factory' | null | undefined;
  /** What an event does while a run works on its subject. `coalesce` by default. */
  when_busy?: Known<WhenBusy> | null | undefined;
  /** How long no event of the subject must come before a run or follow-up starts. By default a first event starts at once, and later ones wait for 30s; with `queue` and `replace` they do not wait. */
  quiet?: Period | null | undefined;
  /** The most that an event waits for `quiet`. 5m by default. */
  longest_wait?: Period | null | undefined;
  /** How long after its success later events continue a run. 14d by default. */
  keep?: Period | null | undefined;
  /** How often events may continue a run before a person has to answer. 20 by default. */
  max_followups?: number | null | undefined;
  /** The prompt for later events. Defaults to `prompt`. */
  followup_prompt?: string | null | undefined;
  /** Events that reach the run which works on their subject, or has succeeded less than `keep` ago, and never start one, such as a comment. The event must come to the webhook whose event started the run. Not `schedule`. */
  continue_on?: Trigger[] | null | undefined;
  /** Events that end their subject: what waits is skipped, and nothing starts or continues until an event of `triggers` with a newer `updated_at` opens it again, with a new run. They come before `triggers`. Not `schedule`. */
  closes?: Trigger[] | null | undefined;
  /** Whether they also cancel the run on the subject. */
  closes_run?: boolean | null | undefined;
  /** After so many runs in a row that ended `FAILED` or `ERROR`, it is paused until it is enabled again. A `CANCELLED` run neither counts nor ends the row. 0, the default, never pauses it. */
  pause_after_failures?: number | null | undefined;
  /** How often a run is expected to start, or an event to reach one, such as `26h`; at least `1m`. If none does for so long, it is `silent`, and endpoints get `automation.silent`. Runs that somebody starts by hand do not count. 0, the default, expects none. */
  expect_every?: Period | null | undefined;
  /** What happens to a run that is `hollow`. `alert` by default. A run keeps the value that the automation had when it started. */
  on_hollow?: Known<OnHollow> | null | undefined;
  /** The agent, by its name in the factory. Defaults to the foreman. */
  agent?: string | null | undefined;
  /** Model of its runs: short for the built-in harness with this model. Not with `harness`. */
  model?: string | null | undefined;
  /** The harness of its runs. Not with `model`. */
  harness?: Harness | null | undefined;
  /** The runner of its runs. */
  runner?: string | null | undefined;
  /** The environment of its runs. */
  environment_id?: string | null | undefined;
  /** Managed secrets for its runs, instead of the agent's. */
  secrets?: string[] | null | undefined;
  /** MCP servers of its runs by name, instead of the agent's. */
  mcp_servers?: Record<string, MCPServerConfig> | null | undefined;
  /** The self-hosted worker of its runs. */
  worker_host?: string | null | undefined;
  /** What its runs may do on the forges of their repositories, in place of what it has set so far. An empty value removes it. */
  forge?: ForgeSettings | null | undefined;
  /** Repositories that its runs work on, in place of the agent's. An empty list means none, and null those of the agent. The key of an agent can only remove some. */
  repositories?: RunRepository[] | null | undefined;
  /** Whose credentials its runs use. */
  credential_strategy?: 'CREATOR' | 'EXECUTOR' | null | undefined;
}

/** A filter and its input. Set at most one of `payload` and `delivery_id`. */
export interface TestFilterRequest {
  /** Provider of the filter's trigger. For `webhook` it is a payload filter. */
  provider?: 'webhook' | 'github' | 'linear' | undefined;
  /** The event of the trigger. Required for `github` and `linear`. */
  event?: string | undefined;
  /** A payload filter, or the filter of a trigger. */
  filter: Record<string, unknown>;
  /** The webhook that received the delivery. */
  webhook_uid?: string | undefined;
  /** An accepted delivery with a stored payload. */
  delivery_id?: string | undefined;
  /** A payload: any JSON value. */
  payload?: unknown | undefined;
  /** The `X-GitHub-Event` header of a GitHub payload. Required for it. */
  github_event?: string | undefined;
}

/** The result of a filter. */
export interface FilterTestResult {
  /** Whether every check passed. */
  would_trigger: boolean;
  /** The checks, in order. */
  checks: FilterCheck[];
  sample?: FilterSample;
}

/** A check of a filter. */
export interface FilterCheck {
  /** Subject of the check: whether the webhook accepts deliveries, the payload, or its event. */
  check: Open<'webhook' | 'payload' | 'event'>;
  /** Whether the check passed. */
  passed: boolean;
  /** JSON pointer of the first key of the filter that failed. */
  path?: string;
  /** Why the check failed: one sentence, as in DeliveryMatch. */
  reason?: string;
  /** The condition that failed: object, if the filter names keys below the value; event, if the trigger waits for other events. */
  operator?: Open<'in' | 'not_in' | 'exists' | 'object' | 'event'>;
  /** The first values of the delivery, each cut to 60 characters and without control characters. An object is {…}, and the value of a key that is named like a secret, such as token, is ***. For objects in an array, the values of the one key that the filter tests. Missing if the delivery lacks the key. */
  actual?: string[];
  /** The first values of the condition, shown in the same way; of exists, true or false; of object, the keys that the filter names below; of event, the events that start a run. */
  expected?: string[];
}

/** The webhook's latest accepted deliveries. */
export interface FilterSample {
  /** Number of deliveries that match. */
  matched: number;
  /** Number of deliveries checked. */
  of: number;
  /** The result of each delivery, newest first. */
  deliveries: FilterDelivery[];
}

/** The result of a filter for a stored delivery. */
export interface FilterDelivery {
  /** The delivery. */
  delivery_id: string;
  /** When the delivery arrived. */
  received_at: Timestamp;
  /** The event as the sender names it. */
  event_type?: string;
  /** The first values of the payload in one line, for people. */
  summary?: string;
  /** Whether the filter matches. */
  would_trigger: boolean;
  /** JSON pointer of the first key of the filter that failed. */
  path?: string;
  /** Why the filter does not match: one sentence, as in DeliveryMatch. */
  reason?: string;
  /** The condition that failed: object, if the filter names keys below the value; event, if the trigger waits for other events. */
  operator?: Open<'in' | 'not_in' | 'exists' | 'object' | 'event'>;
  /** The first values of the delivery, each cut to 60 characters and without control characters. An object is {…}, and the value of a key that is named like a secret, such as token, is ***. For objects in an array, the values of the one key that the filter tests. Missing if the delivery lacks the key. */
  actual?: string[];
  /** The first values of the condition, shown in the same way; of exists, true or false; of object, the keys that the filter names below; of event, the events that start a run. */
  expected?: string[];
}

/** A delivery for the server to send. */
export interface TestDeliveryRequest {
  /** The payload: any JSON value. Default: an example. */
  payload?: unknown | undefined;
  /** The header `X-GitHub-Event` of a `payload`, for a webhook with the scheme `github`. Default: `ping`, which fires no trigger. */
  github_event?: string | undefined;
  /** Sends a sample of this event of a `github` or `linear` trigger, such as `pull_request_opened`. Only for webhooks with that scheme. */
  event?: string | undefined;
  /** Sends the payload of this accepted delivery of the webhook again, with the name of its event. */
  delivery_id?: string | undefined;
}

/** A captured request of a sender. */
export interface VerifyWebhookRequest {
  /** The headers, in any case. */
  headers: Record<string, string>;
  /** The body, byte for byte as it was sent. */
  body: string;
  /** When the request arrived. Default: now. */
  at?: Timestamp | undefined;
}

/** Whether a request is authentic. */
export interface WebhookVerification {
  /** Whether the request is valid with a current secret of the webhook. */
  valid: boolean;
  /** Why it is not authentic, as in the delivery log: `missing_header`, `bad_format`, `stale`, `future`, `mismatch` or `no_secret`. */
  reason?: string;
  /** What is wrong, for people. */
  detail?: string;
  /** A small change that would make the request valid, described for people. */
  hint?: string;
}

/** An authenticated URL that starts automations. */
export interface Webhook {
  /** Unique id, with 131 random bits. */
  uid: string;
  /** Name, unique in the factory. */
  name: string;
  /** Display name. */
  label: string;
  /** How deliveries are authenticated. */
  auth_mode: WebhookAuthMode;
  /** The sender's signature scheme. Only for `signature`. */
  signature_scheme?: SignatureScheme;
  /** The scheme of `custom_hmac`, or the settings of `grafana`. */
  signature?: Signature;
  /** Name of its managed secret. */
  secret_name: string;
  /** A header that identifies deliveries. */
  delivery_id_header?: string;
  /** Whether the same signed content is a duplicate even if its unsigned id differs. */
  replay_guard: boolean;
  /** How long an equal body is a duplicate if nothing else identifies deliveries. `0` turns this off. Empty means the setting of the server. */
  dedup_body_window?: string;
  /** Whether a delivery that started no run is evaluated again when it comes again. */
  retry_unmatched: boolean;
  /** Whether unsigned setup requests get 200 until the first verified delivery. */
  setup_pings: boolean;
  /** When the webhook starts to use a new value of its managed secret. */
  secret_refresh: SecretRefresh;
  /** Whether the webhook accepts deliveries. Otherwise they get 404. */
  enabled: boolean;
  /** Whether an enabled webhook temporarily rejects deliveries with 404. This is not part of the factory's files, so changes of the files do not affect it. */
  suspended: boolean;
  /** Whether the webhook waits for its secret. It rejects deliveries until then. */
  pending_secret: boolean;
  /**
   * Whether the webhook does not yet use the new value of its managed secret. It starts to use the value when it
   * is changed or enabled, or with the next change of the factory's files; immediately if `secret_refresh` is
   * `immediate`.
   */
  outdated_secret: boolean;
  /** Where to send deliveries. For `url_token`, `{token}` stands for the secret, except in the response that shows the secret. */
  ingress_url: string;
  /** The valid secrets, newest first. */
  secrets: WebhookSecret[];
  /** The deliveries of the last 24 hours. */
  counts: DeliveryCounts;
  /** When it was created. */
  created_at: Timestamp;
  /** When it last changed. */
  updated_at: Timestamp;
  /** When the last authenticated delivery arrived, including duplicates. */
  last_delivery_at?: Timestamp;
  /** The secret. Only in the response that creates it. */
  secret?: string;
}

/** Signature schemes. */
export interface ListSignatureSchemesResponse {
  /** The schemes, in display order. */
  signature_schemes: SignaturePreset[];
}

/** A supported signature scheme. */
export interface SignaturePreset {
  /** Name. */
  scheme: SignatureScheme;
  /** Name of the sender. */
  sender: string;
  /** Where to find the secret at the sender. */
  hint: string;
  /** Whether the sender generates the secret after the URL is registered. The webhook is then created without a secret and completed later. */
  secret_after_url: boolean;
  /** Whether the sender accepts a secret that the server generates. */
  secret_generated: boolean;
  /** Whether the sender checks the URL with an unsigned request, which gets 401 without the webhook's `setup_pings`. */
  setup_pings?: boolean;
  /** The layouts that are tried in turn. Empty for `custom_hmac`, which the webhook describes. */
  forms: SignatureForm[];
}

/** One layout of a signature. */
export interface SignatureForm {
  /** The header that contains the signature. */
  header: string;
  /** Text before each signature, such as `sha256=`. */
  prefix?: string;
  /** Hash function of an HMAC. */
  hash?: Open<'sha1' | 'sha256' | 'sha512'>;
  /** Encoding of the signature. */
  encoding?: Open<'hex' | 'base64'>;
  /** How the key is derived from the secret. */
  key_form?: Open<'text' | 'base64' | 'hex' | 'whsec' | 'whpk' | 'ed25519'>;
  /** The signed text. */
  template?: string;
  /** The header that contains `{timestamp}`. */
  timestamp_header?: string;
  /** How the signature is computed. For `token`, the header contains the secret itself. */
  algorithm: Open<'hmac' | 'ed25519' | 'token'>;
  /** Separator between several signatures in the header. */
  separator?: string;
  /** Whether the name in `header` is followed by a number, from 1 to 100, with a signature in each header. */
  numbered?: boolean;
  /** The header that lists the names of `{signed_headers}`. */
  signed_headers?: string;
  /** The field of the signature header that contains `{timestamp}`. */
  timestamp_field?: string;
  /** The key of the body that contains the timestamp. */
  timestamp_body?: string;
  /** Format of the timestamp. */
  timestamp_unit?: Open<'s' | 'ms' | 'rfc3339' | 'any'>;
  /** Maximum difference between the timestamp and the server's time, in both directions. */
  tolerance_seconds?: number;
  /** Maximum age of the timestamp, if it is more than `tolerance_seconds`: the sender repeats a delivery with the bytes of the first attempt. */
  max_age_seconds?: number;
  /** Whether the same signed bytes under another id are a duplicate even without `replay_guard`. */
  once?: boolean;
  /** The header with the sender's delivery id. */
  id_header?: string;
  /** The key of the body with the delivery id. */
  id_body?: string;
  /** All headers that the signature depends on, starting with its own. */
  headers: string[];
  /** Whether the signature covers a timestamp, which prevents replays of old deliveries. */
  time_signed: boolean;
  /** Whether the signature covers the delivery id, which prevents replays under another id. */
  id_signed: boolean;
}

/** Times of a schedule. */
export interface ScheduleTimes {
  /** The next five times, or fewer if there are no more. */
  upcoming: Timestamp[];
}

/** A valid secret, without its value. */
export interface WebhookSecret {
  /** 0 is the current secret. Higher numbers are older. */
  index: number;
  /** When the secret last authenticated a delivery, to the minute. */
  last_used_at?: Timestamp;
  /** When the secret expires, after a rotation with an overlap. */
  expires_at?: Timestamp;
}

/** Deliveries of the last 24 hours, accurate to a quarter of an hour. */
export interface DeliveryCounts {
  /** Accepted deliveries. */
  accepted: number;
  /** Duplicates of accepted deliveries. */
  duplicate: number;
  /** Deliveries that were not authenticated, not JSON, or too large. */
  rejected: number;
  /** Deliveries beyond the rate limit. */
  rate_limited: number;
  /** Requests while the webhook was disabled or suspended, or waited for its secret. They got 404, and nothing of them was checked or stored. */
  turned_away?: number;
}

/** Outcome of a delivery. It never changes. */
export type Outcome = Open<'accepted' | 'duplicate' | 'rejected_auth' | 'rejected_json' | 'rejected_size'>;

/** An entry of a webhook's delivery log. */
export interface Delivery {
  /** Unique id. */
  delivery_id: string;
  /** The webhook. */
  webhook_uid: string;
  /** Outcome of the delivery. */
  outcome: Outcome;
  /** Outcome in words, such as Rejected (auth). */
  label: string;
  /**
   * Details of the outcome. Failed authentication: `missing_header`, `bad_format`, `stale`, `future`, `mismatch`
   * or `no_secret`, or `setup_ping` for an unsigned request that only checks the URL. Invalid body:
   * `invalid_json`, `content_encoding` or `form`. Duplicate: `replayed_signature`. `handshake` if the sender only
   * verified the URL.
   */
  reason?: string;
  /** Why the delivery was rejected, for people. For an invalid body, it is what the sender got. */
  detail?: string;
  /** What the owner of the webhook could change because of this delivery, for people. */
  advice?: string;
  /** Size of the body in bytes. If the body was not read, the announced size. */
  size: number;
  /** When the delivery arrived. */
  received_at: Timestamp;
  /**
   * What identifies the delivery. `x_penstock_delivery_id` also stands for `X-Service-Delivery-Id` and
   * `X-Warp-Delivery-Id`. `none` for a rejection or a handshake, whose identity is not read.
   */
  identity_source: Open<'delivery_id_header' | 'provider' | 'x_penstock_delivery_id' | 'body_hash' | 'replay' | 'none'>;
  /** The delivery that was accepted first. */
  duplicate_of?: string;
  /** HTTP status of the response to the sender. */
  http_status: number;
  /** The runs that the delivery started. */
  runs: string[];
  /** The match result of each automation. */
  matches: DeliveryMatch[];
  /** The delivery that this one replays. */
  replay_of?: string;
  /** Allowed headers of the request, without secrets. Names are in lower case. */
  headers: Record<string, string>;
  /** SHA-256 of the body. */
  payload_sha256?: string;
  /** The event as the sender names it, in a header or in the payload, such as pull_request.opened. Not verified. */
  event_type?: string;
  /** The first values of the payload in one line, for people. */
  summary?: string;
  /** Client address. Empty for a replay. */
  client_ip: string;
}

/**
 * What an event does while a run works on its subject. `coalesce`: events are gathered for one follow-up after the
 * turn. `queue`: each event has a follow-up of its own, in order. `replace`: the turn is interrupted, and only the
 * newest event follows; at most once in `longest_wait`. `parallel`: the event starts a run of its own.
 */
export type WhenBusy = Open<'coalesce' | 'queue' | 'replace' | 'parallel'>;

/**
 * What happens to a run of an automation that is `hollow`. `alert`: it stays SUCCEEDED, and event endpoints get
 * `run.hollow`. `fail`: it is FAILED with `agent_did_nothing`, which counts for `pause_after_failures`, and endpoints
 * get `run.failed`. `none`: it stays SUCCEEDED, and `run.hollow` is not sent. `hollow` and `hollow_reason` of the run
 * are the same in each case. Other runs are treated as with `alert`.
 */
export type OnHollow = Open<'alert' | 'fail' | 'none'>;

/** An automation or schedule has started nothing for too long. */
export interface Silence {
  /** Since when a start is overdue. */
  since: Timestamp;
  /** The same in words, with the last start. */
  reason: string;
}

/** The runs in a row that failed. */
export interface FailuresInARow {
  /** Since when it is paused or degraded. */
  since: Timestamp;
  /** How many runs failed in a row. */
  failures: number;
  /** The last one. */
  last_run_id: string;
  /** The same in words. */
  reason: string;
}

/** A time such as `30s`, `5m` or `14d`, up to `366d`, or 0. */
export type Period = string;

/**
 * What the events of an automation, or requests for runs, are about, such as a pull request, with the run that
 * works on it. One run at most works on a subject at a time.
 */
export interface Subject {
  /** Unique id. */
  uid: string;
  /** The subject, with the values of the latest event. */
  subject: string;
  /** The automation that started the newest run. Absent for requests. */
  automation_uid?: string;
  /** The factory. */
  factory_uid?: string;
  /** The webhook that receives the events. */
  webhook_uid?: string;
  /** The newest run. */
  run_id?: string;
  /** Its state. Absent if the run is no longer kept. */
  run_state?: RunState;
  /** How many events came. */
  events_count: number;
  /** How many of them no run has received yet. */
  waiting_count: number;
  /** When the events that wait start something, at the earliest. */
  next_at?: Timestamp;
  /** The time of the event that closed the subject. Absent while it is open. */
  closed_at?: Timestamp;
  /** When the first event came. */
  created_at: Timestamp;
  /** When the latest event came. */
  updated_at: Timestamp;
  /** The latest 200 events, newest first. Absent in a list. */
  events?: SubjectEvent[];
}

/** An event that is about a subject, and what became of it. */
export interface SubjectEvent {
  /** Unique id. */
  occurrence_uid: string;
  /** What it was: a delivery to a webhook, a request for a run, or work for a factory. */
  kind: Open<'delivery' | 'call' | 'dispatch'>;
  /** The delivery. */
  delivery_id?: string;
  /** The webhook of the delivery. */
  webhook_uid?: string;
  /** When it came. */
  due_at: Timestamp;
  /** When its fate was decided. Absent while it waits. */
  decided_at?: Timestamp;
  /** What became of it. */
  fate: Fate;
  /** Why, in words. */
  reason?: string;
  /** The run that has it. */
  run_id?: string;
  /** The follow-up that gave it to the run. Absent if it came with the first prompt. */
  followup_id?: string;
  /** The automation that waited for the event, if automations of a factory share the subject. */
  automation_uid?: string;
}

/** A page of subjects. */
export interface ListSubjectsResponse {
  /** The subjects, newest first. */
  subjects: Subject[];
  /** Position in the list. */
  page_info: PageInfo;
}

/** The match result of one automation. */
export interface DeliveryMatch {
  /** Name. */
  automation: string;
  /** Unique id. */
  automation_uid: string;
  /** Whether the delivery started a run. */
  would_trigger: boolean;
  /** The run. If the delivery is about a subject: the run that has received it. */
  run_id?: string;
  /** What the delivery is about for the automation. */
  subject?: string;
  /** Its unique id. */
  subject_uid?: string;
  /** What became of the delivery, if it is about a subject. */
  fate?: Fate;
  /** Why, in words. */
  fate_reason?: string;
  /**
   * What failed, if no run started: the JSON pointer of the first key of the filter that failed, such as
   * `/data/status` of a payload filter or `/labels` of a `github` or `linear` trigger. Empty for the body as a
   * whole, and for another event. `automation` if the automation is invalid.
   */
  failed_at?: string;
  /** Why no run started: one sentence for people, with the value and what was expected. Names and values are between backticks. If the payload is no longer stored, the sentence has no value of it. Of several filters, the nearest explains it. */
  reason?: string;
  /** What failed: a payload filter, so that `failed_at` points into the payload, or a trigger on events of GitHub or Linear. */
  check?: Open<'payload' | 'event'>;
  /** The condition that failed: object, if the filter names keys below the value; event, if the trigger waits for other events. */
  operator?: Open<'in' | 'not_in' | 'exists' | 'object' | 'event'>;
  /** The first values of the delivery, each cut to 60 characters and without control characters. An object is {…}, and the value of a key that is named like a secret, such as token, is ***. For objects in an array, the values of the one key that the filter tests. Missing if the delivery lacks the key, or its payload is no longer stored. */
  actual?: string[];
  /** The first values of the condition, shown in the same way; of exists, true or false; of object, the keys that the filter names below; of event, the events that start a run. */
  expected?: string[];
}

/** A page of a webhook's deliveries. */
export interface ListDeliveriesResponse {
  /** The deliveries, newest first. */
  deliveries: Delivery[];
  /** Position in the list. */
  page_info: PageInfo;
}

/** Webhooks. */
export interface ListWebhooksResponse {
  /** The webhooks. */
  webhooks: Webhook[];
}

/**
 * The runs that share a budget. `team`: all. `factory`, `agent`, `automation`: its runs. `key`: the runs that an
 * API key has created.
 */
export type BudgetScope = Open<'team' | 'factory' | 'agent' | 'automation' | 'key'>;

/**
 * When a budget starts again at zero, in its time zone. A week begins on Monday. `total`: never. A call counts in
 * the period in which it was sent.
 */
export type BudgetPeriod = Open<'day' | 'week' | 'month' | 'total'>;

/**
 * What happens to a run whose next call has no room. `pause`: it is BLOCKED, and continues when the budget has
 * room. `refuse`: it ends FAILED.
 */
export type BudgetAction = Open<'pause' | 'refuse'>;

/** A budget. */
export interface CreateBudgetRequest {
  scope: Known<BudgetScope>;
  /** The factory, agent, automation or key. Required for these scopes, and not allowed for `team`. */
  scope_uid?: string | undefined;
  period: Known<BudgetPeriod>;
  /** IANA time zone, such as `Europe/Berlin`. */
  time_zone?: string | undefined;
  /** The most that the runs can spend in a period, in US dollars. With 0 they can spend nothing. */
  max_cost_usd: number;
  /** What happens to a run whose next call has no room. */
  action?: 'pause' | 'refuse' | undefined;
  /** Shares of `max_cost_usd`. When a call takes the budget beyond a share, the timeline of its run gets an event. */
  notify_at?: number[] | undefined;
}

/** The fields to change. */
export interface UpdateBudgetRequest {
  period?: Known<BudgetPeriod> | undefined;
  /** IANA time zone, such as `Europe/Berlin`. Null means UTC. */
  time_zone?: string | null | undefined;
  /** The most that the runs can spend in a period, in US dollars. With 0 they can spend nothing. */
  max_cost_usd?: number | undefined;
  /** What happens to a run whose next call has no room. Null means `pause`. */
  action?: 'pause' | 'refuse' | null | undefined;
  /** Shares of `max_cost_usd`. When a call takes the budget beyond a share, the timeline of its run gets an event. Null means 0.8. */
  notify_at?: number[] | null | undefined;
}

/** A cap on what many runs spend together. Each run can also have a budget of its own, in its configuration. */
export interface Budget {
  /** Unique id. */
  uid: string;
  scope: BudgetScope;
  /** The factory, agent, automation or key. Absent for `team`. */
  scope_uid?: string;
  /** Its name. Absent for `team`, and if it no longer exists. */
  scope_name?: string;
  /** The name of the factory that the agent or automation belongs to. Absent without one. */
  factory_name?: string;
  period: BudgetPeriod;
  /** IANA time zone. */
  time_zone: string;
  /** The most that the runs can spend in a period, in US dollars. */
  max_cost_usd: number;
  action: BudgetAction;
  /** Shares of `max_cost_usd` that are reported, lowest first. */
  notify_at: number[];
  /** When it was created. */
  created_at: Timestamp;
  /** When it last changed. */
  updated_at: Timestamp;
  /** Start of the current period. Absent for `total`. */
  period_start?: Timestamp;
  /** End of the current period. Absent for `total`. */
  period_end?: Timestamp;
  /** Cost of the calls in the current period, in US dollars. */
  spent_usd: number;
  /** The most that calls in flight can cost, in US dollars. It is not part of `spent_usd`. */
  reserved_usd: number;
}

/** Budgets. */
export interface ListBudgetsResponse {
  /** The budgets. */
  budgets: Budget[];
}

/** A type of messages to event endpoints. */
export type EventType = Open<'run.created' | 'run.started' | 'run.blocked' | 'run.stalled' | 'run.hollow' | 'run.succeeded' | 'run.failed' | 'run.errored' | 'run.cancelled' | 'run.budget_threshold' | 'budget.threshold' | 'budget.exceeded' | 'automation.paused' | 'automation.degraded' | 'automation.silent' | 'automation.recovered' | 'definition.applied' | 'definition.rejected' | 'webhook.failing' | 'schedule.missed' | 'worker.lost' | 'endpoint.disabled'>;

/** The type of a message. `endpoint.ping` is sent only on request. */
export type MessageType = Open<'run.created' | 'run.started' | 'run.blocked' | 'run.stalled' | 'run.hollow' | 'run.succeeded' | 'run.failed' | 'run.errored' | 'run.cancelled' | 'run.budget_threshold' | 'budget.threshold' | 'budget.exceeded' | 'automation.paused' | 'automation.degraded' | 'automation.silent' | 'automation.recovered' | 'definition.applied' | 'definition.rejected' | 'webhook.failing' | 'schedule.missed' | 'worker.lost' | 'endpoint.disabled' | 'endpoint.ping'>;

/** A connection to a host of repositories. */
export interface Forge {
  /** Unique id. */
  uid: string;
  /** Name, unique in the team. */
  name: string;
  provider: ForgeProvider;
  /** URL of the forge, without a slash at its end. */
  url: string;
  /** How the server authenticates: with the token of a bot account. */
  auth: 'token';
  bot?: ForgeBot;
  /** Whether the requests of runs are sent with a token of their own that can only read. */
  read_token: boolean;
  /** The factories whose runs may use the connection. Absent for all runs of the team. */
  factories?: string[];
  /** The repositories that runs may use, as `owner/name` or `owner/*`. Absent for all that the bot can read. */
  repositories?: string[];
  /** The URL to which the forge sends its events. */
  ingress_url?: string;
  /** The secret with which the forge signs them. Only the responses that create one have it. */
  secret?: string;
  status: ForgeStatus;
  /** Why it is not `connected`. */
  problem?: string;
  /** When the token expires, if the forge says so. */
  expires_at?: Timestamp;
  /** When the forge last answered a check. */
  checked_at?: Timestamp;
  /** When it was created. */
  created_at: Timestamp;
  /** When somebody last changed it. */
  updated_at: Timestamp;
}

/** A new secret of a connection. */
export interface RotateForgeSecretRequest {
  /** How long the old secret stays valid, in seconds. */
  overlap_seconds?: number | undefined;
}

/** The software of the forge. Forgejo is `gitea`. `gitlab` is not supported yet: it returns 422. */
export type ForgeProvider = Open<'github' | 'gitea' | 'gitlab'>;

/**
 * `pending`: the forge has not answered yet. `connected`: the last check found nothing missing. `degraded`: a
 * permission is missing, the token expires within 14 days, or the forge does not answer. `revoked`: the forge
 * refuses the token, and runs that need the connection fail.
 */
export type ForgeStatus = Open<'pending' | 'connected' | 'degraded' | 'revoked'>;

/** The account that a connection acts as. */
export interface ForgeBot {
  /** Its name. */
  login: string;
  /** Its number on the forge. */
  id: number;
  /** Its address, if the forge shows it. */
  email?: string;
}

/** A repository of a forge. */
export interface ForgeRepository {
  /** Its number on the forge. */
  id: number;
  /** Its path, `owner/name`. */
  path: string;
  /** The URL that git clones. */
  url: string;
  /** Its default branch. */
  default_branch?: string;
  /** Whether only some can read it. */
  private: boolean;
  /** Whether nobody can write to it. */
  archived: boolean;
  /** Whether the bot can push to it. */
  writable: boolean;
}

/** One thing that a connection needs. */
export interface ForgeCheck {
  /** What it is, such as `write:repository`. */
  name: string;
  /** Whether the connection has it. */
  passed: boolean;
  /** What is missing. */
  detail?: string;
}

/** The result of a check. */
export interface ForgeChecked {
  forge: Forge;
  /** What was checked. */
  checks: ForgeCheck[];
}

/** Connections. */
export interface ListForgesResponse {
  /** The connections. */
  forges: Forge[];
}

/** Repositories of a connection. */
export interface ListForgeRepositoriesResponse {
  /** The repositories. */
  repositories: ForgeRepository[];
  /** Whether there are more than are listed. */
  truncated: boolean;
}

/** A connection. */
export interface CreateForgeRequest {
  /** Name, unique in the team. It cannot change. */
  name: string;
  provider: Known<ForgeProvider>;
  /** URL of the forge, with `https://`, also with a path. By default, `https://github.com` for `github`. */
  url?: string | undefined;
  /** Token of the bot account. Gitea: `write:repository`, `write:issue`, `read:user`. It is stored encrypted and never returned. */
  token: string;
  /** Token that can only read, for the requests of runs. By default, they are sent with `token`. */
  read_token?: string | undefined;
  /** Only runs of these factories. With an empty list, all runs of the team. */
  factories?: string[] | undefined;
  /** Only these repositories, as `owner/name` or `owner/*`. With an empty list, all that the bot can read. */
  repositories?: string[] | undefined;
}

/** Fields to change. */
export interface UpdateForgeRequest {
  /** A new token. */
  token?: string | undefined;
  /** A new token that can only read. Null removes it. */
  read_token?: string | null | undefined;
  /** Only runs of these factories. Null: all. */
  factories?: string[] | null | undefined;
  /** Only these repositories. Null: all. */
  repositories?: string[] | null | undefined;
  /** Cannot change: another value returns 400. */
  name?: string | undefined;
  /** Cannot change: another value returns 400. */
  provider?: string | undefined;
  /** Cannot change: another value returns 400. */
  url?: string | undefined;
}

/** A receiver of messages about events. */
export interface EventEndpoint {
  /** Unique id. */
  uid: string;
  /** The complete URL in the response that creates the endpoint, and later its origin. */
  url: string;
  /** The types of messages. If it is empty, all types. */
  events: EventType[];
  /** Only events of these factories. Absent for all events. */
  factory_uids?: string[];
  /** A note for people. */
  description?: string;
  /** Whether messages are written and sent. */
  enabled: boolean;
  /** Why the server disabled the endpoint. */
  disabled_reason?: string;
  format: EndpointFormat;
  /** The valid secrets, newest first. Only of the format `standard`. */
  secrets: EndpointSecret[];
  /** When it was created. */
  created_at: Timestamp;
  /** When it last changed. */
  updated_at: Timestamp;
  stats: EndpointStats;
  /** The channel of Slack. Only of the format `slack_app`. */
  channel?: string;
  /** The ids of the Slack users whose clicks count. Absent if nobody may answer. Only of the format `slack_app`. */
  may_answer?: string[];
  /** The Request URL for the interactivity of the Slack app, to which Slack sends clicks. Only of the format `slack_app`. */
  interactivity_url?: string;
}

/** How messages are written: signed as Standard Webhooks describe, as a line of text for an incoming webhook of Slack, Mattermost or a compatible receiver, or posted by a Slack app, so that people can answer in Slack. */
export type EndpointFormat = Open<'standard' | 'slack' | 'slack_app'>;

/** A secret that signs messages. */
export interface EndpointSecret {
  /** The secret, `whsec_…`. Only in the response that creates it. */
  secret?: string;
  /** When it was created. */
  created_at: Timestamp;
  /** Until when it signs messages, if it was replaced. */
  expires_at?: Timestamp;
}

/** What became of the messages of the last 7 days. */
export interface EndpointStats {
  /** Messages that wait for an attempt. */
  waiting: number;
  /** Messages that were delivered. */
  delivered: number;
  /** Messages whose last attempt failed. */
  failed: number;
  /** When an attempt last succeeded. */
  last_success_at?: Timestamp;
  /** When an attempt last failed. */
  last_failure_at?: Timestamp;
  /** When attempts began to fail, if none has succeeded since. After 5 days, the server disables the endpoint. */
  failing_since?: Timestamp;
  /** Until when nothing is sent, because the endpoint asked for it with `Retry-After`. */
  waits_until?: Timestamp;
}

/** Event endpoints. */
export interface ListEventEndpointsResponse {
  /** The event endpoints. */
  endpoints: EventEndpoint[];
}

/** An event endpoint. */
export interface CreateEventEndpointRequest {
  /** Where messages are sent: `https://`, or `http://` in a network of `--event-private-network`. It can contain a credential, so later only its origin is shown. Required, except for the format `slack_app`: there it is the base of Slack's web API, by default `https://slack.com/api`. */
  url?: string | undefined;
  /** The types of messages. With an empty list, all types, also of later releases. */
  events?: Known<EventType>[] | null | undefined;
  /** Only events of these factories. With an empty list, all events. */
  factory_uids?: string[] | null | undefined;
  /** A note for people. */
  description?: string | null | undefined;
  /** Whether messages are written and sent. */
  enabled?: boolean | undefined;
  format?: Known<EndpointFormat> | undefined;
  /** For the format `slack_app`, required: the channel to post to, by its id, such as `C024BE91L`. */
  channel?: string | undefined;
  /** For the format `slack_app`, required: the bot token of the Slack app, `xoxb-…`, with the scope `chat:write`. It is never shown. */
  bot_token?: string | undefined;
  /** For the format `slack_app`: the signing secret of the Slack app, which proves that a click comes from Slack. Required with `may_answer`. It is never shown. */
  signing_secret?: string | undefined;
  /** For the format `slack_app`: the ids of the Slack users who may answer questions of runs, and cancel them. With an empty list, nobody. */
  may_answer?: string[] | null | undefined;
}

/** A change of an event endpoint. */
export interface UpdateEventEndpointRequest {
  /** Where messages are sent: `https://`, or `http://` in a network of `--event-private-network`. It can contain a credential, so later only its origin is shown. */
  url?: string | undefined;
  /** The types of messages. With an empty list, all types, also of later releases. */
  events?: Known<EventType>[] | null | undefined;
  /** Only events of these factories. With an empty list, all events. */
  factory_uids?: string[] | null | undefined;
  /** A note for people. */
  description?: string | null | undefined;
  /** Whether messages are written and sent. */
  enabled?: boolean | undefined;
  /** The format that the endpoint has. It cannot change. */
  format?: Known<EndpointFormat> | undefined;
  /** For the format `slack_app`: the channel to post to, by its id, such as `C024BE91L`. */
  channel?: string | undefined;
  /** For the format `slack_app`: the bot token of the Slack app, `xoxb-…`, with the scope `chat:write`. It is never shown. */
  bot_token?: string | undefined;
  /** For the format `slack_app`: the signing secret of the Slack app, which proves that a click comes from Slack. Required with `may_answer`. It is never shown. */
  signing_secret?: string | undefined;
  /** For the format `slack_app`: the ids of the Slack users who may answer questions of runs, and cancel them. With an empty list, nobody. */
  may_answer?: string[] | null | undefined;
}

/** How to replace the secret. */
export interface RotateEventEndpointSecretRequest {
  /** How long the old secret also signs messages. */
  overlap_seconds?: number | undefined;
}

/** A message that waits to be sent. */
export interface EndpointMessageSent {
  /** Its header `webhook-id`. */
  message_id: string;
}

/** What to send again: exactly one of the two. */
export interface ReplayEventEndpointRequest {
  /** One message. */
  message_id?: string | undefined;
  /** All messages of events since this time. */
  since?: string | undefined;
}

/** What is sent again. */
export interface EndpointMessagesReplayed {
  /** How many messages. */
  messages: number;
}

/** One request to an event endpoint. */
export interface EndpointAttempt {
  /** Unique id. */
  uid: string;
  /** The header `webhook-id`, the same for each attempt. */
  message_id: string;
  type: MessageType;
  /** When it ended. */
  at: Timestamp;
  /** The number of the attempt since the message was written or replayed. */
  attempt: number;
  /** The status of the answer. Absent without an answer. */
  http_status?: number;
  /** Whether the status is from 200 to 299, and Slack did not refuse the message. */
  succeeded: boolean;
  /** Why there is no answer, or what a refusal of Slack means. */
  error?: string;
  /** The first KiB of the answer, masked. Absent for a private address. */
  answer?: string;
  /** Its duration in milliseconds. Absent for a private address. */
  took_ms?: number;
  /** When the next attempt follows, if this one failed and was not the last. */
  next_attempt_at?: Timestamp;
}

/** A page of attempts. */
export interface ListEndpointAttemptsResponse {
  /** The attempts. */
  attempts: EndpointAttempt[];
  page_info: PageInfo;
}

/** The body of a message. It says where to read what it is about, and nothing of what a run says or was given. */
export interface EventMessage {
  type: MessageType;
  /** When it happened. */
  timestamp: Timestamp;
  data: EventMessageData;
}

/** What a message is about. */
export interface EventMessageData {
  /** The run. */
  run_id?: string;
  /** The state of the run, at that time. */
  state?: RunState;
  /** Orders the messages of a run: later events have larger numbers. */
  sequence?: number;
  /** The factory. */
  factory_uid?: string;
  /** The automation. */
  automation_uid?: string;
  /** The commit of the repository, if the factory's files come from one. */
  commit?: string;
  /** The revision of the factory's files that is active now. Absent if it is 0, because none was applied yet. */
  revision?: number;
  /** The webhook. */
  webhook_uid?: string;
  /** The schedule. */
  schedule_id?: string;
  /** The budget. */
  budget_uid?: string;
  /** The share of the budget that was reached. */
  notify_at?: number;
  /** The event endpoint. */
  endpoint_uid?: string;
  /** The address in the API of what the message is about. */
  url: string;
}

/** A type of messages. */
export interface EventTypeInfo {
  type: MessageType;
  /** When it is sent. */
  description: string;
  example: EventMessage;
}

/** The types of messages. */
export interface ListEventTypesResponse {
  /** The types. */
  event_types: EventTypeInfo[];
}

/** A sum of calls to models. */
export interface UsageSum {
  /** Number of settled calls. The sums below cover these calls, unless they say otherwise. */
  calls: number;
  /** Input tokens, without those of the cache. */
  input_tokens: number;
  /** Output tokens, with those of reasoning. */
  output_tokens: number;
  /** Input tokens read from the provider's cache. */
  cache_read_tokens: number;
  /** Input tokens written to the provider's cache. */
  cache_write_tokens: number;
  /** The part of `output_tokens` that is reasoning. */
  reasoning_tokens: number;
  /** Cost in US dollars. Null if a model has no price. */
  cost_usd: number | null;
  /** Cost of the calls whose model has a price, in US dollars. */
  priced_cost_usd: number;
  /** Calls whose model has no price. */
  unpriced_calls: number;
  /** Interrupted calls. They count with the known usage, plus an upper bound for the rest. */
  estimated_calls: number;
  /** Calls whose usage never arrived. The reserved amount counts as spent. */
  unknown_calls: number;
  /** Calls that are not settled yet. */
  unsettled_calls: number;
  /** The most that unsettled calls can cost, in US dollars. */
  reserved_usd: number;
}

/** The usage of one day, model, provider, automation, agent, factory or key. */
export interface UsageRow {
  /** A day such as `2026-02-01`, a provider, `provider/model`, or a uid. Empty for calls without one. */
  key: string;
  /** Name of the uid. Absent if it is not known. */
  name?: string;
  /** The name of the factory that the agent or automation belongs to. Absent without one. */
  factory_name?: string;
  /** Number of settled calls. The sums below cover these calls, unless they say otherwise. */
  calls: number;
  /** Input tokens, without those of the cache. */
  input_tokens: number;
  /** Output tokens, with those of reasoning. */
  output_tokens: number;
  /** Input tokens read from the provider's cache. */
  cache_read_tokens: number;
  /** Input tokens written to the provider's cache. */
  cache_write_tokens: number;
  /** The part of `output_tokens` that is reasoning. */
  reasoning_tokens: number;
  /** Cost in US dollars. Null if a model has no price. */
  cost_usd: number | null;
  /** Cost of the calls whose model has a price, in US dollars. */
  priced_cost_usd: number;
  /** Calls whose model has no price. */
  unpriced_calls: number;
  /** Interrupted calls. They count with the known usage, plus an upper bound for the rest. */
  estimated_calls: number;
  /** Calls whose usage never arrived. The reserved amount counts as spent. */
  unknown_calls: number;
  /** Calls that are not settled yet. */
  unsettled_calls: number;
  /** The most that unsettled calls can cost, in US dollars. */
  reserved_usd: number;
}

/** Costs by the hour in which the calls were sent. The first hour begins at `from`. Calls whose model has no price are not included. */
export interface HourlyCosts {
  /** The first 8 rows of the report, in the same order. */
  rows: HourlyCost[];
  /** Costs of all other rows in US dollars, one for each hour. */
  other: number[];
}

/** The costs of one row by the hour. */
export interface HourlyCost {
  /** The row's `key`. */
  key: string;
  /** Costs in US dollars, one for each hour. */
  cost_usd: number[];
}

/** What the runs of a team have used. */
export interface UsageReport {
  /** First time that counts. */
  from: Timestamp;
  /** First time that no longer counts. */
  to: Timestamp;
  /** How to group the calls into rows. */
  group_by: Open<'day' | 'model' | 'provider' | 'automation' | 'agent' | 'factory' | 'key'>;
  /** IANA time zone of the days. */
  time_zone: string;
  /** The rows. */
  rows: UsageRow[];
  /** Number of further rows. */
  omitted_rows: number;
  /** The sum of all rows, also of omitted ones. */
  total: UsageSum;
  /** Only with `interval=hour`. */
  hourly?: HourlyCosts;
}

/** What a run has used. */
export interface RunUsage {
  /** The usage by model, highest cost first. */
  models: UsageRow[];
  /** The sum of all models. */
  total: UsageSum;
  budget?: RunBudgetUsage;
}

/** What a run of Claude Code or Codex has used. */
export interface HarnessUsage {
  /** Id of the run. */
  run_id: string;
  /** Id of its conversation. */
  conversation_id: string;
  /** Whether there is usage. */
  available: boolean;
  /** Seconds since `capturedAt`. */
  age_seconds?: number;
  usage?: HarnessUsageState;
}

/** The usage after the latest call that was settled. Absent if it is not available. */
export interface HarnessUsageState {
  /** The agent. */
  harness: Open<'CLAUDE_CODE' | 'CODEX'>;
  /** The latest execution that made a call. */
  executionId: number;
  /** The number of settled calls. It only grows. */
  captureSequence: number;
  /** When the latest call was settled. */
  capturedAt: string;
  /** Version of this format. */
  metricsVersion: number;
  snapshot: HarnessUsageSnapshot;
}

/** The usage of all executions. */
export interface HarnessUsageSnapshot {
  coverage: HarnessUsageCoverage;
  payload: HarnessUsagePayload;
}

/** Which metrics are known. */
export interface HarnessUsageCoverage {
  /** `partial` if some calls are estimated or in flight. */
  tokenStatus: Open<'known' | 'partial' | 'unavailable'>;
  /** Always `unavailable`: calls of tools are in the conversation. */
  toolStatus: Open<'known' | 'partial' | 'unavailable'>;
}

/** The sum, and the part of each model. */
export interface HarnessUsagePayload {
  /** The sum. */
  usage: HarnessTokens;
  /** The usage by model. */
  attribution: HarnessUsageOfModel[];
}

/** What the calls to one model have used. */
export interface HarnessUsageOfModel {
  /** The model. */
  model: string;
  /** Its tokens. */
  usage: HarnessTokens;
}

/** Tokens, as the agent's provider counts them. */
export interface HarnessTokens {
  /** Input tokens. Claude Code: without those of the cache. Codex: with them. */
  input_tokens: number;
  /** Output tokens, including those of reasoning. */
  output_tokens: number;
  /** Claude Code only. Tokens read from the cache. */
  cache_read_input_tokens?: number;
  /** Claude Code only. Tokens written to the cache. */
  cache_creation_input_tokens?: number;
  /** Codex only. The part of the input that was read from the cache. */
  cached_input_tokens?: number;
  /** Codex only. The part of the input that was written to the cache. */
  cache_write_input_tokens?: number;
  /** Codex only. The part of the output that is reasoning. */
  reasoning_output_tokens?: number;
  /** Codex only. Input and output. */
  total_tokens?: number;
}

/** The run's own budget. Absent if it has none. */
export interface RunBudgetUsage {
  /** Cap on the cost, in US dollars. Absent if there is no cap. */
  max_cost_usd?: number;
  /** Cost of the run and the runs below it, in US dollars. */
  spent_usd: number;
  /** The most that their unsettled calls can cost, in US dollars. */
  reserved_usd: number;
  /** Cap on tokens. Absent if there is no cap. */
  max_total_tokens?: number;
  /** Tokens of the run and the runs below it. */
  spent_tokens: number;
  /** The most tokens of their unsettled calls. */
  reserved_tokens: number;
}

/** One call to a model. */
export interface ModelCall {
  /** Unique id. */
  id: string;
  /** Number of the execution that made it. */
  execution_id: number;
  /** The provider. */
  provider: string;
  /** The model. */
  model: string;
  /** `reserved`: it may be in flight, and its amounts are upper bounds. `settled`: its usage is known. `unsent`: it never reached the provider and cost nothing. */
  state: Open<'reserved' | 'settled' | 'unsent'>;
  /** When it was sent. */
  created_at: Timestamp;
  /** When it was settled. */
  settled_at?: Timestamp;
  /** Input tokens, without those of the cache. */
  input_tokens: number;
  /** Output tokens, with those of reasoning. */
  output_tokens: number;
  /** Input tokens read from the provider's cache. */
  cache_read_tokens: number;
  /** Input tokens written to the provider's cache. */
  cache_write_tokens: number;
  /** The part of `output_tokens` that is reasoning. */
  reasoning_tokens: number;
  /** Cost in US dollars. Null if the model has no price. */
  cost_usd: number | null;
  /** Whether it was interrupted. It then counts with the known usage, plus an upper bound for the rest. */
  estimated: boolean;
  /** Whether its usage never arrived. The reserved amount then counts as spent. */
  unknown: boolean;
}

/** A page of calls. */
export interface ListRunCallsResponse {
  /** The calls. */
  calls: ModelCall[];
  page_info: PageInfo;
}

/** The fields to change. */
export interface UpdateRunRequest {
  /** Only the budget of the configuration can change. */
  config: {
    /** The run's own budget. Null removes all its caps. */
    budget: {
      /** Cap on the cost in US dollars. Null removes it. */
      max_cost_usd?: number | null | undefined;
      /** Cap on tokens. Null removes it. */
      max_total_tokens?: number | null | undefined;
    } | null;
  };
}

/** A key to create. */
export interface CreateKeyRequest {
  /** Purpose. */
  name: string;
  /** Scopes of the key. Required, unless there is a `role`. */
  scopes?: Known<KeyScope>[] | undefined;
  /** Instead of `scopes`: the scopes of this role. */
  role?: Known<MemberRole> | undefined;
  /** The user or service account that owns the key; by default, the caller. It needs `access:manage`, and at most the scopes that both the caller and the owner have. */
  owner_uid?: string | undefined;
  /** Lifetime in seconds, at most that of the key that creates it. 0 means the lifetime of that key, which can be unlimited. */
  expires_in_seconds?: number | undefined;
  /** The agent that the key acts as. */
  agent_uid?: string | undefined;
}

/** An API key. */
export interface Key {
  /** Unique id. */
  uid: string;
  /** Purpose. */
  name: string;
  /** Scopes of the key. */
  scopes: KeyScope[];
  /** First characters of the key, to tell keys apart. */
  prefix: string;
  /** The user or service account that the key acts as. */
  owner: RunCreatorInfo;
  /** The agent that the key acts as, if it belongs to one. */
  agent_uid?: string;
  /** When it was created. */
  created_at: Timestamp;
  /** When it expires. */
  expires_at?: Timestamp;
  /** When the key was last used, accurate to about a minute. */
  last_used_at?: Timestamp;
  /** Whether it stands for the sessions of a user who signs in at an identity provider. Nobody has its secret. */
  sign_in?: boolean;
  /** The key. Only in the response that creates it. */
  key?: string;
}

/** Keys. */
export interface ListKeysResponse {
  /** The keys. */
  keys: Key[];
}

/** The caller. */
export interface Me {
  /** Unique id of the team. */
  team: string;
  /** The caller. */
  actor: RunCreatorInfo;
  /** Scopes of the caller. */
  scopes: KeyScope[];
  /** The roles of the caller. Absent for agents. */
  grants?: MyGrant[];
  /** The key of the request. */
  key_uid?: string;
  /** The run, for the key of an execution. */
  run_id?: string;
}

/** A role of the caller. */
export interface MyGrant {
  /** The role. */
  role: MemberRole;
}

/**
 * A set of scopes. `viewer`: `runs:read` and `factories:read`. `user`: also `runs:write`. `editor`: also
 * `factories:manage` and `secrets:use`. `admin`: all.
 */
export type MemberRole = Open<'viewer' | 'user' | 'editor' | 'admin'>;

/**
 * A user or service account. What a key of it may do is what both the scopes of the key and the roles of its
 * owner allow, at the time of the request.
 */
export interface Member {
  /** Unique id. */
  uid: string;
  /** Whether it is a person or a program. */
  type: Open<'user' | 'service_account'>;
  /** Name, as others see it. */
  display_name: string;
  /** Address of a person. It identifies nobody. */
  email?: string;
  /** The identity provider of a person who signs in. */
  issuer?: string;
  /** The id of the person there (`sub`). */
  subject?: string;
  /** Groups of the person, as the identity provider has named them last. */
  groups?: string[];
  /** When the person last signed in at the identity provider. */
  signed_in_at?: string;
  /** When it was disabled. Absent: it is enabled. */
  disabled_at?: string;
  /** When it was created. */
  created_at: string;
  /** Its roles, and the roles of its groups. */
  roles: MemberRole[];
}

/** A user to create. */
export interface CreateUserRequest {
  /** Name, as others see it. */
  display_name: string;
  /** Address. It identifies nobody. */
  email?: string | undefined;
  /** The identity provider, as its discovery document writes it. Requires `subject`. Absent: the user has keys, and no sign-in. */
  issuer?: string | undefined;
  /** The id of the person there (`sub`). */
  subject?: string | undefined;
  /** A role to grant at once. */
  role?: Known<MemberRole> | undefined;
}

/** A service account to create. */
export interface CreateServiceAccountRequest {
  /** Name, as others see it. */
  display_name: string;
  /** Address of those who look after it. */
  email?: string | undefined;
  /** A role to grant at once. */
  role?: Known<MemberRole> | undefined;
}

/** Changes to a user or service account. An absent field stays unchanged. */
export interface UpdateMemberRequest {
  /** Name, as others see it. */
  display_name?: string | undefined;
  /** Address, or an empty text for none. */
  email?: string | undefined;
  /** Whether it is refused. */
  disabled?: boolean | undefined;
}

/** Users. */
export interface ListUsersResponse {
  /** The users. */
  users: Member[];
}

/** Service accounts. */
export interface ListServiceAccountsResponse {
  /** The service accounts. */
  service_accounts: Member[];
}

/** To whom a role is granted. A group is one of the identity provider. */
export type GrantSubjectType = Open<'user' | 'group' | 'service_account'>;

/** A role of a user, a service account or a group. Grants add up; none of them takes anything away. */
export interface Grant {
  /** Unique id. */
  uid: string;
  /** To whom. */
  subject_type: GrantSubjectType;
  /** The uid of the user or service account, or the name of the group. */
  subject: string;
  /** The role. */
  role: MemberRole;
  /** When it was granted. Absent for a grant of the configuration. */
  created_at?: string;
  /** By whom. Absent: by the configuration, or by an upgrade, because before it everybody was an admin. */
  created_by?: RunCreatorInfo;
  /** The identity provider whose group has the role by the configuration of the server, which alone can change it. The subject may be a pattern. */
  provider?: string;
}

/** A role to grant. */
export interface CreateGrantRequest {
  /** To whom. */
  subject_type: Known<GrantSubjectType>;
  /** The uid of the user or service account, or the name of the group. */
  subject: string;
  /** The role. */
  role: Known<MemberRole>;
}

/** Grants. */
export interface ListGrantsResponse {
  /** The grants. */
  grants: Grant[];
}

/** The new owner of a key. */
export interface AssignKeyRequest {
  /** The uid of a user or service account. */
  owner_uid: string;
}

/** A request to sign in. */
export interface CreateSessionRequest {
  /** A valid API key, except that of an execution. */
  api_key?: string | undefined;
  /** Instead of a key, with `code`: what the identity provider sent the browser back with. */
  state?: string | undefined;
  /** The code of the identity provider. It counts once. */
  code?: string | undefined;
  /** The issuer, if the identity provider sent it. */
  iss?: string | undefined;
}

/** A session of the dashboard. */
export interface Session {
  /** Unique id of the team. */
  team: string;
  /** The signed-in caller. */
  actor: RunCreatorInfo;
  /** Scopes of the session. */
  scopes: KeyScope[];
  /** The key that created the session, or the key of the user's sign-ins. */
  key_uid: string;
  /** The user, service account or agent that the key belongs to. */
  principal_uid?: string;
  /** Send it as `X-Penstock-Session-Secret` with the cookie. Only in the response that creates the session. */
  secret?: string;
  /** The page where a sign-in at an identity provider began. Only in the response that creates the session. */
  return_to?: string;
  /** When the session expires, even if it is in use. */
  expires_at: string;
  /** Seconds without a request after which the session expires. */
  idle_seconds: number;
}

/** An identity provider. */
export interface SignInProvider {
  /** Its name in the configuration of the server. */
  name: string;
}

/** Identity providers. */
export interface ListSignInProvidersResponse {
  /** The providers, in the order of the configuration. */
  providers: SignInProvider[];
}

/** Where a user signs in. */
export interface BeginSignInRequest {
  /** Name of the identity provider. */
  provider: string;
  /** The page of the dashboard to return to, as a path; `/` by default. */
  return_to?: string | undefined;
}

/** A sign-in that has begun. */
export interface SignInStart {
  /** Where the browser goes next. */
  authorization_url: string;
  /** When the answer of the identity provider is refused. */
  expires_at: Timestamp;
}

/** Statistics of the last hours. */
export interface Stats {
  /** Start of the first hour. */
  since: Timestamp;
  /** Current time. */
  until: Timestamp;
  /** The hours, earliest first. The last one is incomplete. */
  hours: HourStats[];
  /** The factories with the highest costs, highest first. */
  factories: FactoryStats[];
  capacity: Capacity;
}

/** Statistics of one hour. */
export interface HourStats {
  /** When it started. */
  start: Timestamp;
  /** Number of runs created in the hour, by current state. States without runs are omitted. */
  runs: Record<string, number>;
  queue_wait: QueueWait;
  deliveries?: HourDeliveries;
}

/** Queue time of runs created in the hour, until a worker first claimed them. Runs that still wait are not counted. */
export interface QueueWait {
  /** Number of claimed runs. */
  runs: number;
  /** Average queue time in seconds. */
  mean_seconds: number;
  /** Maximum queue time in seconds. */
  max_seconds: number;
}

/** Deliveries of one hour to existing webhooks, by outcome. */
export interface HourDeliveries {
  /** Accepted deliveries. */
  accepted: number;
  /** Duplicates of accepted deliveries. */
  duplicate: number;
  /** Deliveries that were not authenticated, not JSON, or too large. */
  rejected: number;
  /** Deliveries beyond the rate limit. */
  rate_limited: number;
  /** Requests while the webhook was disabled or suspended, or waited for its secret. They got 404, and nothing of them was checked or stored. */
  turned_away?: number;
}

/** Statistics of one factory, or of runs without a factory. */
export interface FactoryStats {
  /** The factory. Absent for runs without one. */
  factory_uid?: string;
  /** Name. */
  factory_name?: string;
  /** Number of runs. */
  runs: number;
  /** Cost of the models in US dollars, as far as prices are known. */
  cost_usd: number;
}

/** Capacity of the connected workers. */
export interface Capacity {
  /** Maximum number of runs that all workers execute at once. */
  slots: number;
  /** Number of runs that they execute now. */
  busy: number;
  /** The part of `slots` in workers inside servers. */
  server_slots: number;
  /** The part of `busy` in workers inside servers. */
  server_busy: number;
  /** Number of queued runs of the team. */
  queued: number;
}

/** Limits. 0 means no limit. */
export interface Limits {
  /** Requests of one key per minute. */
  requests_per_minute: number;
  /** Validations of factory files per minute from one address without a key. */
  validations_per_minute: number;
  /** Size of a JSON body in bytes, without attachments. */
  request_body_bytes: number;
  /** Size in bytes, as JSON, of a run's configuration, of the configuration in a resource that creates runs, and of an environment. */
  configuration_bytes: number;
  /** Number of attachments in one request. */
  attachments_per_run: number;
  /** Total size of the attachments in one request, in bytes, decoded. */
  attachment_bytes: number;
  /** Size of one file of a run, in bytes. */
  artifact_bytes: number;
  /** Total size of all files of a run, in bytes. */
  run_artifact_bytes: number;
  /** Levels in a tree of runs. */
  run_depth: number;
  /** Number of keys in a run's metadata. */
  metadata_keys: number;
  /** Maximum `limit` of a list. */
  page_size: number;
  /** Size in bytes of a page of runs as JSON. A page that reaches it ends early, with at least one run. */
  page_bytes: number;
  /** Size in bytes of a prompt in a list of runs. A longer prompt is shortened. */
  listed_prompt_bytes: number;
  /** Seconds that an `Idempotency-Key` is stored. */
  idempotency_seconds: number;
  /** Seconds until a signed link expires. */
  signed_link_seconds: number;
  /** Seconds that a run can wait in the queue. Beyond it the run ends ERROR. */
  queue_timeout_seconds: number;
  /** Seconds that a run is kept after it has ended and no longer changes. */
  run_retention_seconds: number;
  /** Number of managed secrets in a team. */
  secrets_per_team: number;
  /** Size of a secret's value in bytes. */
  secret_value_bytes: number;
  /** Number of webhooks in a factory. */
  webhooks_per_factory: number;
  /** Size of a delivery's body in bytes. */
  delivery_bytes: number;
  /** Deliveries that one webhook accepts in any 60 seconds. */
  deliveries_per_minute: number;
  /** Failed authentications of one client address at one webhook per minute. */
  auth_failures_per_address: number;
  /** Failed authentications at one webhook that are logged per minute. */
  auth_failures_per_webhook: number;
  /** Rejected deliveries of one webhook and outcome that are logged per minute. */
  logged_rejections: number;
  /** Number of newest deliveries of each outcome that are always kept. */
  kept_deliveries: number;
  /** Seconds that all deliveries are kept. */
  delivery_retention_seconds: number;
  /** Seconds in which an identical body is a duplicate, if nothing else identifies deliveries. */
  dedup_body_seconds: number;
  /** The version of this server. */
  server_version?: string;
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
  /** Only runs on this subject, such as `acme/shop#7`. */
  subject?: string | undefined;
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

/** Parameters of {@link runs.calls}. */
export interface ListRunCallsQuery {
  /** Maximum number of items. */
  limit?: number | undefined;
  /** `page_info.next_cursor` of the previous page. A cursor from different filters or another sort order returns 400. */
  cursor?: string | undefined;
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

/** Parameters of {@link occurrences.list}. */
export interface ListOccurrencesQuery {
  /** Maximum number of items. */
  limit?: number | undefined;
  /** `page_info.next_cursor` of the previous page. A cursor from different filters or another sort order returns 400. */
  cursor?: string | undefined;
  /** Only times of this schedule. */
  schedule_id?: string | undefined;
  /** Only what this automation was to start. */
  automation_uid?: string | undefined;
  /** Only deliveries to this webhook. */
  webhook_uid?: string | undefined;
  /** Only this kind. */
  kind?: Known<OccurrenceKind> | undefined;
  /** Only this fate. */
  fate?: Known<Fate> | undefined;
}

/** Parameters of {@link subjects.list}. */
export interface ListSubjectsQuery {
  /** Maximum number of items. */
  limit?: number | undefined;
  /** `page_info.next_cursor` of the previous page. A cursor from different filters or another sort order returns 400. */
  cursor?: string | undefined;
  /** Only subjects whose latest event was of this automation. */
  automation_uid?: string | undefined;
  /** Only subjects of this factory. */
  factory_uid?: string | undefined;
  /** Only this subject, such as `acme/shop#7`. */
  subject?: string | undefined;
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

/** Parameters of {@link network.get}. */
export interface GetNetworkPolicyQuery {
  /** The environment. By default that of the agent, the factory or the server. */
  environment_id?: string | undefined;
  /** The factory. Not together with `agent_uid`. */
  factory_uid?: string | undefined;
  /** The agent. */
  agent_uid?: string | undefined;
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
  /** Only accepted deliveries that started no run. Deliveries that only verified the URL are excluded. */
  no_run?: boolean | undefined;
  /**
   * Only accepted deliveries whose payload contains this text, byte for byte. A page of a search reads at most
   * 500 payloads. So it can have fewer items than `limit`, or none, although `has_next_page` is true.
   */
  search?: string | undefined;
  /** Only deliveries received after this time. */
  received_after?: string | Date | undefined;
  /** Only deliveries received before this time. */
  received_before?: string | Date | undefined;
}

/** Parameters of {@link usage.get}. */
export interface GetUsageQuery {
  /** Start of the period. By default 30 days before `to`. */
  from?: string | Date | undefined;
  /** End of the period, not included; at most 400 days after `from`. By default now. */
  to?: string | Date | undefined;
  /** How to group the calls into rows. */
  group_by?: 'day' | 'model' | 'provider' | 'automation' | 'agent' | 'factory' | 'key' | undefined;
  /** IANA time zone of the days. */
  time_zone?: string | undefined;
  /** Also returns the costs of each hour, of the first 8 rows and of all others. For at most 31 days, and not for `group_by=day`. */
  interval?: 'hour' | undefined;
}

/** Parameters of {@link schedules.preview}. */
export interface PreviewScheduleTimesQuery {
  /** Five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, `@every 1h30m`. */
  cron: string;
  /** IANA time zone name. */
  time_zone?: string | undefined;
  /** Another name of `time_zone`. */
  timezone?: string | undefined;
}

/** Parameters of {@link stats.get}. */
export interface GetStatsQuery {
  /** Number of hours, including the current one. */
  hours?: number | undefined;
}

/** Parameters of {@link outputs.list}. */
export interface ListOutputsQuery {
  /** Only outputs in this state. */
  state: Known<OutputState>;
}

/** Parameters of {@link forges.deliveries}. */
export interface ListForgeDeliveriesQuery {
  /** Maximum number of items. */
  limit?: number | undefined;
  /** `page_info.next_cursor` of the previous page. A cursor from different filters or another sort order returns 400. */
  cursor?: string | undefined;
  /** Only deliveries with this outcome. `rejected` includes all three kinds of rejection. */
  outcome?: 'accepted' | 'duplicate' | 'rejected_auth' | 'rejected_json' | 'rejected_size' | 'rejected' | undefined;
  /** Only accepted deliveries that started no run. Deliveries that only verified the URL are excluded. */
  no_run?: boolean | undefined;
  /**
   * Only accepted deliveries whose payload contains this text, byte for byte. A page of a search reads at most
   * 500 payloads. So it can have fewer items than `limit`, or none, although `has_next_page` is true.
   */
  search?: string | undefined;
  /** Only deliveries received after this time. */
  received_after?: string | Date | undefined;
  /** Only deliveries received before this time. */
  received_before?: string | Date | undefined;
}

/** Parameters of {@link eventEndpoints.attempts}. */
export interface ListEventEndpointAttemptsQuery {
  /** Maximum number of items. */
  limit?: number | undefined;
  /** `page_info.next_cursor` of the previous page. A cursor from different filters or another sort order returns 400. */
  cursor?: string | undefined;
  /** Only attempts of this message. */
  message_id?: string | undefined;
}
