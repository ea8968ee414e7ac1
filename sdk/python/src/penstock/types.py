# Made from api/openapi.yaml by generate/ (make generate). Do not edit.
"""What the server answers, as pydantic models.

Fields and values that this version does not know are kept: a field in `model_extra` (and as an
attribute), a value of an enumeration as the string that it is, a variant of a union as `Unknown…`.
A field that was absent is None and not in `model_fields_set`; one that was null is in it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from ._model import UNKNOWN, Model, tag_of

__all__ = [
    "ActionBlock",
    "ActionCategory",
    "ActionResultBlock",
    "AgentMemory",
    "AgentMemoryAutoMemory",
    "AgentResponse",
    "AgentSkill",
    "AgentSkillItem",
    "AgentSkillVariant",
    "AgentSkillVariantEnvironments",
    "AgentSkillVariantSource",
    "AmbientAgentConfig",
    "AmbientAgentConfigBudget",
    "AmbientAgentConfigInferenceProviders",
    "AmbientAgentConfigInferenceProvidersAws",
    "AmbientAgentConfigSessionSharing",
    "ArtifactItem",
    "ArtifactResponse",
    "Automation",
    "BundledSkill",
    "Capacity",
    "CloudEnvironment",
    "CloudEnvironmentConfig",
    "CodeForge",
    "Commit",
    "ConnectedWorker",
    "ContentBlock",
    "Conversation",
    "ConversationMessage",
    "ConversationRedirect",
    "ConversationStep",
    "CronSchedule",
    "CronTrigger",
    "DeferredResolution",
    "DefinitionPlan",
    "Delivery",
    "DeliveryCounts",
    "DeliveryMatch",
    "Diagnostic",
    "DispatchResponse",
    "EnvironmentTask",
    "Error",
    "ErrorCode",
    "EventBlock",
    "ExecutionLocation",
    "ExternalReferenceArtifact",
    "ExternalReferenceArtifactData",
    "ExternalReferenceArtifactResponse",
    "ExternalReferenceArtifactResponseData",
    "Factory",
    "FactoryAgent",
    "FactoryAgentDefaults",
    "FactoryDefinition",
    "FactoryFiles",
    "FactoryRepository",
    "FactorySchemaVersion",
    "FactorySchemaVersions",
    "FactorySchemas",
    "FactoryStats",
    "FieldError",
    "FileArtifact",
    "FileArtifactData",
    "FileArtifactResponse",
    "FileArtifactResponseData",
    "FileTree",
    "FilesVerdict",
    "FilterCheck",
    "FilterSample",
    "FilterVerdict",
    "FollowupResponse",
    "GitHubRepo",
    "GitRepo",
    "HandoffAttachment",
    "HandoffAttachmentsResponse",
    "Harness",
    "HourDeliveries",
    "HourStats",
    "InterruptResponse",
    "Key",
    "KeyScope",
    "Limits",
    "ListAgentSkillsResponse",
    "ListAgentsResponse",
    "ListAutomationsResponse",
    "ListBundledSkillsResponse",
    "ListConnectedWorkersResponse",
    "ListDeliveriesResponse",
    "ListEnvironmentsResponse",
    "ListFactoriesResponse",
    "ListKeysResponse",
    "ListModelsResponse",
    "ListRevisionsResponse",
    "ListRunsResponse",
    "ListSchedulesResponse",
    "ListSecretsResponse",
    "ListSignatureSchemesResponse",
    "ListWebhooksResponse",
    "LiveMessage",
    "MCPServerConfig",
    "Me",
    "MemoryStoreRef",
    "MessageDelta",
    "MessageRole",
    "Metadata",
    "ModelInfo",
    "NullableTimestamp",
    "Outcome",
    "PageInfo",
    "Plan",
    "PlanArtifact",
    "PlanArtifactData",
    "PlanArtifactResponse",
    "PlanArtifactResponseData",
    "PlanEntry",
    "PrepareAttachmentsResponse",
    "PreparedAttachment",
    "PullRequestArtifact",
    "PullRequestArtifactData",
    "PullRequestArtifactResponse",
    "PullRequestArtifactResponseData",
    "PullRequestStatus",
    "QueueWait",
    "RequestUsage",
    "RequestUsageInferenceCostBreakdownUsd",
    "ResourceChange",
    "Revision",
    "RunActionEvent",
    "RunActionResultEvent",
    "RunAgentResponse",
    "RunArtifactEvent",
    "RunCreatorInfo",
    "RunDoneEvent",
    "RunEvent",
    "RunItem",
    "RunMessageDeltaEvent",
    "RunMessageEvent",
    "RunMode",
    "RunPlanEvent",
    "RunReference",
    "RunSchedule",
    "RunSourceType",
    "RunState",
    "RunStateEvent",
    "RunStatusMessage",
    "RunTimelineEvent",
    "RunUsageEvent",
    "ScheduleTimes",
    "ScheduledAgentItem",
    "ScheduledAgentItemHistory",
    "Scope",
    "ScreenshotArtifact",
    "ScreenshotArtifactData",
    "ScreenshotArtifactResponse",
    "ScreenshotArtifactResponseData",
    "Secret",
    "SecretRef",
    "SecretRefresh",
    "SecretUser",
    "Session",
    "SessionRedirect",
    "Signature",
    "SignatureForm",
    "SignaturePreset",
    "SignatureScheme",
    "StateChange",
    "Stats",
    "Success",
    "TextBlock",
    "TimelineEvent",
    "TimelineResponse",
    "Timestamp",
    "Trigger",
    "UnknownArtifactItem",
    "UnknownArtifactResponse",
    "UnknownContentBlock",
    "UnknownRunEvent",
    "UploadTarget",
    "UploadedAttachment",
    "ValidationScope",
    "Webhook",
    "WebhookAuthMode",
    "WebhookSecret",
    "WorkRepository",
]

Timestamp: TypeAlias = datetime
"""RFC 3339 in UTC, with milliseconds or finer."""


class Error(Model):
    """A problem (RFC 9457)."""

    type: str
    """The error code as the last segment of the address of a page that explains it."""

    title: str
    """The error code in words."""

    status: int
    """The HTTP status."""

    error: str
    """Title and detail in one line."""

    detail: str | None = None
    """What is wrong with this request."""

    instance: str | None = None
    """The route of the request, such as `/api/v1/agent/runs/{runId}`: its path could hold a token.
    Absent where no route takes the path.
    """

    retryable: bool | None = None
    """Whether a retry of the same request can help."""

    trace_id: str | None = None
    """The OpenTelemetry trace of the request, when it has one."""

    errors: list[FieldError] | None = None
    """Each field that is wrong, when fields are."""

    diagnostics: list[Diagnostic] | None = None
    """With `invalid_definition`, every finding in the files."""


class FieldError(Model):
    """What is wrong with one field."""

    pointer: str
    """JSON pointer (RFC 6901) into the body; empty for the whole body or for a parameter, which
    `detail` then names.
    """

    detail: str
    """What is wrong with it."""


ErrorCode: TypeAlias = (
    Literal[
        "invalid_request",
        "authentication_required",
        "not_authorized",
        "feature_not_available",
        "resource_not_found",
        "method_not_allowed",
        "conflict",
        "payload_too_large",
        "operation_not_supported",
        "invalid_definition",
        "content_policy_violation",
        "budget_exceeded",
        "rate_limited",
        "internal_error",
        "resource_unavailable",
        "environment_setup_failed",
        "agent_process_failed",
        "infrastructure_timeout",
        "external_authentication_required",
        "integration_not_configured",
    ]
    | str
)
"""A kind of error, see [the error pages](/docs/errors)."""


class Success(Model):
    """Says that it was done."""

    success: bool
    """Always true."""


class PageInfo(Model):
    """Whether there is more, and how to get it."""

    has_next_page: bool
    """Whether there is another page."""

    next_cursor: str | None = None
    """The `cursor` of the next page."""


RunMode: TypeAlias = Literal["normal", "plan", "orchestrate"] | str
"""`plan` and `orchestrate` tell the agent to plan first and ask, which leaves the run BLOCKED
until a follow-up answers.
"""

Metadata: TypeAlias = dict[str, str]
"""Labels of yours to find runs by. At most 20 keys in a request; a key is 1 to 64 bytes of `a-z
A-Z 0-9 . _ -`, a value up to 256 bytes of UTF-8 without NUL. Merged key by key: the request's
win over the parent run's. `automation_id`, `webhook_uid` and `delivery_id` are set by the
server alone, for runs that an automation starts and their children; a request that has one of
them is refused.
"""


class RunAgentResponse(Model):
    """The run that was made."""

    run_id: str
    """The run's id."""

    task_id: str
    """The same as `run_id`."""

    state: RunState
    """`QUEUED` waits. `CLAIMED` is taken by a worker. `PENDING` is being prepared. `INPROGRESS`
    means the agent works. `BLOCKED` waits for a person; a follow-up answers it. `SUCCEEDED` is
    done. `FAILED` ended for a cause that its owner can mend, `ERROR` for a cause of the
    server's. `CANCELLED` was cancelled.
    """

    at_capacity: bool | None = None
    """Whether every worker is busy so that the run has to wait."""


class FollowupResponse(Model):
    """A follow-up that is recorded."""

    run_id: str | None = None
    """The run that gets it, where the request named a conversation."""

    followup_id: str
    """The id of the follow-up, and of its message in the conversation."""

    outcome: Literal["queue_pending", "live_session", "handoff_execution"] | str
    """`queue_pending`: the agent gets it after its prompt. `live_session`: the agent that works
    gets it at its next turn. `handoff_execution`: it starts another execution of the run.
    """


class InterruptResponse(Model):
    """An interrupt that is recorded."""

    run_id: str | None = None
    """The run whose agent is interrupted, where the request named a conversation."""


class PrepareAttachmentsResponse(Model):
    """Where to upload files."""

    attachments: list[PreparedAttachment]
    """One for each file, in the order of the request."""


class PreparedAttachment(Model):
    """Where to upload a file."""

    attachment_id: str
    """What a follow-up names it by."""

    upload_url: str
    """Where to `PUT` the file. The link is the permission."""

    upload_target: UploadTarget
    """The request that uploads a file as its body."""

    expires_at: datetime
    """When the link ends."""


class UploadTarget(Model):
    """The request that uploads a file as its body."""

    url: str
    """The link."""

    method: str
    """Always `PUT`."""

    headers: dict[str, str]
    """Headers to send."""

    fields: list[str]
    """Fields of a form: none, since the file is the body."""


class UploadedAttachment(Model):
    """An attachment that was uploaded."""

    attachment_id: str
    """What a follow-up names it by."""

    filename: str
    """Its name."""

    mime_type: str
    """Its media type."""

    size_bytes: int
    """Its size."""


class ListRunsResponse(Model):
    """A page of runs."""

    runs: list[RunItem]
    """The runs."""

    page_info: PageInfo
    """Whether there is more, and how to get it."""


RunState: TypeAlias = (
    Literal[
        "QUEUED",
        "PENDING",
        "CLAIMED",
        "INPROGRESS",
        "SUCCEEDED",
        "FAILED",
        "BLOCKED",
        "ERROR",
        "CANCELLED",
    ]
    | str
)
"""`QUEUED` waits. `CLAIMED` is taken by a worker. `PENDING` is being prepared. `INPROGRESS` means
the agent works. `BLOCKED` waits for a person; a follow-up answers it. `SUCCEEDED` is done.
`FAILED` ended for a cause that its owner can mend, `ERROR` for a cause of the server's.
`CANCELLED` was cancelled.
"""

RunSourceType: TypeAlias = (
    Literal[
        "API",
        "CLI",
        "WEB_APP",
        "SCHEDULED_AGENT",
        "WEBHOOK",
        "ORCHESTRATION",
        "GITHUB_ACTION",
        "GITHUB_WEBHOOK",
        "GITLAB_WEBHOOK",
        "LOCAL",
        "CLOUD_MODE",
        "SLACK",
        "LINEAR",
        "JIRA",
        "SELF_IMPROVEMENT",
        "AUTOFIX",
        "RUN_SCORER",
    ]
    | str
)
"""What made a run."""

ExecutionLocation: TypeAlias = Literal["LOCAL", "REMOTE"] | str
"""`REMOTE` is a worker, the one inside the server among them. No run of this server is `LOCAL`, on
a user's own machine.
"""


class RunStatusMessage(Model):
    """Why a run is in its state."""

    message: str
    """For people."""

    error_code: ErrorCode | None = None
    """A kind of error, see [the error pages](/docs/errors)."""

    retryable: bool | None = None
    """Whether the same run may succeed when it is tried again."""


class RunCreatorInfo(Model):
    """A person or a service account."""

    type: Literal["user", "service_account"] | str
    """Which of the two."""

    uid: str
    """Its uid."""

    display_name: str | None = None
    """Its name."""

    email: str | None = None
    """Its email address."""

    photo_url: str | None = None
    """A picture."""


class RunItem(Model):
    """A run."""

    run_id: str
    """The run's id."""

    task_id: str
    """The same as `run_id`."""

    title: str
    """A line for lists."""

    state: RunState
    """`QUEUED` waits. `CLAIMED` is taken by a worker. `PENDING` is being prepared. `INPROGRESS`
    means the agent works. `BLOCKED` waits for a person; a follow-up answers it. `SUCCEEDED` is
    done. `FAILED` ended for a cause that its owner can mend, `ERROR` for a cause of the
    server's. `CANCELLED` was cancelled.
    """

    prompt: str
    """What the agent was asked. Empty when the run came from a skill alone."""

    prompt_truncated: bool | None = None
    """True in a list where `prompt` is only the beginning. The run itself has all of it."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When anything about it changed last."""

    started_at: NullableTimestamp = None
    """When a worker first took it."""

    finished_at: Timestamp | None = None
    """When it ended, while it is over."""

    run_time: str | None = None
    """How long its executions took together, as an ISO 8601 duration."""

    execution_id: int
    """The number of its current execution. A follow-up to an ended run starts the next."""

    queue_position: int | None = None
    """How many runs it is behind, counting itself, while QUEUED."""

    factory_uid: str | None = None
    """The factory that it belongs to."""

    parent_run_id: str | None = None
    """The run that started it."""

    root_run_id: str | None = None
    """The run at the top of its tree."""

    depth: int | None = None
    """How far below the top it is; left out at the top."""

    status_message: RunStatusMessage | None = None
    """Why a run is in its state."""

    source: RunSourceType | None = None
    """What made a run."""

    session_id: str | None = None
    """The session of its agent."""

    session_link: str | None = None
    """The page of the run, live."""

    trigger_url: str | None = None
    """The page of what triggered it."""

    creator: RunCreatorInfo | None = None
    """Who created it."""

    executor: RunCreatorInfo | None = None
    """Whom it acts as."""

    agent_config: AmbientAgentConfig | None = None
    """The configuration that it was created with, all defaults resolved."""

    agent_config_sources: (
        dict[
            str,
            Literal["request", "parent", "automation", "agent", "factory", "server", "skill"] | str,
        ]
        | None
    ) = None
    """Where each key of `agent_config` came from. What a factory gives to all its runs beside what
    a key has from elsewhere is told as `secrets/NAME` and `mcp_servers/NAME`.
    """

    agent_skill: AgentSkill | None = None
    """The skill that a run came from."""

    mode: RunMode | None = None
    """`plan` and `orchestrate` tell the agent to plan first and ask, which leaves the run BLOCKED
    until a follow-up answers.
    """

    interactive: bool | None = None
    """Whether its session stays open for follow-ups after a turn."""

    conversation_id: str | None = None
    """Its conversation."""

    metadata: Metadata | None = None
    """Labels of yours to find runs by. At most 20 keys in a request; a key is 1 to 64 bytes of
    `a-z A-Z 0-9 . _ -`, a value up to 256 bytes of UTF-8 without NUL. Merged key by key: the
    request's win over the parent run's. `automation_id`, `webhook_uid` and `delivery_id` are
    set by the server alone, for runs that an automation starts and their children; a request
    that has one of them is refused.
    """

    is_sandbox_running: bool | None = None
    """Whether its sandbox is alive."""

    is_run_type_cancellable: bool | None = None
    """Whether a run like this can be cancelled at all, in whatever state it is. On this server
    every one can.
    """

    execution_location: ExecutionLocation | None = None
    """`REMOTE` is a worker, the one inside the server among them. No run of this server is
    `LOCAL`, on a user's own machine.
    """

    artifacts: list[ArtifactItem] | None = None
    """What it made."""

    schedule: RunSchedule | None = None
    """The schedule that started a run."""

    scope: Scope | None = None
    """Who sees it."""

    request_usage: RequestUsage | None = None
    """What a run has used so far. Costs without a known price are left out."""


NullableTimestamp: TypeAlias = datetime | None
"""A time, or null while there is none."""


class AgentSkill(Model):
    """The skill that a run came from."""

    name: str | None = None
    """Its name."""

    description: str | None = None
    """What it says it is for."""

    full_path: str | None = None
    """Where it lies in its repository or in the factory's files; not together with
    `bundled_skill_id`.
    """

    bundled_skill_id: str | None = None
    """Its id among the skills that the platform ships."""


class RunSchedule(Model):
    """The schedule that started a run."""

    schedule_id: str
    """Its id."""

    schedule_name: str
    """Its name at that time."""

    cron_schedule: str
    """Its cron expression at that time."""


class Scope(Model):
    """Who sees it."""

    type: Literal["User", "Team"] | str
    """One user or the team."""

    uid: str | None = None
    """The uid of that user or team."""


class RequestUsage(Model):
    """What a run has used so far. Costs without a known price are left out."""

    total_tokens: int | None = None
    """Tokens in and out."""

    inference_cost: float | None = None
    """Cost of the model."""

    compute_cost: float | None = None
    """Cost of the machine."""

    platform_cost: float | None = None
    """Cost of the platform."""

    inference_cost_usd: float | None = None
    """Cost of the model in US dollars."""

    inference_cost_breakdown_usd: RequestUsageInferenceCostBreakdownUsd | None = None
    """The same by kind of token."""


class RequestUsageInferenceCostBreakdownUsd(Model):
    """The same by kind of token."""

    input_cost_usd: float
    """Tokens in."""

    input_cache_read_cost_usd: float
    """Tokens read from the provider's cache."""

    input_cache_write_cost_usd: float
    """Tokens written to it."""

    output_cost_usd: float
    """Tokens out."""


class RunReference(Model):
    """A run's id."""

    run_id: str
    """The run's id."""


class AmbientAgentConfig(Model):
    """How a run is executed. What is left out is decided by the automation, the agent, the factory
    or the server, in this order.
    """

    name: str | None = None
    """A label to group and filter runs by. A run from a skill, or from the only entry of `skills`,
    gets the skill's name unless one is given.
    """

    model_id: str | None = None
    """The model, see `GET /agent/models`, or an alias that the server gives one. `auto`, and
    `auto-*` without an alias, is the server's own.
    """

    base_prompt: str | None = None
    """What the agent is told before any prompt."""

    environment_id: str | None = None
    """The environment to work in."""

    runner_id: str | None = None
    """The runner to work on, a name of `runners` in the files of the agent's factory. Its set-up
    commands come before the environment's, its image replaces the environment's, and where no
    worker has its platform the run waits and says so.
    """

    skill_spec: str | None = None
    """The skill to run. Not together with `skills`. A bare name means a skill of the run's agent,
    else of its factory, else the bundled skill with that id, else one in the environment's
    repositories; the other forms (`owner/repo:path/SKILL.md`, `owner/repo:name`, `repo:name`)
    are in a repository. The name is the one in the frontmatter of the SKILL.md, else that of
    its folder. At most 1,024 bytes. In answers it is also the entry of `skills` where there is
    only one.
    """

    skills: list[str] | None = None
    """Skills to have at hand, beside all those of the agent and its factory. Named as in
    `skill_spec`, and not together with it.
    """

    mcp_servers: dict[str, MCPServerConfig] | None = None
    """MCP servers for the agent, by name."""

    harness: Harness | None = None
    """The agent program."""

    harness_auth_secrets: dict[str, str] | None = None
    """Names of managed secrets that hold a harness's credentials, such as
    `claude_auth_secret_name`.
    """

    idle_timeout_minutes: int | None = None
    """How long an interactive session stays open after a turn. 0 ends it with the turn."""

    worker_host: str | None = None
    """The self-hosted worker to run on. While it is not connected, the run waits. `warp`, hosted
    execution, means any worker; the timeline notes it as `any_worker`.
    """

    session_sharing: AmbientAgentConfigSessionSharing | None = None
    """What anybody with the run's link may do."""

    memory_stores: list[MemoryStoreRef] | None = None
    """Memory stores for the agent, each once. Kept and shown; this server has none."""

    inference_providers: AmbientAgentConfigInferenceProviders | None = None
    """Settings of model providers. Kept and shown; the server's own are used."""

    credential_strategy: Literal["CREATOR", "EXECUTOR"] | str | None = None
    """Whose credentials the run uses. The executor's unless set."""

    computer_use_enabled: bool | None = None
    """Whether the agent may use a screen."""

    computer_use_model_id: str | None = None
    """The model for that."""

    max_duration_minutes: int | None = None
    """How long one execution may work before it is ended, FAILED."""

    budget: AmbientAgentConfigBudget | None = None
    """What the run may use before it is ended, FAILED."""

    env: dict[str, str] | None = None
    """Environment variables of the sandbox. The built-in agent gives them to commands and MCP
    servers. A harness to which the server gives keys takes no variables that can decide where
    they are sent or what code runs beside them, such as `HTTPS_PROXY`, `SSL_CERT_FILE`,
    `NODE_OPTIONS` or `LD_PRELOAD`.
    """

    secrets: list[str] | None = None
    """Managed secrets to give to the run, by name. Each becomes an environment variable and is
    masked in everything recorded. A request may also give an object with the `name`; it needs
    the scope `secrets:use`.
    """


class AmbientAgentConfigSessionSharing(Model):
    """What anybody with the run's link may do."""

    public_access: Literal["VIEWER", "EDITOR"] | str | None = None
    """Watch or also steer."""


class AmbientAgentConfigInferenceProviders(Model):
    """Settings of model providers. Kept and shown; the server's own are used."""

    aws: AmbientAgentConfigInferenceProvidersAws | None = None
    """How AWS Bedrock is reached."""


class AmbientAgentConfigBudget(Model):
    """What the run may use before it is ended, FAILED."""

    max_total_tokens: int | None = None
    """Tokens in and out. 0 means no bound."""

    max_cost_usd: float | None = None
    """Cost of the model. 0 means no bound."""


class AmbientAgentConfigInferenceProvidersAws(Model):
    """How AWS Bedrock is reached."""

    disabled: bool | None = None
    """Whether to go without it."""

    region: str | None = None
    """Its region."""

    role_arn: str | None = None
    """The role to assume."""


class Harness(Model):
    """The agent program."""

    type: str | None = None
    """`builtin` (the default; `oz` is read as the same), `claude`, `codex`, `gemini`, `opencode`,
    `command`, or one that the server's configuration names. An unknown one is a 400.
    """

    model_id: str | None = None
    """The model for it."""

    reasoning_level: str | None = None
    """How hard it should think, for programs that have such a setting."""


class MCPServerConfig(Model):
    """An MCP server. Exactly one of `id`, `command` and `url`. Values of `env` and `headers` may
    name a managed secret as `${{ secrets.NAME }}`. This server manages no MCP servers: a run
    goes without one that is named by `id`, and notes it on the timeline as
    `mcp_server_not_used`.
    """

    id: str | None = None
    """A managed server."""

    warp_id: str | None = None
    """The same as `id`. Never in answers."""

    command: str | None = None
    """A program to start inside the sandbox."""

    args: list[str] | None = None
    """Its arguments."""

    env: dict[str, str] | None = None
    """Its environment variables."""

    url: str | None = None
    """The address of a remote server."""

    headers: dict[str, str] | None = None
    """Headers to send to it."""


class TimelineResponse(Model):
    """A run's timeline."""

    events: list[TimelineEvent]
    """The events, oldest first."""


class TimelineEvent(Model):
    """Something that happened to a run, seen from outside the agent."""

    event_uuid: str
    """Its id."""

    run_id: str
    """The run."""

    execution_id: int | None = None
    """The execution, when it belongs to one."""

    event_type: (
        Literal[
            "run_created",
            "run_claimed",
            "worker_container_ready",
            "shared_session_started",
            "agent_started",
            "run_blocked",
            "run_done",
            "run_failed",
            "run_errored",
            "run_cancelled",
            "vm_shutdown",
            "followup_received",
            "followup_delivered",
            "followup_undelivered",
            "interrupt_requested",
            "turn_interrupted",
            "setup_step",
            "image_not_used",
            "run_requeued",
            "workspace_reused",
            "any_worker",
            "mcp_server_not_used",
        ]
        | str
    )
    """What happened."""

    occurred_at: Timestamp
    """When."""

    payload: dict[str, Any] | None = None
    """More about it, by type; a `setup_step` has its command, exit code and last output, an
    `image_not_used` the `image`, `instance_shape` and `runner` that a worker's sandbox could
    not give, an `any_worker` the `worker_host` that was asked for, an `mcp_server_not_used` the
    `name` and `id` of the server.
    """


class Conversation(Model):
    """What was said and done."""

    conversation_id: str
    """Its id."""

    steps: list[ConversationStep]
    """Its steps, in order."""


class ConversationStep(Model):
    """A prompt and what followed from it."""

    id: str
    """Its id within the conversation."""

    description: str | None = None
    """What it is about."""

    summary: str | None = None
    """What came of it."""

    started_at: Timestamp | None = None
    """When it began."""

    completed_at: Timestamp | None = None
    """When it ended."""

    messages: list[ConversationMessage]
    """Its messages, in order."""

    steps: list[ConversationStep]
    """Steps within it, such as those of a subagent."""


class ConversationMessage(Model):
    """One utterance."""

    role: MessageRole
    """Who speaks."""

    content: list[ContentBlock]
    """Its parts, in order."""

    timestamp: Timestamp | None = None
    """When it was said."""

    message_ids: list[str] | None = None
    """The live messages that it was made of."""

    request_id: str | None = None
    """The request to the model that it came from."""


MessageRole: TypeAlias = Literal["user", "assistant", "tool", "system"] | str
"""Who speaks."""


class UnknownContentBlock(Model):
    """A ContentBlock of a kind that this version does not know; all it holds is kept."""

    type: str
    message_id: Any = None


class TextBlock(Model):
    """Text, in Markdown when an agent wrote it."""

    type: Literal["text"]
    """Always `text`."""

    text: str
    """The text."""

    message_id: str | None = None
    """The live message that it came in."""


class ActionBlock(Model):
    """Something the agent does."""

    type: Literal["action"]
    """Always `action`."""

    id: str
    """Its id; its results name it."""

    category: ActionCategory
    """What an action deals with."""

    name: str
    """What kind of action, such as `run_command`, `read_files`, `edit_files`, `search_files`,
    `call_mcp_tool`, `read_skill` or `create_artifact`.
    """

    input: dict[str, Any]
    """What it is given, in a public form that depends on `name`, secrets masked. A `read_skill`
    has `skill_path`, the path that was used to find the skill, and `bundled_skill_id` when the
    platform ships it; the path alone proves nothing about whose skill it is.
    """

    message_id: str | None = None
    """The live message that it came in."""


class ActionResultBlock(Model):
    """How an action stands. A later result of the same action replaces an earlier one."""

    type: Literal["action_result"]
    """Always `action_result`."""

    action_id: str
    """The action's `id`."""

    category: ActionCategory
    """What an action deals with."""

    name: str
    """The action's `name`."""

    state: Literal["running", "completed", "failed", "denied"] | str
    """How it stands."""

    output: dict[str, Any]
    """What came of it so far, in a public form that depends on `name`, secrets masked."""

    message_id: str | None = None
    """The live message that it came in."""


class EventBlock(Model):
    """Anything else that a harness reports."""

    type: Literal["event"]
    """Always `event`."""

    name: str
    """What kind. `followup_undelivered` marks the message of a follow-up that the agent never got,
    `attachments` names the files of one.
    """

    data: dict[str, Any]
    """What it says, secrets masked."""

    message_id: str | None = None
    """The live message that it came in."""


ActionCategory: TypeAlias = (
    Literal["command", "files", "search", "integration", "documents", "computer", "review", "skill"]
    | str
)
"""What an action deals with."""


class UnknownRunEvent(Model):
    """A RunEvent of a kind that this version does not know; all it holds is kept."""

    event: str
    id: Any = None
    data: Any = None


class RunStateEvent(Model):
    """The run's state has changed."""

    id: int
    """Its sequence number in the run."""

    event: Literal["state"]
    """Always `state`."""

    data: StateChange
    """A state of a run."""


class RunMessageEvent(Model):
    """A message is complete."""

    id: int
    """Its sequence number in the run."""

    event: Literal["message"]
    """Always `message`."""

    data: LiveMessage
    """A complete message."""


class RunMessageDeltaEvent(Model):
    """More text of a message that is being written."""

    id: int
    """Its sequence number in the run."""

    event: Literal["message_delta"]
    """Always `message_delta`."""

    data: MessageDelta
    """A piece of a message."""


class RunActionEvent(Model):
    """The agent does something."""

    id: int
    """Its sequence number in the run."""

    event: Literal["action"]
    """Always `action`."""

    data: ActionBlock
    """Something the agent does."""


class RunActionResultEvent(Model):
    """How an action stands."""

    id: int
    """Its sequence number in the run."""

    event: Literal["action_result"]
    """Always `action_result`."""

    data: ActionResultBlock
    """How an action stands. A later result of the same action replaces an earlier one."""


class RunPlanEvent(Model):
    """The agent's plan has changed; the data is the whole plan."""

    id: int
    """Its sequence number in the run."""

    event: Literal["plan"]
    """Always `plan`."""

    data: Plan
    """The agent's plan."""


class RunUsageEvent(Model):
    """What the run has used so far has changed."""

    id: int
    """Its sequence number in the run."""

    event: Literal["usage"]
    """Always `usage`."""

    data: RequestUsage
    """What a run has used so far. Costs without a known price are left out."""


class RunArtifactEvent(Model):
    """The run has made something."""

    id: int
    """Its sequence number in the run."""

    event: Literal["artifact"]
    """Always `artifact`."""

    data: ArtifactItem
    """Something that a run made."""


class RunTimelineEvent(Model):
    """Something happened to the run."""

    id: int
    """Its sequence number in the run."""

    event: Literal["timeline"]
    """Always `timeline`."""

    data: TimelineEvent
    """Something that happened to a run, seen from outside the agent."""


class RunDoneEvent(Model):
    """The run is over and the stream ends. Not in the log, so it has no `id`, or that of the last
    event.
    """

    id: int | None = None
    """The id of the last event."""

    event: Literal["done"]
    """Always `done`."""

    data: StateChange
    """A state of a run."""


class StateChange(Model):
    """A state of a run."""

    state: RunState
    """`QUEUED` waits. `CLAIMED` is taken by a worker. `PENDING` is being prepared. `INPROGRESS`
    means the agent works. `BLOCKED` waits for a person; a follow-up answers it. `SUCCEEDED` is
    done. `FAILED` ended for a cause that its owner can mend, `ERROR` for a cause of the
    server's. `CANCELLED` was cancelled.
    """

    status_message: RunStatusMessage | None = None
    """Why a run is in its state."""

    execution_id: int | None = None
    """The execution; always there in a `state` event."""


class LiveMessage(Model):
    """A complete message."""

    message_id: str
    """Its id; its deltas bore the same."""

    role: MessageRole
    """Who speaks."""

    content: list[ContentBlock]
    """Its parts, in order."""

    timestamp: Timestamp | None = None
    """When it was said."""

    request_id: str | None = None
    """The request to the model that it came from."""


class MessageDelta(Model):
    """A piece of a message."""

    message_id: str
    """The message's id."""

    role: MessageRole
    """Who speaks."""

    text: str
    """The text that follows what came before."""


class Plan(Model):
    """The agent's plan."""

    entries: list[PlanEntry]
    """Its steps, in order."""


class PlanEntry(Model):
    """One step of a plan."""

    content: str
    """What is to be done."""

    status: Literal["pending", "in_progress", "completed"] | str
    """How it stands."""

    priority: Literal["high", "medium", "low"] | str
    """How much it matters."""


class HandoffAttachmentsResponse(Model):
    """The attachments of a run."""

    attachments: list[HandoffAttachment]
    """The attachments."""


class HandoffAttachment(Model):
    """An attachment with a link to it."""

    attachment_id: str
    """Its id."""

    filename: str
    """Its name."""

    download_url: str
    """A signed link that ends after 15 minutes."""

    mime_type: str | None = None
    """Its media type."""


class ConversationRedirect(Model):
    """Where a link to a conversation leads."""

    session_id: str | None = None
    """The live session, while there is one."""


class SessionRedirect(Model):
    """Where a link to a session leads."""

    conversation_id: str | None = None
    """The conversation that the session left behind."""


class UnknownArtifactItem(Model):
    """A ArtifactItem of a kind that this version does not know; all it holds is kept."""

    artifact_type: str
    artifact_uid: Any = None
    run_id: Any = None
    created_at: Any = None
    data: Any = None


class PlanArtifact(Model):
    """A plan."""

    artifact_uid: str | None = None
    """Its uid, in the answer to its creation."""

    run_id: str | None = None
    """The run that made it, in the answer to its creation."""

    artifact_type: Literal["PLAN"]
    """Always `PLAN`."""

    created_at: Timestamp
    """When it was made."""

    data: PlanArtifactData
    """What it is."""


class PlanArtifactData(Model):
    """What it is."""

    document_uid: str
    """The uid of the document."""

    artifact_uid: str | None = None
    """Its uid."""

    title: str | None = None
    """A line about it."""

    url: str | None = None
    """Where it is."""


class PullRequestArtifact(Model):
    """A pull request."""

    artifact_uid: str | None = None
    """Its uid, in the answer to its creation."""

    run_id: str | None = None
    """The run that made it, in the answer to its creation."""

    artifact_type: Literal["PULL_REQUEST"]
    """Always `PULL_REQUEST`."""

    created_at: Timestamp
    """When it was made."""

    data: PullRequestArtifactData
    """What it is."""


class PullRequestArtifactData(Model):
    """What it is."""

    branch: str
    """The branch."""

    url: str
    """Where it is."""

    status: PullRequestStatus
    """How the pull request stood when it was reported. `unknown` where the report did not say."""


PullRequestStatus: TypeAlias = Literal["open", "draft", "merged", "closed", "unknown"] | str
"""How the pull request stood when it was reported. `unknown` where the report did not say."""


class ScreenshotArtifact(Model):
    """A picture."""

    artifact_uid: str | None = None
    """Its uid, in the answer to its creation."""

    run_id: str | None = None
    """The run that made it, in the answer to its creation."""

    artifact_type: Literal["SCREENSHOT"]
    """Always `SCREENSHOT`."""

    created_at: Timestamp
    """When it was made."""

    data: ScreenshotArtifactData
    """What it is."""


class ScreenshotArtifactData(Model):
    """What it is."""

    artifact_uid: str
    """Its uid."""

    mime_type: str
    """Its media type."""

    filename: str | None = None
    """Its name, without folders."""

    filepath: str | None = None
    """Its path in the workspace."""

    size_bytes: int | None = None
    """Its size."""

    title: str | None = None
    """A line about it."""

    description: str | None = None
    """What it shows."""


class FileArtifact(Model):
    """A file."""

    artifact_uid: str | None = None
    """Its uid, in the answer to its creation."""

    run_id: str | None = None
    """The run that made it, in the answer to its creation."""

    artifact_type: Literal["FILE"]
    """Always `FILE`."""

    created_at: Timestamp
    """When it was made."""

    data: FileArtifactData
    """What it is."""


class FileArtifactData(Model):
    """What it is."""

    artifact_uid: str
    """Its uid."""

    filename: str
    """Its name, without folders."""

    filepath: str
    """Its path in the workspace."""

    mime_type: str
    """Its media type."""

    size_bytes: int | None = None
    """Its size."""

    title: str | None = None
    """A line about it."""

    description: str | None = None
    """What it shows."""


class ExternalReferenceArtifact(Model):
    """Something elsewhere."""

    artifact_uid: str | None = None
    """Its uid, in the answer to its creation."""

    run_id: str | None = None
    """The run that made it, in the answer to its creation."""

    artifact_type: Literal["EXTERNAL_REFERENCE"]
    """Always `EXTERNAL_REFERENCE`."""

    created_at: Timestamp
    """When it was made."""

    data: ExternalReferenceArtifactData
    """What it is."""


class ExternalReferenceArtifactData(Model):
    """What it is."""

    reference_type: str
    """What is referred to, in a word of the agent's."""

    url: str
    """Where it is."""

    title: str | None = None
    """A line about it."""

    metadata: dict[str, Any] | None = None
    """More about it."""


class UnknownArtifactResponse(Model):
    """A ArtifactResponse of a kind that this version does not know; all it holds is kept."""

    artifact_type: str
    artifact_uid: Any = None
    run_id: Any = None
    created_at: Any = None
    data: Any = None


class PlanArtifactResponse(Model):
    """A plan, its text inline."""

    artifact_uid: str
    """Its uid."""

    run_id: str | None = None
    """The run that made it."""

    artifact_type: Literal["PLAN"]
    """Always `PLAN`."""

    created_at: Timestamp
    """When it was made."""

    data: PlanArtifactResponseData
    """What it is."""


class PlanArtifactResponseData(Model):
    """What it is."""

    document_uid: str
    """The uid of the document."""

    notebook_uid: str
    """The same as `document_uid`."""

    artifact_uid: str | None = None
    """Its uid."""

    title: str | None = None
    """A line about it."""

    url: str | None = None
    """Where it is."""

    content: str
    """The plan."""

    content_type: str
    """The media type of the text."""

    download_url: str | None = None
    """A signed link that needs no key."""

    expires_at: Timestamp | None = None
    """When the link ends."""


class PullRequestArtifactResponse(Model):
    """A pull request."""

    artifact_uid: str
    """Its uid."""

    run_id: str | None = None
    """The run that made it."""

    artifact_type: Literal["PULL_REQUEST"]
    """Always `PULL_REQUEST`."""

    created_at: Timestamp
    """When it was made."""

    data: PullRequestArtifactResponseData
    """What it is."""


class PullRequestArtifactResponseData(Model):
    """What it is."""

    branch: str
    """The branch."""

    url: str
    """Where it is."""

    status: PullRequestStatus
    """How the pull request stood when it was reported. `unknown` where the report did not say."""


class ScreenshotArtifactResponse(Model):
    """A picture with a link to it."""

    artifact_uid: str
    """Its uid."""

    run_id: str | None = None
    """The run that made it."""

    artifact_type: Literal["SCREENSHOT"]
    """Always `SCREENSHOT`."""

    created_at: Timestamp
    """When it was made."""

    data: ScreenshotArtifactResponseData
    """What it is."""


class ScreenshotArtifactResponseData(Model):
    """What it is."""

    artifact_uid: str
    """Its uid."""

    mime_type: str
    """Its media type."""

    filename: str | None = None
    """Its name, without folders."""

    filepath: str | None = None
    """Its path in the workspace."""

    size_bytes: int | None = None
    """Its size."""

    title: str | None = None
    """A line about it."""

    description: str | None = None
    """What it shows."""

    download_url: str
    """A signed link that needs no key."""

    expires_at: Timestamp
    """When the link ends."""

    content_type: str
    """The media type of what the link leads to."""


class FileArtifactResponse(Model):
    """A file with a link to it."""

    artifact_uid: str
    """Its uid."""

    run_id: str | None = None
    """The run that made it."""

    artifact_type: Literal["FILE"]
    """Always `FILE`."""

    created_at: Timestamp
    """When it was made."""

    data: FileArtifactResponseData
    """What it is."""


class FileArtifactResponseData(Model):
    """What it is."""

    artifact_uid: str
    """Its uid."""

    filename: str
    """Its name, without folders."""

    filepath: str
    """Its path in the workspace."""

    mime_type: str
    """Its media type."""

    size_bytes: int | None = None
    """Its size."""

    title: str | None = None
    """A line about it."""

    description: str | None = None
    """What it shows."""

    download_url: str
    """A signed link that needs no key."""

    expires_at: Timestamp
    """When the link ends."""

    content_type: str
    """The media type of what the link leads to."""


class ExternalReferenceArtifactResponse(Model):
    """Something elsewhere."""

    artifact_uid: str
    """Its uid."""

    run_id: str | None = None
    """The run that made it."""

    artifact_type: Literal["EXTERNAL_REFERENCE"]
    """Always `EXTERNAL_REFERENCE`."""

    created_at: Timestamp
    """When it was made."""

    data: ExternalReferenceArtifactResponseData
    """What it is."""


class ExternalReferenceArtifactResponseData(Model):
    """What it is."""

    reference_type: str
    """What is referred to, in a word of the agent's."""

    url: str
    """Where it is."""

    title: str | None = None
    """A line about it."""

    metadata: dict[str, Any] | None = None
    """More about it."""


class ListAgentSkillsResponse(Model):
    """Skills."""

    agents: list[AgentSkillItem]
    """The skills."""


class AgentSkillItem(Model):
    """A skill and the places where it was found."""

    name: str
    """Its name."""

    variants: list[AgentSkillVariant]
    """The places."""


class AgentSkillVariant(Model):
    """One place of a skill."""

    id: str
    """What to give as `skill`, `owner/repo:path/SKILL.md`."""

    description: str
    """What it says it is for."""

    base_prompt: str
    """Its text."""

    source: AgentSkillVariantSource
    """Where its file lies."""

    environments: list[AgentSkillVariantEnvironments]
    """The environments that have the repository."""

    last_run_timestamp: NullableTimestamp = None
    """When a run used it last."""

    error: str | None = None
    """Why it cannot be used."""


class AgentSkillVariantSource(Model):
    """Where its file lies."""

    owner: str
    """The repository's owner."""

    name: str
    """The repository's name."""

    skill_path: str
    """The file."""

    worker_host: str | None = None
    """The worker that has it."""


class AgentSkillVariantEnvironments(Model):
    """An environment."""

    uid: str
    """Its uid."""

    name: str
    """Its name."""


class ListBundledSkillsResponse(Model):
    """The catalogue of bundled skills."""

    skills: list[BundledSkill]
    """The skills, by id."""


class BundledSkill(Model):
    """A skill that a server may come with."""

    id: str
    """What to give as `skill`, and the `bundled_skill_id` of runs and actions."""

    purpose: str
    """What it is for."""

    shipped: bool
    """Whether this release has it."""

    reason: str | None = None
    """Why not, where it has not."""

    description: str | None = None
    """What the skill says it is for, where it is there."""

    base_prompt: str | None = None
    """Its text, where it is there."""


class ListModelsResponse(Model):
    """Models."""

    default_model_id: str
    """The model of runs that name none."""

    models: list[ModelInfo]
    """The models."""


class ModelInfo(Model):
    """A model."""

    id: str
    """What to give as `model_id`."""

    display_name: str
    """Its name."""

    provider: Literal["OPENAI", "ANTHROPIC", "GOOGLE", "UNKNOWN"] | str
    """Whose it is."""

    vision_supported: bool
    """Whether it can look at pictures."""

    description: str | None = None
    """What it is good for."""

    reasoning_level: str | None = None
    """How hard it thinks."""

    disable_reason: (
        Literal["PROVIDER_OUTAGE", "OUT_OF_REQUESTS", "ADMIN_DISABLED", "REQUIRES_UPGRADE"]
        | str
        | None
    ) = None
    """Why it cannot be used now. `ADMIN_DISABLED`: this server has no key of its provider."""

    disable_detail: str | None = None
    """The same in a sentence, such as which key is missing."""


class ListConnectedWorkersResponse(Model):
    """Workers."""

    workers: list[ConnectedWorker]
    """The workers."""


class ConnectedWorker(Model):
    """The workers of one host."""

    worker_host: str
    """What to give as `worker_host`."""

    connection_count: int
    """How many of them are connected."""

    capacity: int
    """How many runs they execute at once at most."""

    busy: int
    """How many they execute now, as of what was heard of them last."""

    connected_at: Timestamp
    """Since when."""

    last_seen_at: Timestamp
    """When one was heard of last."""


class ListEnvironmentsResponse(Model):
    """Environments."""

    environments: list[CloudEnvironment]
    """The environments."""


class CloudEnvironment(Model):
    """Where runs work."""

    uid: str
    """Its uid."""

    config: CloudEnvironmentConfig
    """What an environment is made of."""

    last_updated: Timestamp
    """When it was changed last."""

    setup_failed: bool
    """Whether the latest run that used it failed while setting it up."""

    last_task_created: EnvironmentTask | None = None
    """The latest run of an environment."""

    last_task_run_timestamp: Timestamp | None = None
    """When a run last worked in it."""

    scope: Scope | None = None
    """Who sees it."""

    creator: RunCreatorInfo | None = None
    """Who created it."""

    last_editor: RunCreatorInfo | None = None
    """Who changed it last."""


class EnvironmentTask(Model):
    """The latest run of an environment."""

    id: str
    """The run's id."""

    title: str
    """Its title."""

    state: RunState
    """`QUEUED` waits. `CLAIMED` is taken by a worker. `PENDING` is being prepared. `INPROGRESS`
    means the agent works. `BLOCKED` waits for a person; a follow-up answers it. `SUCCEEDED` is
    done. `FAILED` ended for a cause that its owner can mend, `ERROR` for a cause of the
    server's. `CANCELLED` was cancelled.
    """

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When it changed last."""

    started_at: NullableTimestamp = None
    """When a worker first took it."""


class CloudEnvironmentConfig(Model):
    """What an environment is made of."""

    name: str | None = None
    """Its name."""

    description: str | None = None
    """What it is for."""

    docker_image: str | None = None
    """The image for workers that use containers. Others run on the host's tools and say so on the
    timeline.
    """

    github_repos: list[GitHubRepo] | None = None
    """Repositories on GitHub to clone."""

    repos: list[GitRepo] | None = None
    """Repositories anywhere to clone."""

    setup_commands: list[str] | None = None
    """Shell commands that prepare the workspace, in order. One that fails ends the run FAILED."""

    providers: dict[str, Any] | None = None
    """Settings of cloud providers. Kept and handed on as given."""

    failure_session_retention_minutes: int | None = None
    """How long the sandbox of a failed run is kept. Not at all without it."""


class GitHubRepo(Model):
    """A repository on GitHub."""

    owner: str
    """Its owner."""

    repo: str
    """Its name."""


class GitRepo(Model):
    """A Git repository."""

    url: str
    """Its address, `https://` or `ssh://`."""

    ref: str | None = None
    """A branch, tag or commit. Without it the default branch."""


class ListAgentsResponse(Model):
    """Agents."""

    agents: list[AgentResponse]
    """The agents."""


class AgentResponse(Model):
    """An agent."""

    uid: str
    """Its uid."""

    name: str
    """Its name."""

    available: bool
    """Whether runs can be made with it now."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When it was changed last."""

    factory_uid: str | None = None
    """The factory that defines it."""

    description: str | None = None
    """What it is for."""

    prompt: str | None = None
    """What it is told before any prompt."""

    base_model: str | None = None
    """The model of its runs."""

    harness: Harness | None = None
    """The agent program of its runs."""

    base_harness: str | None = None
    """The type of `harness`."""

    environment_id: str | None = None
    """The environment of its runs."""

    default_runner_uid: str
    """The runner of its runs: a name of `runners` in the files of its factory."""

    worker_host: str | None = None
    """The self-hosted worker of its runs."""

    secrets: list[SecretRef]
    """Managed secrets that its runs get."""

    skills: list[str]
    """Skills that its runs have at hand."""

    mcp_servers: dict[str, MCPServerConfig] | None = None
    """MCP servers of its runs, by name."""

    memory: AgentMemory
    """What it remembers between runs."""

    harness_auth_secrets: dict[str, str] | None = None
    """Names of managed secrets that hold a harness's credentials."""

    credential_strategy: Literal["CREATOR", "EXECUTOR"] | str | None = None
    """Whose credentials its runs use."""

    on_behalf_of_enabled: bool | None = None
    """Whether it may start runs on behalf of users."""

    agent_type: (
        Literal["FOREMAN", "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY", "CUSTOM"] | str | None
    ) = None
    """Its part in a factory."""


class SecretRef(Model):
    """A managed secret by name."""

    name: str
    """Its name."""


class AgentMemory(Model):
    """What an agent remembers between runs."""

    auto_memory: AgentMemoryAutoMemory
    """Memory that it keeps by itself."""

    attached_stores: list[MemoryStoreRef]
    """Memory stores that it is given, each once. Kept and shown; this server has none."""


class AgentMemoryAutoMemory(Model):
    """Memory that it keeps by itself."""

    enabled: bool
    """Whether it does."""


class MemoryStoreRef(Model):
    """A memory store for an agent."""

    uid: str
    """Its uid."""

    access: Literal["read_write", "read_only"] | str
    """What the agent may do with it."""

    instructions: str
    """How the agent should use it."""


class ListSchedulesResponse(Model):
    """Schedules."""

    schedules: list[ScheduledAgentItem]
    """The schedules."""


CronSchedule: TypeAlias = str
"""When to fire, in UTC. Five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`,
`@every 1h30m`. One that never fires is a 400.
"""


class ScheduledAgentItem(Model):
    """A schedule."""

    id: str
    """Its id."""

    name: str
    """Its name."""

    cron_schedule: CronSchedule
    """When to fire, in UTC. Five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`,
    `@every 1h30m`. One that never fires is a 400.
    """

    enabled: bool
    """Whether it fires."""

    prompt: str
    """What the agent is asked. Empty when its runs come from a skill alone."""

    mode: RunMode
    """How its runs go about the prompt."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When it was changed last."""

    agent_config: AmbientAgentConfig | None = None
    """How a run is executed. What is left out is decided by the automation, the agent, the factory
    or the server, in this order.
    """

    agent_uid: str | None = None
    """The agent that its runs are executed as."""

    metadata: Metadata | None = None
    """Labels of yours to find runs by. At most 20 keys in a request; a key is 1 to 64 bytes of
    `a-z A-Z 0-9 . _ -`, a value up to 256 bytes of UTF-8 without NUL. Merged key by key: the
    request's win over the parent run's. `automation_id`, `webhook_uid` and `delivery_id` are
    set by the server alone, for runs that an automation starts and their children; a request
    that has one of them is refused.
    """

    environment: CloudEnvironmentConfig | None = None
    """The environment that `agent_config` names."""

    created_by: RunCreatorInfo | None = None
    """Who created it."""

    updated_by: RunCreatorInfo | None = None
    """Who changed it last."""

    history: ScheduledAgentItemHistory | None = None
    """When it fired and will fire."""

    upcoming: list[Timestamp] | None = None
    """The next five times, while it is enabled."""

    last_spawn_error: str | None = None
    """Why its last time started no run."""

    scope: Scope | None = None
    """Who sees it."""


class ScheduledAgentItemHistory(Model):
    """When it fired and will fire."""

    last_ran: NullableTimestamp = None
    """When it fired last."""

    next_run: NullableTimestamp = None
    """When it fires next; null while it is paused."""


KeyScope: TypeAlias = (
    Literal[
        "runs:read",
        "runs:write",
        "factories:read",
        "factories:manage",
        "secrets:use",
        "secrets:manage",
        "keys:manage",
        "metrics:read",
        "worker",
        "own_run",
        "admin",
    ]
    | str
)
"""What a key may do. `admin` includes all others, `worker` lets a key serve as a worker. With
`secrets:use` a request for a run, or a schedule, may name managed secrets, which the agent can
read, and a follow-up may go to such a run. What agents, automations and factories name needs no
such scope of the caller, nor of whoever writes it: with `factories:manage` any secret can be
given to the runs of an agent. `metrics:read` lets Prometheus read `/metrics`. `own_run` is what
the key of an execution has: it reads its own run and adds artifacts to it. No key can be
created with it.
"""


class Secret(Model):
    """A managed secret, without its value."""

    name: str
    """Its name."""

    version: int
    """How many values it was given; 0 while it is pending."""

    pending: bool
    """Whether it is declared and has no value yet."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When it was given its value."""

    last_used_at: Timestamp | None = None
    """When a run was given it last, to the minute or so."""

    created_by: RunCreatorInfo | None = None
    """Who created it."""

    updated_by: RunCreatorInfo | None = None
    """Who gave it its value."""

    webhook_uid: str | None = None
    """The webhook that the server made it for, also once that is deleted. Runs never get such a
    secret.
    """

    used_by: list[SecretUser]
    """What names it and keeps it from being deleted."""


class SecretUser(Model):
    """Something that names a secret. Of somebody else's personal schedule only its type is told."""

    type: Literal["agent", "schedule", "automation", "webhook", "factory"] | str
    """What it is. A `factory` names it for all its agents, for the image of a runner, or to read
    its repository.
    """

    uid: str | None = None
    """Its uid."""

    name: str | None = None
    """Its name."""

    factory_uid: str | None = None
    """The factory that it belongs to, if any."""

    factory_name: str | None = None
    """The name of that factory."""


class ListSecretsResponse(Model):
    """Secrets."""

    secrets: list[Secret]
    """The secrets."""


WebhookAuthMode: TypeAlias = Literal["token", "url_token", "signature"] | str
"""How a delivery shows that it is the sender's: `token` in `Authorization: Bearer`, `url_token` as
the last segment of the URL, `signature` over the body by a scheme.
"""

SignatureScheme: TypeAlias = (
    Literal[
        "standard_webhooks",
        "svix",
        "github",
        "gitlab",
        "stripe",
        "sentry",
        "pagerduty",
        "vercel",
        "slack",
        "linear",
        "shopify",
        "bitbucket",
        "jira",
        "zendesk",
        "intercom",
        "typeform",
        "circleci",
        "calendly",
        "mux",
        "paddle",
        "notion",
        "launchdarkly",
        "dropbox",
        "meta",
        "woocommerce",
        "buildkite",
        "discord",
        "square",
        "hubspot",
        "grafana",
        "docusign",
        "contentful",
        "coinbase_commerce",
        "custom_hmac",
    ]
    | str
)
"""How a sender signs. `custom_hmac` is described by the webhook's `signature`."""


class Signature(Model):
    """A `custom_hmac` scheme, or the `timestamp_header` of a Grafana contact point."""

    header: str | None = None
    """The header that holds the signature."""

    prefix: str | None = None
    """What stands before the signature, such as `sha256=`."""

    hash: Literal["sha1", "sha256", "sha512"] | str | None = None
    """The hash of the HMAC."""

    encoding: Literal["hex", "base64"] | str | None = None
    """How the signature is written."""

    key_form: Literal["text", "base64", "hex", "whsec"] | str | None = None
    """How the secret is turned into the key: as it stands, or decoded."""

    template: str | None = None
    """The text that is signed: literal text with `{body}` once, and `{timestamp}`, `{method}`,
    `{url}`, `{path}`, `{header:Name}`.
    """

    timestamp_header: str | None = None
    """The header that holds `{timestamp}`, in unix seconds or milliseconds or RFC 3339."""


SecretRefresh: TypeAlias = Literal["apply", "immediate"] | str
"""When a webhook takes a new value of its managed secret: when it is changed or switched on, or at
once.
"""


class Factory(Model):
    """A standing team of agents with its automations and webhooks."""

    uid: str
    """Its uid."""

    name: str
    """Its name."""

    alias: str | None = None
    """A short name for it."""

    description: str | None = None
    """What it is for."""

    source: Literal["service", "repository"] | str
    """Where it is edited: here, or in a Git repository."""

    repository: FactoryRepository | None = None
    """Where that is, for `repository`."""

    foreman_agent_uid: str
    """The agent that its work comes to first; empty until the first commit of its repository is
    applied.
    """

    agents: list[FactoryAgent]
    """Its agents, by name."""

    webhooks_count: int
    """How many webhooks it has."""

    automations_count: int
    """How many automations it has."""

    definition: FactoryDefinition
    """What a factory is defined by."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When it was changed last."""

    team_uid: str
    """The team that it belongs to."""

    repositories: list[WorkRepository]
    """The repositories that it works on, as in factory.yaml."""

    code_forge: CodeForge
    """Where those are."""

    code_forges: list[CodeForge]
    """The same, as a list."""

    credential_strategy: Literal["CREATOR", "EXECUTOR"] | str
    """Whose credentials its runs use, unless an agent says otherwise."""

    default_model: str | None = None
    """The model of its agents, where factory.yaml names one for the built-in harness."""

    default_environment: str | None = None
    """The environment of its agents, where factory.yaml names one."""

    agent_defaults: FactoryAgentDefaults
    """What its agents have unless they say otherwise."""

    scorer_defaults: dict[str, Any]
    """Defaults of scorers. Empty: files cannot set any."""

    scoring: dict[str, Any]
    """Settings of scoring. Empty: files cannot set any."""


class WorkRepository(Model):
    """A repository that a factory works on."""

    owner: str
    """A user, organisation or group."""

    repo: str
    """Its name."""

    code_forge: CodeForge | None = None
    """Where it is."""


CodeForge: TypeAlias = Literal["GITHUB", "NONE"] | str
"""A host of repositories. Files of factories name no host, so it is `GITHUB`, and `NONE` without
repositories.
"""


class FactoryAgentDefaults(Model):
    """What the agents of a factory have unless they say otherwise, as in `agentDefaults` of
    factory.yaml.
    """

    default_runner_uid: str
    """The runner of their runs; empty where none is named."""

    worker_host: str
    """The self-hosted worker of their runs; empty where none is named."""

    secrets: list[SecretRef]
    """Managed secrets that their runs get."""

    mcp_servers: dict[str, MCPServerConfig]
    """MCP servers of their runs, by name."""

    harness: Harness | None = None
    """The agent program of their runs."""

    harness_auth_secrets: dict[str, str] | None = None
    """Names of managed secrets that hold a harness's credentials."""


class FactoryRepository(Model):
    """A Git repository that defines a factory."""

    url: str
    """An `https://` or `ssh://` URL, or `user@host:path`, without credentials; `file://` where the
    server allows it.
    """

    branch: str | None = None
    """The production branch; the default branch of the repository where it is absent."""

    path: str | None = None
    """The folder that holds factory.yaml; the top of the repository where it is absent."""

    secret: str | None = None
    """The managed secret with the credential for an `https://` URL: a token, or `user:token`."""


class FactoryAgent(Model):
    """An agent of a factory."""

    uid: str
    """Its uid."""

    name: str
    """Its name."""

    agent_type: (
        Literal["FOREMAN", "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY", "CUSTOM"] | str
    )
    """Its part."""


class Diagnostic(Model):
    """A finding in a factory's files."""

    code: str
    """The kind of finding, such as `FF_UNKNOWN_FIELD`."""

    message: str
    """What is wrong."""

    path: str
    """The file."""

    line: int
    """The line, from 1."""

    column: int
    """The character of the line, from 1."""

    severity: Literal["error", "warning", "note"] | str
    """Only an error keeps files from being applied; a note is about a file that is ignored."""

    nearest: str | None = None
    """What was perhaps meant."""


class FactoryFiles(Model):
    """The files that define a factory."""

    files: FileTree
    """The content of each file by its path."""

    revision: int
    """Counts the changes of the files."""

    applied_at: Timestamp
    """When they were applied."""

    source: Literal["service", "repository"] | str
    """Where they are edited."""


class ListRevisionsResponse(Model):
    """A page of revisions."""

    revisions: list[Revision]
    """The revisions, the newest first."""

    page_info: PageInfo
    """Whether there is more, and how to get it."""


class Revision(Model):
    """A change of a factory's files."""

    created: list[ResourceChange]
    """What was new."""

    changed: list[ResourceChange]
    """What was not as before."""

    removed: list[ResourceChange]
    """What was gone."""

    revision: int
    """Its number; of a commit that has changed nothing that of the one in force, 0 where there was
    none.
    """

    result: Literal["applied", "unchanged", "rejected"] | str
    """What became of it. Only commits of a repository can be anything but `applied`."""

    commit: Commit | None = None
    """The commit, of a factory that comes from a repository."""

    detail: str | None = None
    """Why a commit was rejected."""

    diagnostics: list[Diagnostic] | None = None
    """What was found in the files of a commit, at most 200 findings."""

    author: RunCreatorInfo | None = None
    """Who made it."""

    created_at: Timestamp
    """When it was applied."""

    diff: str
    """The change of the files as a unified diff, cut where it is very long."""


class Commit(Model):
    """A commit of a repository, as its author says."""

    id: str
    """Its id."""

    author: str
    """Name and address of its author."""

    message: str
    """The first line of its message, cut where it is very long."""

    committed_at: Timestamp | None = None
    """When it was committed, where the commit could be read."""


FileTree: TypeAlias = dict[str, str]
"""The content of each file by its path."""


class DefinitionPlan(Model):
    """What applying files changes."""

    created: list[ResourceChange]
    """What is new."""

    changed: list[ResourceChange]
    """What is not as it was."""

    removed: list[ResourceChange]
    """What is gone."""

    revision: int
    """The revision that is in force now."""

    diagnostics: list[Diagnostic]
    """Warnings."""


class ResourceChange(Model):
    """A resource of a factory that changes."""

    kind: (
        Literal[
            "factory", "agent", "automation", "webhook", "runner", "skill", "scorer", "benchmark"
        ]
        | str
    )
    """The kind of resource."""

    name: str
    """Its name."""

    fields: list[str] | None = None
    """The keys that change."""

    again: bool | None = None
    """Whether there was another one of this name before: this one has a uid of its own."""


class FilesVerdict(Model):
    """What is wrong with files."""

    valid: bool
    """Whether no error was found."""

    schema_version: str
    """The version that factory.yaml names, or the current one."""

    diagnostics: list[Diagnostic]
    """Every finding."""

    validation_scope: ValidationScope
    """What was checked."""

    state_dependent_checks_not_run: list[str]
    """Checks that were left out. Applying makes them."""

    deferred_resolutions: list[DeferredResolution]
    """Values that only applying resolves; none at present."""


class ValidationScope(Model):
    """What was checked."""

    parser: Literal["checked", "not_run"] | str
    """The documents."""

    state_independent: Literal["checked", "not_run"] | str
    """What the files say about each other."""

    state_dependent: Literal["checked", "not_checked"] | str
    """What they name of the server and the team."""


class DeferredResolution(Model):
    """A value of a file that was not resolved."""

    path: str
    """The file."""

    field: str
    """The field."""

    kind: str
    """The kind of value."""


class FactorySchemaVersions(Model):
    """What files of factories can be."""

    current_version: str
    """The version that new files should have."""

    versions: list[FactorySchemaVersion]
    """Every version, sorted."""

    documents: list[str]
    """The names of the documents, such as `agent.schema.json`."""


class FactorySchemaVersion(Model):
    """A version of factory files."""

    schema_version: str
    """The value of `schemaVersion`."""

    schema_url: str
    """The path of its schemas."""


class FactorySchemas(Model):
    """The schemas of a version of factory files."""

    schema_version: str
    """The version."""

    documents: dict[str, dict[str, Any]]
    """The schemas by their names, which are also their `$id`."""


class FactoryDefinition(Model):
    """What a factory is defined by."""

    revision: int
    """Counts its changes; 0 while nothing was applied yet."""

    status: Literal["applied", "invalid", "syncing"] | str
    """`applied`: what was read last is in force. `invalid`: the newest commit of the repository
    was rejected, and the one before it stays in force. `syncing`: the repository is being read,
    for the first time or because that was asked for.
    """

    commit: str | None = None
    """The commit of the repository that is in force."""

    rejected_commit: str | None = None
    """The newest commit, where it was rejected."""

    detail: str | None = None
    """Why it was rejected."""

    diagnostics: list[Diagnostic] | None = None
    """What was found in the newest commit, at most 200 findings; where the factory was just made
    of files, warnings about them.
    """

    problem: str | None = None
    """Why the repository cannot be read at the moment, such as a credential that does not hold.
    What is in force stays.
    """

    checked_at: Timestamp | None = None
    """When the repository was looked at last."""

    outdated_webhooks: list[str] | None = None
    """Names of webhooks whose managed secret has a new value that they have not taken yet. They
    take it with the next change of the factory's files: of a factory from a repository, push a
    commit that changes one of its files. With `secretRefresh: immediate` in the file of a
    webhook, it takes a new value at once.
    """


class ListFactoriesResponse(Model):
    """A page of factories."""

    factories: list[Factory]
    """The factories, by name."""

    page_info: PageInfo
    """Whether there is more, and how to get it."""


class DispatchResponse(Model):
    """A run that was dispatched."""

    run_id: str
    """Its id."""

    run_url: str
    """Its page."""

    state: RunState
    """`QUEUED` waits. `CLAIMED` is taken by a worker. `PENDING` is being prepared. `INPROGRESS`
    means the agent works. `BLOCKED` waits for a person; a follow-up answers it. `SUCCEEDED` is
    done. `FAILED` ended for a cause that its owner can mend, `ERROR` for a cause of the
    server's. `CANCELLED` was cancelled.
    """

    factory_uid: str
    """The factory."""

    foreman_agent: str
    """The name of its foreman, who got the work."""

    ticket_ref: str
    """The ticket that the work is for, as `<source>:<id>`; `adhoc:<run id>` where the request
    names none.
    """


class Trigger(Model):
    """An event that an automation waits for. `webhook` / `received` waits for deliveries to
    webhooks of the factory, `schedule` / `cron_fired` for a clock of its own or for schedules
    of the team. The events of `github` and `linear` are told by deliveries to every enabled
    webhook of the factory whose `signature_scheme` has the same name; a delivery may tell
    several, and starts one run of an automation, however many of its triggers match. Triggers
    of other providers are valid and kept, and `problems` say that they are not connected, as of
    those of GitHub and Linear where the factory has no such webhook.
    """

    provider: (
        Literal["webhook", "schedule", "github", "gitlab", "linear", "jira", "slack", "factory"]
        | str
    )
    """Where the event comes from."""

    event: str
    """What happened there."""

    filter: dict[str, Any] | None = None
    """What the event has to be like. Of `webhook`: `webhook_ids`, UIDs or names of the factory's
    webhooks, and `payload`, a payload filter. Of `schedule`: `schedule_ids`, where there is no
    `schedule`; both name at least one. Of the others: values for each key; all keys must match,
    and one that is absent or empty matches everything. Each key but `payload` has a list, or an
    object with `in` and `not_in`. What an event does not tell is in no list. Case does not
    count but in `branches`, `base_branches` and `paths`, which, like `repos`, may be patterns:
    `*` and `?` within a folder, `**` across folders. `paths` are files that a push changes, of
    which one must match.
    """

    schedule: CronTrigger | None = None
    """Of `schedule`: a clock of its own."""


class CronTrigger(Model):
    """A clock. A time that the clocks show twice, in the night in which they go back, fires once,
    unless the hour of `cron` is `*`; one that they leave out fires when they go forward. A
    server that was down fires once when it is back.
    """

    cron: str
    """When to fire: five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, `@every
    1h30m`.
    """

    name: str | None = None
    """The name that its runs show."""

    timezone: str | None = None
    """IANA time zone name."""

    last_run: Timestamp | None = None
    """When it started a run last. Only in answers."""

    next_run: Timestamp | None = None
    """When it will fire. Only in answers."""

    last_error: str | None = None
    """Why its last time started no run. Only in answers."""


class Automation(Model):
    """Starts a run of one of its factory's agents when a trigger fires. A delivery starts one run
    of it, however many of its triggers match. Its runs have the automation as their creator: it
    acts for no person.
    """

    uid: str
    """Its uid."""

    name: str
    """Its name."""

    enabled: bool
    """Whether it fires."""

    prompt: str
    """What each of its runs starts with."""

    triggers: list[Trigger]
    """What it waits for."""

    problems: list[FieldError] | None = None
    """Why it, or a trigger of it, stays silent."""

    agent: str | None = None
    """The agent that works, by its name in the factory; the foreman where it is absent."""

    model: str | None = None
    """Model of its runs: short for the built-in harness with this model. Not with `harness`."""

    harness: Harness | None = None
    """The agent program of its runs. Not with `model`."""

    runner: str | None = None
    """The runner of its runs."""

    environment_id: str | None = None
    """The environment of its runs."""

    secrets: list[str] | None = None
    """Managed secrets that its runs get, in place of the agent's."""

    mcp_servers: dict[str, MCPServerConfig] | None = None
    """MCP servers of its runs by name, in place of the agent's."""

    worker_host: str | None = None
    """The self-hosted worker of its runs."""

    harness_auth_secrets: dict[str, Any] | None = None
    """The secrets that the harness gets its credentials from, as the factory's files name them."""

    credential_strategy: Literal["CREATOR", "EXECUTOR"] | str | None = None
    """Whose credentials its runs use."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When it was changed last."""


class ListAutomationsResponse(Model):
    """Automations."""

    automations: list[Automation]
    """The automations, by name."""


class FilterVerdict(Model):
    """What a filter makes of a payload."""

    would_trigger: bool
    """Whether every check has passed."""

    checks: list[FilterCheck]
    """The checks in their order."""

    sample: FilterSample | None = None
    """The webhook's last accepted deliveries."""


class FilterCheck(Model):
    """One condition."""

    check: Literal["webhook", "payload", "event"] | str
    """What was checked: whether the webhook takes deliveries, the payload, or the event that it
    tells of.
    """

    passed: bool
    """Whether it holds."""

    path: str | None = None
    """JSON pointer of the first key of the filter that fails."""

    reason: str | None = None
    """Why it fails."""


class FilterSample(Model):
    """The webhook's last accepted deliveries."""

    matched: int
    """How many of them match."""

    of: int
    """How many there were."""


class Webhook(Model):
    """An authenticated URL that starts automations."""

    uid: str
    """Its uid, of 131 random bits."""

    name: str
    """Its name, the only one in the factory."""

    label: str
    """The name as it was typed."""

    auth_mode: WebhookAuthMode
    """How a delivery shows that it is the sender's."""

    signature_scheme: SignatureScheme | None = None
    """How the sender signs, for `signature`."""

    signature: Signature | None = None
    """The scheme of `custom_hmac`, or what `grafana` needs."""

    secret_name: str
    """The managed secret that it takes its value from."""

    delivery_id_header: str | None = None
    """A header whose value tells deliveries apart."""

    replay_guard: bool
    """Whether the same signed bytes are a duplicate under another id that is not signed."""

    secret_refresh: SecretRefresh
    """When it takes a new value of its managed secret."""

    enabled: bool
    """Whether it takes deliveries; its sender gets 404 where it does not."""

    suspended: bool
    """Whether it takes no deliveries although it is enabled: its sender gets 404. That is no part
    of the factory's files, and stays through every change of them.
    """

    pending_secret: bool
    """Whether it waits for its secret, and takes no deliveries until then."""

    outdated_secret: bool
    """Whether its managed secret has a new value that the webhook has not taken yet. It takes it
    when it is changed or switched on, or with the next change of the factory's files; at once
    where `secret_refresh` is `immediate`.
    """

    ingress_url: str
    """Where to send deliveries. For `url_token`, `{token}` stands for the secret, except in the
    answer that shows it.
    """

    secrets: list[WebhookSecret]
    """The secrets that are valid now, the newest first."""

    counts: DeliveryCounts
    """The deliveries of the last 24 hours."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When it was changed last."""

    last_delivery_at: Timestamp | None = None
    """When a delivery came last whose token or signature was right, also a duplicate."""

    secret: Annotated[str | None, Field(repr=False)] = None
    """The secret, in the answer that makes it and never again."""


class ListSignatureSchemesResponse(Model):
    """Signature schemes."""

    signature_schemes: list[SignaturePreset]
    """The schemes in the order in which to show them."""


class SignaturePreset(Model):
    """What is known of a scheme."""

    scheme: SignatureScheme
    """Its name."""

    sender: str
    """Who signs so, for people."""

    hint: str
    """Where the sender shows its secret."""

    secret_after_url: bool
    """Whether the secret exists only once the URL was registered: the webhook is made without one
    and finished later.
    """

    secret_generated: bool
    """Whether the sender takes a secret that is made here."""

    forms: list[SignatureForm]
    """The layouts that are tried in turn; none of `custom_hmac`, which its webhook describes."""


class SignatureForm(Model):
    """One layout of a signature."""

    header: str
    """The header that holds the signature."""

    prefix: str | None = None
    """What stands before each signature, such as `sha256=`."""

    hash: Literal["sha1", "sha256", "sha512"] | str | None = None
    """The hash of an HMAC."""

    encoding: Literal["hex", "base64"] | str | None = None
    """How the signature is written."""

    key_form: Literal["text", "base64", "hex", "whsec", "whpk", "ed25519"] | str | None = None
    """How the secret is turned into the key."""

    template: str | None = None
    """The text that is signed."""

    timestamp_header: str | None = None
    """The header that holds `{timestamp}`."""

    algorithm: Literal["hmac", "ed25519", "token"] | str
    """How it is made; of `token` the header holds the secret itself."""

    separator: str | None = None
    """What stands between several signatures in the header."""

    numbered: bool | None = None
    """Whether `header` is followed by a number, from 1 to 100, and each has a signature."""

    signed_headers: str | None = None
    """The header that lists the names of `{signed_headers}`."""

    timestamp_field: str | None = None
    """The field of the signature header that holds `{timestamp}`."""

    timestamp_body: str | None = None
    """The key of the body that holds the time."""

    timestamp_unit: Literal["s", "ms", "rfc3339", "any"] | str | None = None
    """How the time is written."""

    tolerance_seconds: int | None = None
    """How far the time may be from the server's, both ways."""

    id_header: str | None = None
    """The header with the sender's id of a delivery."""

    id_body: str | None = None
    """The key of the body with it."""

    headers: list[str]
    """Every header that the signature depends on, its own first."""

    time_signed: bool
    """Whether the signature covers a time, so that an old delivery cannot be sent again."""

    id_signed: bool
    """Whether it covers the id, so that a delivery cannot be sent again under another one."""


class ScheduleTimes(Model):
    """When a clock fires."""

    upcoming: list[Timestamp]
    """The next five times, fewer where there are no more."""


class WebhookSecret(Model):
    """A secret that is valid, without its value."""

    index: int
    """0 is the present one; those after it are older."""

    last_used_at: Timestamp | None = None
    """When a delivery was authenticated with it last, to the minute."""

    expires_at: Timestamp | None = None
    """When it stops, after a rotation with an overlap."""


class DeliveryCounts(Model):
    """Deliveries of the last 24 hours, to a quarter of an hour."""

    accepted: int
    """Accepted."""

    duplicate: int
    """Accepted before."""

    rejected: int
    """Not authenticated, no JSON, or too large."""

    rate_limited: int
    """Too many at once."""


Outcome: TypeAlias = (
    Literal["accepted", "duplicate", "rejected_auth", "rejected_json", "rejected_size"] | str
)
"""What became of a delivery. It never changes."""


class Delivery(Model):
    """An entry of a webhook's log."""

    delivery_id: str
    """Its id."""

    webhook_uid: str
    """The webhook."""

    outcome: Outcome
    """What became of it."""

    label: str
    """That in words, such as Rejected (auth)."""

    reason: str | None = None
    """Why, where there is more to say: of a failed authentication `missing_header`, `bad_format`,
    `stale`, `future`, `mismatch` or `no_secret`; of a body `invalid_json` or
    `content_encoding`; of a duplicate `replayed_signature`; `handshake` where the sender only
    checked the URL.
    """

    size: int
    """Bytes of the body, as it was announced where it was not read."""

    received_at: Timestamp
    """When it arrived."""

    identity_source: (
        Literal[
            "delivery_id_header",
            "provider",
            "x_penstock_delivery_id",
            "body_hash",
            "replay",
            "none",
        ]
        | str
    )
    """What identifies it. `x_penstock_delivery_id` stands for `X-Service-Delivery-Id` and `X-Warp-
    Delivery-Id`, too; `none` for a rejection or a sender's handshake, whose identity was not
    read.
    """

    duplicate_of: str | None = None
    """The delivery that was accepted before."""

    http_status: int
    """What its sender was answered."""

    runs: list[str]
    """The runs that it started."""

    matches: list[DeliveryMatch]
    """What it meant to each automation."""

    replay_of: str | None = None
    """The delivery of which it is a replay."""

    headers: dict[str, str]
    """What its sender said about it, of an allow-list without secrets; names in lower case."""

    payload_sha256: str | None = None
    """SHA-256 of the body."""

    client_ip: str
    """From where it came; empty for a replay."""


class DeliveryMatch(Model):
    """What a delivery meant to one automation."""

    automation: str
    """Its name."""

    automation_uid: str
    """Its uid."""

    would_trigger: bool
    """Whether it started a run."""

    run_id: str | None = None
    """The run."""

    failed_at: str | None = None
    """Where there is none: the JSON pointer of the first key of its filter that failed, such as
    `/data/status` of a payload filter and `/labels` of a trigger of `github` or `linear` (empty
    for the body as a whole, and where it tells of another event), or `automation` where that is
    broken.
    """

    reason: str | None = None
    """Why there is none, for people."""


class ListDeliveriesResponse(Model):
    """A page of a webhook's log."""

    deliveries: list[Delivery]
    """The deliveries, newest first."""

    page_info: PageInfo
    """How to go on."""


class ListWebhooksResponse(Model):
    """Webhooks."""

    webhooks: list[Webhook]
    """The webhooks."""


class Key(Model):
    """An API key."""

    uid: str
    """Its uid."""

    name: str
    """What it is for."""

    scopes: list[KeyScope]
    """What it may do."""

    prefix: str
    """How the key begins, to tell keys apart."""

    owner: RunCreatorInfo
    """Whom its bearer acts as."""

    agent_uid: str | None = None
    """The agent that its bearer acts as, when it is one."""

    created_at: Timestamp
    """When it was created."""

    expires_at: Timestamp | None = None
    """When it ends."""

    last_used_at: Timestamp | None = None
    """When it was used last, to the minute or so."""

    key: Annotated[str | None, Field(repr=False)] = None
    """The key itself, in the answer that creates it and never again."""


class ListKeysResponse(Model):
    """Keys."""

    keys: list[Key]
    """The keys."""


class Me(Model):
    """The caller."""

    team: str
    """The uid of the team that everything belongs to."""

    actor: RunCreatorInfo
    """Who it is."""

    scopes: list[KeyScope]
    """What the caller may do."""

    key_uid: str | None = None
    """The key that was used."""

    run_id: str | None = None
    """The run, for the key of an execution."""


class Session(Model):
    """A session of the dashboard."""

    team: str
    """The uid of the team that everything belongs to."""

    actor: RunCreatorInfo
    """Who has signed in."""

    scopes: list[KeyScope]
    """What the session may do."""

    key_uid: str
    """The key that began it."""

    secret: str | None = None
    """Must be sent as X-Penstock-Session-Secret beside the cookie. Only in the answer that begins
    the session.
    """

    expires_at: datetime
    """When it ends, however much it is used."""

    idle_seconds: int
    """After how long without a request it ends."""


class Stats(Model):
    """What happened lately, in sums."""

    since: Timestamp
    """When the first hour began."""

    until: Timestamp
    """Now."""

    hours: list[HourStats]
    """The 24 hours, the earliest first; the last one is not over."""

    factories: list[FactoryStats]
    """Those whose runs cost the most, the dearest first."""

    capacity: Capacity
    """What the connected workers can execute at once, and do."""


class HourStats(Model):
    """What happened in an hour."""

    start: Timestamp
    """When it began."""

    runs: dict[str, int]
    """How many runs that were created in it are now in which state. States that none has are left
    out.
    """

    queue_wait: QueueWait
    """How long runs that were created in an hour waited until a worker first took them. Those that
    still wait do not count.
    """

    deliveries: HourDeliveries | None = None
    """Deliveries of an hour to the webhooks that there are, by what became of them."""


class QueueWait(Model):
    """How long runs that were created in an hour waited until a worker first took them. Those that
    still wait do not count.
    """

    runs: int
    """How many were taken."""

    mean_seconds: float
    """How long they waited on average."""

    max_seconds: float
    """The longest wait."""


class HourDeliveries(Model):
    """Deliveries of an hour to the webhooks that there are, by what became of them."""

    accepted: int
    """Accepted."""

    duplicate: int
    """Accepted before."""

    rejected: int
    """Not authenticated, no JSON, or too large."""

    rate_limited: int
    """Too many at once."""


class FactoryStats(Model):
    """Runs of a factory, or of none."""

    factory_uid: str | None = None
    """The factory; absent for runs of none."""

    factory_name: str | None = None
    """Its name."""

    runs: int
    """How many there were."""

    cost_usd: float
    """What their models cost in US dollars, as far as prices are known."""


class Capacity(Model):
    """What the connected workers can execute at once, and do."""

    slots: int
    """How many runs all workers together execute at most."""

    busy: int
    """How many they execute now."""

    server_slots: int
    """Those of the workers inside of servers, of `slots`."""

    server_busy: int
    """Those of the workers inside of servers, of `busy`."""

    queued: int
    """How many runs of the team wait for a worker."""


class Limits(Model):
    """Limits. 0 means none."""

    requests_per_minute: int
    """Requests of one key."""

    validations_per_minute: int
    """Validations of factory files that one address asks for without a key."""

    request_body_bytes: int
    """A JSON body, attachments aside."""

    configuration_bytes: int
    """The configuration of a run as JSON, of whatever makes runs, and an environment."""

    attachments_per_run: int
    """Attachments of one request."""

    attachment_bytes: int
    """Those together, decoded."""

    artifact_bytes: int
    """One file that a run makes."""

    run_artifact_bytes: int
    """All files that a run makes."""

    run_depth: int
    """Levels of runs that start runs."""

    metadata_keys: int
    """Keys of a run's metadata."""

    page_size: int
    """The largest `limit` of a list."""

    page_bytes: int
    """A page of runs as JSON, which ends early for that, with one run at least."""

    listed_prompt_bytes: int
    """A prompt in a list of runs, which is shortened."""

    idempotency_seconds: int
    """How long an `Idempotency-Key` is remembered."""

    signed_link_seconds: int
    """How long a signed link holds."""

    queue_timeout_seconds: int
    """How long a run may wait before it ends, ERROR."""

    run_retention_seconds: int
    """How long a run stays once it is over and no longer changes."""

    secrets_per_team: int
    """Managed secrets of a team."""

    secret_value_bytes: int
    """The value of one."""

    webhooks_per_factory: int
    """Webhooks of a factory."""

    delivery_bytes: int
    """The body of a delivery."""

    deliveries_per_minute: int
    """Deliveries of one webhook that are admitted in any 60 seconds."""

    auth_failures_per_address: int
    """Failed authentications of one client address at one webhook, in a minute."""

    auth_failures_per_webhook: int
    """Failed authentications at one webhook, in a minute, that are logged."""

    logged_rejections: int
    """Rejected deliveries of one webhook and outcome, in a minute, that are logged."""

    kept_deliveries: int
    """The newest deliveries of each outcome, which are always kept."""

    delivery_retention_seconds: int
    """How long all deliveries are kept."""

    dedup_body_seconds: int
    """How long an equal body is a duplicate where nothing else tells deliveries apart."""


ContentBlock: TypeAlias = Annotated[
    Annotated[TextBlock, Tag("text")]
    | Annotated[ActionBlock, Tag("action")]
    | Annotated[ActionResultBlock, Tag("action_result")]
    | Annotated[EventBlock, Tag("event")]
    | Annotated[UnknownContentBlock, Tag(UNKNOWN)],
    Discriminator(tag_of("type", "text", "action", "action_result", "event")),
]
"""A part of a message."""

RunEvent: TypeAlias = Annotated[
    Annotated[RunStateEvent, Tag("state")]
    | Annotated[RunMessageEvent, Tag("message")]
    | Annotated[RunMessageDeltaEvent, Tag("message_delta")]
    | Annotated[RunActionEvent, Tag("action")]
    | Annotated[RunActionResultEvent, Tag("action_result")]
    | Annotated[RunPlanEvent, Tag("plan")]
    | Annotated[RunUsageEvent, Tag("usage")]
    | Annotated[RunArtifactEvent, Tag("artifact")]
    | Annotated[RunTimelineEvent, Tag("timeline")]
    | Annotated[RunDoneEvent, Tag("done")]
    | Annotated[UnknownRunEvent, Tag(UNKNOWN)],
    Discriminator(
        tag_of(
            "event",
            "state",
            "message",
            "message_delta",
            "action",
            "action_result",
            "plan",
            "usage",
            "artifact",
            "timeline",
            "done",
        )
    ),
]
"""One event of a run's stream."""

ArtifactItem: TypeAlias = Annotated[
    Annotated[PlanArtifact, Tag("PLAN")]
    | Annotated[PullRequestArtifact, Tag("PULL_REQUEST")]
    | Annotated[ScreenshotArtifact, Tag("SCREENSHOT")]
    | Annotated[FileArtifact, Tag("FILE")]
    | Annotated[ExternalReferenceArtifact, Tag("EXTERNAL_REFERENCE")]
    | Annotated[UnknownArtifactItem, Tag(UNKNOWN)],
    Discriminator(
        tag_of("artifact_type", "PLAN", "PULL_REQUEST", "SCREENSHOT", "FILE", "EXTERNAL_REFERENCE")
    ),
]
"""Something that a run made."""

ArtifactResponse: TypeAlias = Annotated[
    Annotated[PlanArtifactResponse, Tag("PLAN")]
    | Annotated[PullRequestArtifactResponse, Tag("PULL_REQUEST")]
    | Annotated[ScreenshotArtifactResponse, Tag("SCREENSHOT")]
    | Annotated[FileArtifactResponse, Tag("FILE")]
    | Annotated[ExternalReferenceArtifactResponse, Tag("EXTERNAL_REFERENCE")]
    | Annotated[UnknownArtifactResponse, Tag(UNKNOWN)],
    Discriminator(
        tag_of("artifact_type", "PLAN", "PULL_REQUEST", "SCREENSHOT", "FILE", "EXTERNAL_REFERENCE")
    ),
]
"""An artifact with what is needed to read it."""
