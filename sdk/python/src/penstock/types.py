# Made from api/openapi.yaml by generate/ (make generate). Do not edit.
"""What the server returns, as pydantic models.

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
    "Budget",
    "BudgetAction",
    "BudgetPeriod",
    "BudgetScope",
    "BudgetShortage",
    "BundledSkill",
    "CallOutcome",
    "Capacity",
    "CatchUp",
    "ChangeSums",
    "Checkpoint",
    "Checkpoints",
    "CloudEnvironment",
    "CloudEnvironmentConfig",
    "CodeForge",
    "Commit",
    "ComparedRun",
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
    "EndpointAttempt",
    "EndpointFormat",
    "EndpointMessageSent",
    "EndpointMessagesReplayed",
    "EndpointSecret",
    "EndpointStats",
    "EnvironmentTask",
    "Error",
    "ErrorCode",
    "EventBlock",
    "EventEndpoint",
    "EventMessage",
    "EventMessageData",
    "EventType",
    "EventTypeInfo",
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
    "FailuresInARow",
    "Fate",
    "FieldError",
    "FileArtifact",
    "FileArtifactData",
    "FileArtifactResponse",
    "FileArtifactResponseData",
    "FileChange",
    "FileTree",
    "FilesValidation",
    "FilterCheck",
    "FilterDelivery",
    "FilterSample",
    "FilterTestResult",
    "FollowupPolicy",
    "FollowupResponse",
    "FollowupSettings",
    "Forge",
    "ForgeBot",
    "ForgeCheck",
    "ForgeChecked",
    "ForgeProvider",
    "ForgeRepository",
    "ForgeSettings",
    "ForgeStatus",
    "ForkGroup",
    "ForkRunResponse",
    "ForkedFrom",
    "ForkedRun",
    "GitHubRepo",
    "GitRepo",
    "Grant",
    "GrantSubjectType",
    "HandoffAttachment",
    "HandoffAttachmentsResponse",
    "Harness",
    "HarnessInfo",
    "HarnessTokens",
    "HarnessUsage",
    "HarnessUsageCoverage",
    "HarnessUsageOfModel",
    "HarnessUsagePayload",
    "HarnessUsageSnapshot",
    "HarnessUsageState",
    "HourDeliveries",
    "HourStats",
    "HourlyCost",
    "HourlyCosts",
    "InterruptResponse",
    "Key",
    "KeyScope",
    "Limits",
    "ListAgentSkillsResponse",
    "ListAgentsResponse",
    "ListAutomationsResponse",
    "ListBudgetsResponse",
    "ListBundledSkillsResponse",
    "ListConnectedWorkersResponse",
    "ListDeliveriesResponse",
    "ListEndpointAttemptsResponse",
    "ListEnvironmentsResponse",
    "ListEventEndpointsResponse",
    "ListEventTypesResponse",
    "ListFactoriesResponse",
    "ListForgeRepositoriesResponse",
    "ListForgesResponse",
    "ListGrantsResponse",
    "ListHarnessesResponse",
    "ListKeysResponse",
    "ListModelsResponse",
    "ListOccurrencesResponse",
    "ListPrebuildsResponse",
    "ListRevisionsResponse",
    "ListRunCallsResponse",
    "ListRunsResponse",
    "ListSchedulesResponse",
    "ListSecretsResponse",
    "ListServiceAccountsResponse",
    "ListSignInProvidersResponse",
    "ListSignatureSchemesResponse",
    "ListSubjectsResponse",
    "ListUsersResponse",
    "ListWebhooksResponse",
    "LiveMessage",
    "MCPServerConfig",
    "Me",
    "Member",
    "MemberRole",
    "MemoryStoreRef",
    "MessageDelta",
    "MessageRole",
    "MessageType",
    "Metadata",
    "MissedTicks",
    "ModelCall",
    "ModelInfo",
    "ModelPolicy",
    "MyGrant",
    "Network",
    "NetworkCredential",
    "NetworkHost",
    "NetworkLayer",
    "NetworkPolicy",
    "NetworkRule",
    "NullableTimestamp",
    "Occurrence",
    "OccurrenceKind",
    "OnHollow",
    "Outcome",
    "Output",
    "OutputBounds",
    "OutputKind",
    "OutputLimits",
    "OutputList",
    "OutputPayload",
    "OutputPolicy",
    "OutputSettings",
    "OutputState",
    "OutputTarget",
    "Overlap",
    "PageInfo",
    "PathProtection",
    "Period",
    "Plan",
    "PlanArtifact",
    "PlanArtifactData",
    "PlanArtifactResponse",
    "PlanArtifactResponseData",
    "PlanEntry",
    "PodWait",
    "Prebuild",
    "PrepareAttachmentsResponse",
    "PreparedAttachment",
    "PreparedHead",
    "PreparedWorkspace",
    "PullRequestArtifact",
    "PullRequestArtifactData",
    "PullRequestArtifactResponse",
    "PullRequestArtifactResponseData",
    "PullRequestSettings",
    "PullRequestStatus",
    "PushBounds",
    "PushLimits",
    "PushPolicy",
    "PushSettings",
    "QueueWait",
    "ReachedHost",
    "RepositoryChanges",
    "RequestUsage",
    "RequestUsageInferenceCostBreakdownUsd",
    "ResourceChange",
    "Revision",
    "RewindRunResponse",
    "RunActionEvent",
    "RunActionResultEvent",
    "RunAgentResponse",
    "RunArtifactEvent",
    "RunBudgetUsage",
    "RunChanges",
    "RunCreatorInfo",
    "RunDoneEvent",
    "RunEvent",
    "RunEvidence",
    "RunItem",
    "RunMessageDeltaEvent",
    "RunMessageEvent",
    "RunMode",
    "RunNetwork",
    "RunPlanEvent",
    "RunReference",
    "RunRepository",
    "RunSchedule",
    "RunSourceType",
    "RunStalled",
    "RunStalledLastEvent",
    "RunState",
    "RunStateEvent",
    "RunStatusMessage",
    "RunTimelineEvent",
    "RunUsage",
    "RunUsageEvent",
    "RunWaiting",
    "ScheduleTimes",
    "ScheduledAgentItem",
    "ScheduledAgentItemHistory",
    "Scope",
    "ScreenshotArtifact",
    "ScreenshotArtifactData",
    "ScreenshotArtifactResponse",
    "ScreenshotArtifactResponseData",
    "Secret",
    "SecretHosts",
    "SecretRef",
    "SecretRefresh",
    "SecretUser",
    "Session",
    "SessionRedirect",
    "SignInProvider",
    "SignInStart",
    "Signature",
    "SignatureForm",
    "SignaturePreset",
    "SignatureScheme",
    "Silence",
    "StateChange",
    "Stats",
    "Subject",
    "SubjectEvent",
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
    "UsageReport",
    "UsageRow",
    "UsageSum",
    "ValidationScope",
    "Webhook",
    "WebhookAuthMode",
    "WebhookSecret",
    "WebhookVerification",
    "WhenBusy",
    "WorkRepository",
    "WorkerExecution",
]

Timestamp: TypeAlias = datetime
"""RFC 3339 in UTC, with at least millisecond precision."""


class Error(Model):
    """A problem (RFC 9457)."""

    type: str
    """URL of the page that explains the error. Its last segment is the error code."""

    title: str
    """The error code in words."""

    status: int
    """The HTTP status."""

    error: str
    """`title` and `detail` in one line."""

    detail: str | None = None
    """What is wrong with this request."""

    instance: str | None = None
    """The route of the request, such as `/api/v1/agent/runs/{runId}`. It contains no path values,
    because they can hold a token. Absent if no route matches the path.
    """

    retryable: bool | None = None
    """Whether a retry of the same request can help."""

    trace_id: str | None = None
    """OpenTelemetry trace id of the request, if it has one."""

    errors: list[FieldError] | None = None
    """The invalid fields, if any."""

    diagnostics: list[Diagnostic] | None = None
    """With `invalid_definition`, all findings in the files."""


class FieldError(Model):
    """An invalid field."""

    pointer: str
    """JSON pointer (RFC 6901) into the body. Empty for the whole body, and for a parameter, which
    `detail` names.
    """

    detail: str
    """What is wrong with the field."""


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
        "unpriced_model",
        "agent_did_nothing",
    ]
    | str
)
"""Error code. See [the error pages](/docs/errors)."""


class Success(Model):
    """Confirmation of success."""

    success: bool
    """Always true."""


class PageInfo(Model):
    """Position in a paginated list."""

    has_next_page: bool
    """Whether there is another page."""

    next_cursor: str | None = None
    """The `cursor` of the next page."""


RunMode: TypeAlias = Literal["normal", "plan", "orchestrate"] | str
"""`plan` and `orchestrate` tell the agent to plan first and ask. The run is then BLOCKED until a
follow-up replies.
"""

Metadata: TypeAlias = dict[str, str]
"""Labels to find runs by. A request can have at most 20 keys. A key is 1 to 64 bytes of `a-z A-Z
0-9 . _ -`. A value is up to 256 bytes of UTF-8 without NUL. Labels are merged key by key: the
request's override the parent run's. Only the server sets `automation_id`, `webhook_uid` and
`delivery_id`, for runs that an automation starts and their children. A request that sets one of
them is rejected.
"""


class RunAgentResponse(Model):
    """The created run."""

    run_id: str
    """The run: with `subject`, the one that works on it."""

    task_id: str
    """Same as `run_id`."""

    state: RunState
    """`QUEUED`: waits for a worker. `CLAIMED`: a worker has claimed it. `PENDING`: its workspace
    is being prepared. `INPROGRESS`: the agent is working. `BLOCKED`: waits for a follow-up from
    a person. `SUCCEEDED`: completed. `FAILED`: ended for a cause that its owner can fix.
    `ERROR`: ended for a cause on the server. `CANCELLED`: was cancelled.
    """

    at_capacity: bool | None = None
    """Whether every worker is busy, so that the run, or one of `runs`, has to wait."""

    outcome: CallOutcome | None = None
    """What became of a request for a run: it started the run; or, with a subject, its prompt
    reaches the run as a follow-up (`continued`), or together with the prompt of a run that has
    not begun (`merged_into`).
    """

    fork_group: str | None = None
    """What the runs have in common, for `GET /agent/fork-groups/{forkGroup}`. Only with `attempts`
    or `configs`.
    """

    runs: list[ForkedRun] | None = None
    """All runs, in order. The first is `run_id`. Only with `attempts` or `configs`."""


CallOutcome: TypeAlias = Literal["started", "continued", "merged_into"] | str
"""What became of a request for a run: it started the run; or, with a subject, its prompt reaches
the run as a follow-up (`continued`), or together with the prompt of a run that has not begun
(`merged_into`).
"""


class FollowupResponse(Model):
    """A recorded follow-up."""

    run_id: str | None = None
    """The run that receives the follow-up, if the request named a conversation."""

    followup_id: str
    """The id of the follow-up, and of its message in the conversation."""

    outcome: Literal["queue_pending", "live_session", "handoff_execution"] | str
    """`queue_pending`: the agent receives it after its prompt; if a budget blocks the run, once it
    has room. `live_session`: the running agent receives it at its next turn.
    `handoff_execution`: it starts another execution of the run.
    """


class InterruptResponse(Model):
    """A recorded interrupt."""

    run_id: str | None = None
    """The run whose agent is interrupted, if the request named a conversation."""


class Checkpoints(Model):
    """The saved turns of a run."""

    checkpoints: list[Checkpoint]
    """Turns whose files are kept, in order."""


class Checkpoint(Model):
    """A turn whose files are kept."""

    uid: str
    """Unique id."""

    turn: int
    """The number of the turn by its message, from 1. 0: what the run was forked from."""

    message_id: str
    """The message that began the turn. It is the id of a step of the conversation."""

    harness: str
    """The agent program that worked in it."""

    created_at: Timestamp
    """When it was saved."""

    files: int
    """How many files, folders and links have changed since the workspace was prepared."""

    bytes: int
    """The size of these files, in bytes."""

    superseded: bool | None = None
    """True if the run went back to an earlier turn since. Nothing continues from it then."""


class Output(Model):
    """Something outside of a run that its agent has declared, and that is done after the turn."""

    uid: str
    """Unique id."""

    run_id: str
    """The run."""

    turn: int
    """The turn that declared it, by its message, from 1."""

    kind: OutputKind
    """What it is."""

    state: OutputState
    """How far it is."""

    target: OutputTarget
    """Where it goes."""

    payload: OutputPayload
    """What it says. The kind decides which fields it has."""

    url: str | None = None
    """The result on the forge."""

    problem: str | None = None
    """Why it failed, waits, was discarded, or could be done only in part."""

    created_at: Timestamp
    """When it was declared."""

    updated_at: Timestamp
    """When it last changed."""


class OutputTarget(Model):
    """Where it goes."""

    connection: str
    """The name of the connection."""

    repository: str
    """The repository, as owner/name."""

    pull_request: int | None = None
    """The number of the pull request, once it is known."""


class OutputPayload(Model):
    """What it says. The kind decides which fields it has."""

    title: str | None = None
    """The title."""

    body: str | None = None
    """The text, in Markdown."""

    branch: str | None = None
    """The branch of a pull request."""

    base: str | None = None
    """The base branch that was asked for."""

    draft: bool | None = None
    """Whether a new pull request is a draft."""


OutputKind: TypeAlias = Literal["pr", "comment"] | str
"""The kind of an output."""

OutputState: TypeAlias = Literal["declared", "held", "queued", "done", "failed", "discarded"] | str
"""How far an output is: `declared` until its turn ends, `held` until a person releases it (the
outputs of forks, and all with `approval: always`), `queued` while it is done or waits for the
forge, and then `done`, `failed` or `discarded`.
"""


class OutputList(Model):
    """Outputs."""

    outputs: list[Output]
    """The outputs, the oldest first."""


class ForkRunResponse(Model):
    """The new runs."""

    fork_group: str
    """What the runs have in common, for `GET /agent/fork-groups/{forkGroup}`."""

    runs: list[ForkedRun]
    """The runs, in order."""


class ForkedRun(Model):
    """A run of a new fork group."""

    run_id: str
    """Unique id."""

    state: RunState
    """The state of the new run."""


class RewindRunResponse(Model):
    """A run that went back."""

    run_id: str
    """Unique id."""

    turn: int
    """The turn."""

    state: RunState
    """The state of the run now."""

    followup_id: str | None = None
    """The id of the message in the conversation, if `prompt` was given."""

    reached: list[ReachedHost]
    """Hosts that the run sent requests to in the executions that ended after the turn, without
    models.
    """


class ReachedHost(Model):
    """A host that a run sent requests to."""

    host: str
    """Its name or address."""

    port: int
    """Its port."""

    requests: int
    """How many requests or connections."""

    bytes_out: int
    """Bytes that the run has sent."""


class ForkGroup(Model):
    """The runs that one request has forked, or created as attempts."""

    fork_group: str
    """Unique id."""

    runs: list[ComparedRun]
    """The runs, in order."""


class ComparedRun(Model):
    """What a run of a group has changed and consumed."""

    run_id: str
    """Unique id."""

    title: str
    """Its title."""

    state: RunState
    """Its state."""

    harness: str
    """Its agent program."""

    model_id: str | None = None
    """Its model."""

    forked_from: ForkedFrom | None = None
    """Where it began."""

    created_at: Timestamp
    """When it was created."""

    finished_at: Timestamp | None = None
    """When it ended."""

    run_time: str | None = None
    """How long workers had it, as an ISO 8601 duration."""

    hollow: bool | None = None
    """True if the agent ended its work without doing anything."""

    request_usage: RequestUsage | None = None
    """The run's usage so far. A cost without a known price is absent."""

    changes: ChangeSums
    """What it has changed in its repositories."""


class ChangeSums(Model):
    """Sums of what a run has changed in its repositories."""

    repositories: int
    """Repositories that were checked out."""

    files: int
    """Files that were changed."""

    additions: int
    """Lines added."""

    deletions: int
    """Lines removed."""


class ForkedFrom(Model):
    """The turn of another run."""

    run_id: str
    """The run."""

    turn: int
    """The turn."""


class PrepareAttachmentsResponse(Model):
    """Upload links."""

    attachments: list[PreparedAttachment]
    """The upload link of each file, in the order of the request."""


class PreparedAttachment(Model):
    """The upload link of a file."""

    attachment_id: str
    """The id of the attachment, for follow-ups."""

    upload_url: str
    """`PUT` the file to this URL. The link grants access, so no key is needed."""

    upload_target: UploadTarget
    """The request that uploads the file. The file is its body."""

    expires_at: datetime
    """When the link expires."""


class UploadTarget(Model):
    """The request that uploads the file. The file is its body."""

    url: str
    """The upload link."""

    method: str
    """Always `PUT`."""

    headers: dict[str, str]
    """Headers to send."""

    fields: list[str]
    """Form fields. Always empty, because the file is the body."""


class UploadedAttachment(Model):
    """An uploaded attachment."""

    attachment_id: str
    """The id of the attachment, for follow-ups."""

    filename: str
    """Name."""

    mime_type: str
    """Media type."""

    size_bytes: int
    """Size in bytes."""


class ListRunsResponse(Model):
    """A page of runs."""

    runs: list[RunItem]
    """The runs."""

    page_info: PageInfo
    """Position in a paginated list."""


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
"""`QUEUED`: waits for a worker. `CLAIMED`: a worker has claimed it. `PENDING`: its workspace is
being prepared. `INPROGRESS`: the agent is working. `BLOCKED`: waits for a follow-up from a
person. `SUCCEEDED`: completed. `FAILED`: ended for a cause that its owner can fix. `ERROR`:
ended for a cause on the server. `CANCELLED`: was cancelled.
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
"""What created the run."""

ExecutionLocation: TypeAlias = Literal["LOCAL", "REMOTE"] | str
"""`REMOTE` is a worker, including the one in the server. `LOCAL`, a user's own machine, never
occurs on this server.
"""


class RunStatusMessage(Model):
    """Why the run is in its state."""

    message: str
    """Message for people."""

    error_code: ErrorCode | None = None
    """Error code. See [the error pages](/docs/errors)."""

    retryable: bool | None = None
    """Whether a retry of the same run can succeed."""

    budget: BudgetShortage | None = None
    """The budget that blocks or ended the run, and the amount that the next call needs: either
    costs or tokens. When the budget is raised, a blocked run continues.
    """


class BudgetShortage(Model):
    """The budget that blocks or ended the run, and the amount that the next call needs: either
    costs or tokens. When the budget is raised, a blocked run continues.
    """

    budget_uid: str
    """The budget, or the id of a run for its own."""

    budget_name: str | None = None
    """What people call the budget, such as `monthly budget of the team`. Absent for that of a run."""

    spent_usd: float | None = None
    """What was spent and reserved, in US dollars."""

    cap_usd: float | None = None
    """The cap, in US dollars."""

    needed_usd: float | None = None
    """The most that the next call can cost, in US dollars."""

    spent_tokens: int | None = None
    """Tokens that were used and reserved."""

    cap_tokens: int | None = None
    """The cap, in tokens."""

    needed_tokens: int | None = None
    """The most tokens that the next call can use."""


class RunCreatorInfo(Model):
    """A user or a service account."""

    type: Literal["user", "service_account"] | str
    """User or service account."""

    uid: str
    """Unique id."""

    display_name: str | None = None
    """Name."""

    email: str | None = None
    """Email address."""

    photo_url: str | None = None
    """URL of a picture."""


class RunItem(Model):
    """A run."""

    run_id: str
    """The run's id."""

    task_id: str
    """Same as `run_id`."""

    title: str
    """Title in lists."""

    state: RunState
    """`QUEUED`: waits for a worker. `CLAIMED`: a worker has claimed it. `PENDING`: its workspace
    is being prepared. `INPROGRESS`: the agent is working. `BLOCKED`: waits for a follow-up from
    a person. `SUCCEEDED`: completed. `FAILED`: ended for a cause that its owner can fix.
    `ERROR`: ended for a cause on the server. `CANCELLED`: was cancelled.
    """

    prompt: str
    """The task for the agent. Empty if the run has only a skill."""

    prompt_truncated: bool | None = None
    """True in a list if `prompt` is shortened. Get the run for the complete prompt."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When the run last changed."""

    started_at: NullableTimestamp = None
    """When a worker first claimed the run."""

    finished_at: Timestamp | None = None
    """When the run ended. Absent while it is active."""

    run_time: str | None = None
    """Total time of its executions, as an ISO 8601 duration."""

    execution_id: int
    """Number of the current execution. A follow-up to an ended run starts the next one."""

    queue_position: int | None = None
    """Position in the queue, from 1, while QUEUED."""

    factory_uid: str | None = None
    """The factory that the run belongs to."""

    parent_run_id: str | None = None
    """The parent run."""

    root_run_id: str | None = None
    """The run at the root of the tree."""

    depth: int | None = None
    """Depth in the tree. Absent for the root."""

    status_message: RunStatusMessage | None = None
    """Why the run is in its state."""

    source: RunSourceType | None = None
    """What created the run."""

    session_id: str | None = None
    """The agent's session."""

    session_link: str | None = None
    """URL of the run's live page."""

    trigger_url: str | None = None
    """URL of the resource that triggered the run."""

    creator: RunCreatorInfo | None = None
    """The creator."""

    executor: RunCreatorInfo | None = None
    """The user or service account that the run acts as."""

    agent_config: AmbientAgentConfig | None = None
    """The configuration that the run was created with, with all defaults resolved."""

    agent_config_sources: (
        dict[
            str,
            Literal[
                "request", "parent", "automation", "agent", "factory", "server", "skill", "event"
            ]
            | str,
        ]
        | None
    ) = None
    """The source of each key of `agent_config`. Secrets and MCP servers that a factory adds to
    those from another source are listed as `secrets/NAME` and `mcp_servers/NAME`.
    """

    agent_skill: AgentSkill | None = None
    """The skill of a run."""

    mode: RunMode | None = None
    """`plan` and `orchestrate` tell the agent to plan first and ask. The run is then BLOCKED until
    a follow-up replies.
    """

    interactive: bool | None = None
    """Whether the session stays open for follow-ups after a turn."""

    conversation_id: str | None = None
    """The conversation."""

    metadata: Metadata | None = None
    """Labels to find runs by. A request can have at most 20 keys. A key is 1 to 64 bytes of `a-z
    A-Z 0-9 . _ -`. A value is up to 256 bytes of UTF-8 without NUL. Labels are merged key by
    key: the request's override the parent run's. Only the server sets `automation_id`,
    `webhook_uid` and `delivery_id`, for runs that an automation starts and their children. A
    request that sets one of them is rejected.
    """

    is_sandbox_running: bool | None = None
    """Whether the sandbox is running."""

    is_run_type_cancellable: bool | None = None
    """Whether runs of this type can be cancelled. Always true on this server."""

    execution_location: ExecutionLocation | None = None
    """`REMOTE` is a worker, including the one in the server. `LOCAL`, a user's own machine, never
    occurs on this server.
    """

    artifacts: list[ArtifactItem] | None = None
    """Artifacts of the run."""

    schedule: RunSchedule | None = None
    """The schedule that started a run."""

    scope: Scope | None = None
    """Who sees the resource."""

    request_usage: RequestUsage | None = None
    """The run's usage so far. A cost without a known price is absent."""

    evidence: RunEvidence | None = None
    """What the run has provably done. Absent until a worker has executed it. In a list, a run that
    waits for a worker or is at one has none: get the run to have it counted.
    """

    hollow: bool | None = None
    """Whether the agent ended its work without doing anything: it took no action, changed no file
    and has no output, or every action failed. The run is SUCCEEDED, or FAILED with
    `agent_did_nothing` if its automation has `on_hollow: fail`. Absent if not.
    """

    hollow_reason: str | None = None
    """Why the run is hollow, in a sentence."""

    subject: str | None = None
    """What the events of the run are about, such as `acme/shop#7`. Absent without a subject."""

    subject_uid: str | None = None
    """Unique id of the subject, for `GET /subjects/{uid}`. Absent if each event has a run of its
    own.
    """

    events_count: int | None = None
    """How many events about it the run has received."""

    continues: str | None = None
    """The run on the same subject that ended before this one."""

    forked_from: ForkedFrom | None = None
    """The turn of another run whose files and conversation this run began with."""

    fork_group: str | None = None
    """What runs of one fork, or the attempts of one request, have in common, for `GET /agent/fork-
    groups/{forkGroup}`.
    """

    waiting: RunWaiting | None = None
    """What the run waits for now, or what waits in a run that works. Computed for each response.
    Absent if nothing waits.
    """

    stalled: RunStalled | None = None
    """Set while the run works, but has had no event for the `stall_after` of its environment or of
    the server. The next event of the agent removes it.
    """

    sealed: bool | None = None
    """Whether every sandbox of the run so far was proved to be sealed: it has no credentials, and
    no way out except the allowed ones. Absent until the first check.
    """

    network: NetworkPolicy | None = None
    """The part of the policy that was fixed when the run was created: the layers of its runner,
    factory, agent and MCP servers. `GET /agent/runs/{runId}/network` adds those of the server
    and the environment.
    """


NullableTimestamp: TypeAlias = datetime | None
"""A time, or null if not set."""


class AgentSkill(Model):
    """The skill of a run."""

    name: str | None = None
    """Name."""

    description: str | None = None
    """Description."""

    full_path: str | None = None
    """Path in its repository or in the factory's files. Not together with `bundled_skill_id`."""

    bundled_skill_id: str | None = None
    """Id of the bundled skill."""


class RunSchedule(Model):
    """The schedule that started a run."""

    schedule_id: str
    """Unique id."""

    schedule_name: str
    """Name of the schedule when the run was created."""

    cron_schedule: str
    """Cron expression of the schedule when the run was created."""


class Scope(Model):
    """Who sees the resource."""

    type: Literal["User", "Team"] | str
    """A user or the team."""

    uid: str | None = None
    """Unique id of the user or team."""


class RunEvidence(Model):
    """What a run has provably done, over all its executions. It is counted from what the server
    stores.
    """

    turns: int
    """Prompts and follow-ups that the agent received."""

    model_calls: int
    """Calls of models through the model gateway."""

    actions: int
    """Tool calls of the agent."""

    failed_actions: int
    """Actions whose last result is a failure or a denial."""

    files_changed: int
    """Files that differ from the commit that was checked out."""

    outputs: int
    """Stored artifacts (PLAN, FILE, SCREENSHOT), and pull requests that the proxy observed. A
    claimed pull request, a reference, or an answer in words is not an output.
    """


class RunWaiting(Model):
    """What a run waits for, and what ends the wait."""

    for_: (
        Literal["worker", "slot", "worker_return", "budget", "answer", "followup", "turn"] | str
    ) = Field(alias="for")
    """`worker`: no connected worker can execute it. `slot`: such workers are busy, or other runs
    are before it. `worker_return`: its worker is silent. `budget`: a budget has no room.
    `answer`: its agent has a question, or was interrupted. `followup`: its session is open, and
    has no turn. `turn`: the run works, and follow-ups wait until the turn ends.
    """

    message: str
    """What it waits for, in a sentence."""

    ends_when: str
    """What ends the wait, in a sentence."""


class RunStalled(Model):
    """Since when a run has stalled."""

    since: Timestamp
    """When the time without an event was over."""

    last_event: RunStalledLastEvent
    """The last event before. The text of an unfinished message may no longer be in the log."""


class RunStalledLastEvent(Model):
    """The last event before. The text of an unfinished message may no longer be in the log."""

    seq: int
    """Number of the event."""

    type: str
    """Type of event."""

    at: Timestamp
    """When it happened."""


class RequestUsage(Model):
    """The run's usage so far. A cost without a known price is absent."""

    total_tokens: int | None = None
    """Input and output tokens."""

    inference_cost: float | None = None
    """Cost of the model."""

    compute_cost: float | None = None
    """Cost of the machine."""

    platform_cost: float | None = None
    """Cost of the platform."""

    inference_cost_usd: float | None = None
    """Cost of the model in US dollars."""

    inference_cost_breakdown_usd: RequestUsageInferenceCostBreakdownUsd | None = None
    """Cost of the model in US dollars, by kind of token."""


class RequestUsageInferenceCostBreakdownUsd(Model):
    """Cost of the model in US dollars, by kind of token."""

    input_cost_usd: float
    """Cost of input tokens in US dollars."""

    input_cache_read_cost_usd: float
    """Cost of tokens read from the provider's cache, in US dollars."""

    input_cache_write_cost_usd: float
    """Cost of tokens written to the provider's cache, in US dollars."""

    output_cost_usd: float
    """Cost of output tokens in US dollars."""


class RunReference(Model):
    """A run's id."""

    run_id: str
    """The run's id."""


class AmbientAgentConfig(Model):
    """How a run is executed. An omitted field is taken from the automation, the agent, the factory
    or the server, in this order.
    """

    name: str | None = None
    """A label to group and filter runs by. Defaults to the name of the skill, if the run has one
    skill.
    """

    model_id: str | None = None
    """The model: an id from `GET /agent/models`, or an alias that the server defines. `auto`, and
    `auto-*` if it is not an alias, means the server's default model.
    """

    base_prompt: str | None = None
    """Instructions that come before the prompt."""

    environment_id: str | None = None
    """The environment to work in."""

    runner_id: str | None = None
    """The runner: a name of `runners` in the files of the agent's factory. Its setup commands run
    before the environment's, and its image replaces the environment's. If no worker has its
    platform, the run waits and its status message says so.
    """

    skill_spec: str | None = None
    """The skill to run. Not together with `skills`. A bare name is looked up in the run's agent,
    then its factory, then the bundled skills (by id), then the environment's repositories. The
    other formats (`owner/repo:path/SKILL.md`, `owner/repo:name`, `repo:name`) refer to a
    repository. The name of a skill is the one in the front matter of its SKILL.md, or else the
    name of its folder. At most 1,024 bytes. In responses it is also the entry of `skills`, if
    there is only one.
    """

    skills: list[str] | None = None
    """Skills available to the run, in addition to those of the agent and its factory. In the
    format of `skill_spec`, and not together with it.
    """

    mcp_servers: dict[str, MCPServerConfig] | None = None
    """MCP servers for the agent, by name."""

    harness: Harness | None = None
    """The harness: the program that runs the agent."""

    harness_auth_secrets: dict[str, str] | None = None
    """Names of managed secrets with the harness's credentials, such as `claude_auth_secret_name`."""

    prebuild: bool | None = None
    """Whether the workspace may come from what an earlier run of the environment has prepared.
    `false` prepares everything anew.
    """

    repositories: list[RunRepository] | None = None
    """Repositories that the run works on, in addition to those of its environment. Without the
    list, the run has the one of its automation, agent or factory; an empty list means none. The
    same URL and ref is cloned once. If the environment has the repository at another ref, the
    ref of the run applies; without a ref, the environment's. Private ones are read with the
    credentials of the run's network, as far as its rules allow the repository's path, or, at
    GitHub, with the run's secret `GITHUB_TOKEN` or `GH_TOKEN`. Other URLs than `https://` are
    read with the worker's own ssh key or files, and require the scope `secrets:use`. The key of
    an agent can name only what the network of the run allows.
    """

    idle_timeout_minutes: int | None = None
    """Minutes that an interactive session stays open after a turn. 0 ends it with the turn."""

    worker_host: str | None = None
    """The self-hosted worker to run on. The run waits until it is connected. `warp` (hosted
    execution) means any worker, and the timeline shows `any_worker`.
    """

    forge: ForgeSettings | None = None
    """What the run may do on the forges of its repositories. A request can only narrow what the
    layers of the run allow: a branch must match `branches` of both, `add` adds protected paths
    that no exception lifts, `except` can only repeat exceptions of the layers, and a limit can
    only be lower. The base of a pull request must match `base` of both, labels and reviewers
    can only be left out, and `draft`, `approval` and `status` can only go towards `true`,
    `always` and `none`. Every other value is an error. Unlike other unknown fields, unknown
    ones below `forge` are errors, too. A run has the values of all layers here, and in `policy`
    and `output_policy` what they mean together. A child run keeps to the policy of its parent,
    and a run that the key of an agent creates keeps to that of the agent.
    """

    session_sharing: AmbientAgentConfigSessionSharing | None = None
    """What anyone with the run's link may do."""

    memory_stores: list[MemoryStoreRef] | None = None
    """Memory stores for the agent, each once. Stored and returned, but not used: this server has
    no memory stores.
    """

    inference_providers: AmbientAgentConfigInferenceProviders | None = None
    """Settings of model providers. Stored and returned, but not used: the server's own settings
    apply.
    """

    credential_strategy: Literal["CREATOR", "EXECUTOR"] | str | None = None
    """Whose credentials the run uses. Defaults to the executor's."""

    computer_use_enabled: bool | None = None
    """Whether the agent may use a screen."""

    computer_use_model_id: str | None = None
    """The model for computer use."""

    max_duration_minutes: int | None = None
    """Maximum minutes of one execution. Beyond it the run ends FAILED."""

    budget: AmbientAgentConfigBudget | None = None
    """Maximum usage of the run. Beyond it the run ends FAILED."""

    env: dict[str, str] | None = None
    """Environment variables of the sandbox. The built-in agent passes them to commands and MCP
    servers. If the server provides a harness with API keys, variables that could redirect the
    keys or load other code are not allowed, such as `HTTPS_PROXY`, `SSL_CERT_FILE`,
    `NODE_OPTIONS` or `LD_PRELOAD`.
    """

    secrets: list[str] | None = None
    """Names of managed secrets for the run. Each becomes an environment variable, and is masked in
    everything that is recorded. A request can also use an object with a `name`. Requires the
    scope `secrets:use`.
    """

    network: Network | None = None
    """Narrows what the run may reach. The run then reaches only the hosts that both this and its
    layers allow. Without it, the layers decide. An empty object allows nothing. Rules cannot
    have credentials. A child run keeps to the network of its parent. In `env`, variables that
    the sandbox or a preset sets, such as `HTTPS_PROXY`, return 400.
    """


class AmbientAgentConfigSessionSharing(Model):
    """What anyone with the run's link may do."""

    public_access: Literal["VIEWER", "EDITOR"] | str | None = None
    """Whether the link allows watching only, or also steering."""


class AmbientAgentConfigInferenceProviders(Model):
    """Settings of model providers. Stored and returned, but not used: the server's own settings
    apply.
    """

    aws: AmbientAgentConfigInferenceProvidersAws | None = None
    """Settings of AWS Bedrock."""


class AmbientAgentConfigBudget(Model):
    """Maximum usage of the run. Beyond it the run ends FAILED."""

    max_total_tokens: int | None = None
    """Input and output tokens. 0 means no limit."""

    max_cost_usd: float | None = None
    """Cost of the model in US dollars. 0 means no limit."""


class AmbientAgentConfigInferenceProvidersAws(Model):
    """Settings of AWS Bedrock."""

    disabled: bool | None = None
    """Whether AWS Bedrock is disabled."""

    region: str | None = None
    """AWS region."""

    role_arn: str | None = None
    """ARN of the role to assume."""


class ForgeSettings(Model):
    """What runs may do on the forges of their repositories."""

    push: PushSettings | None = None
    """What runs may push. A value that no layer sets has its default. Patterns match a whole name.
    `**` as a segment matches any number of segments, `*` any text in a segment, and `?` one
    character of a segment.
    """

    outputs: OutputSettings | None = None
    """What runs may do on forges besides pushing. A value that no layer sets has its default."""

    followups: FollowupSettings | None = None
    """What of a forge continues runs that have opened a pull request."""

    policy: PushPolicy | None = None
    """What a run may push. Set by the server when the run is created, and ignored in requests. It
    is absent from a run for which nothing is set, and which has the defaults.
    """

    output_policy: OutputPolicy | None = None
    """Which outputs a run may declare, and what happens to them. Set by the server when the run is
    created, and ignored in requests. It is absent from a run for which nothing is set, and
    which has the defaults.
    """


class PushSettings(Model):
    """What runs may push. A value that no layer sets has its default. Patterns match a whole name.
    `**` as a segment matches any number of segments, `*` any text in a segment, and `?` one
    character of a segment.
    """

    branches: list[str] | None = None
    """Patterns of branches. An empty list allows no branch. The default is `penstock/**`."""

    protected_paths: PathProtection | None = None
    """Paths that a push must not change, in upper or lower case."""

    limits: PushBounds | None = None
    """How much a push may change, compared with the base branch."""

    secrets: Literal["refuse", "off"] | str | None = None
    """Whether a push with a secret in a new commit is refused. The default is `refuse`."""


class OutputSettings(Model):
    """What runs may do on forges besides pushing. A value that no layer sets has its default."""

    pull_request: PullRequestSettings | None = None
    """The pull requests of runs."""

    limits: OutputBounds | None = None
    """How many outputs a turn can declare. All kinds together are at most 20."""

    approval: Literal["never", "protected", "always"] | str | None = None
    """Which outputs wait until a person releases them: `always` all. The default is `protected`.
    The outputs of a fork always wait.
    """

    status: Literal["comment", "none"] | str | None = None
    """Whether one comment in the issue or pull request whose event has started a run says how it
    is. The default is `comment`.
    """


class FollowupSettings(Model):
    """What of a forge continues runs that have opened a pull request."""

    checks: int | None = None
    """How many commits of a run whose checks fail it is told of, without a person in between. Then
    a person is asked. The default is 3. 0: none.
    """


class PullRequestSettings(Model):
    """The pull requests of runs."""

    open_limit: int | None = None
    """How many pull requests of the factory may be open. At this number, automations start no
    runs, and runs cannot declare more. The default is 5. 0 allows none.
    """

    base: list[str] | None = None
    """Patterns of the branches that a pull request may be against. An empty list, the default,
    means the ref of the repository in the run, or its default branch.
    """

    draft: bool | None = None
    """Whether a pull request is a draft unless its declaration says otherwise. The default is
    `true`.
    """

    labels: list[str] | None = None
    """Labels of new pull requests, besides the one of the factory."""

    reviewers: list[str] | None = None
    """Who is asked to review a new pull request: logins, or owner/team."""


class OutputBounds(Model):
    """How many outputs a turn can declare. All kinds together are at most 20."""

    pull_request: int | None = None
    """Pull requests. The default is 1. 0 allows none."""

    comment: int | None = None
    """Comments. The default is 3. 0 allows none."""


class OutputLimits(Model):
    """How many outputs a turn can declare."""

    pull_request: int
    """Pull requests."""

    comment: int
    """Comments."""


class OutputPolicy(Model):
    """Which outputs a run may declare, and what happens to them. Set by the server when the run is
    created, and ignored in requests. It is absent from a run for which nothing is set, and
    which has the defaults.
    """

    open_limit: int
    """How many pull requests of the factory may be open."""

    base: list[list[str]]
    """Lists of patterns. A base must match one pattern of each list. An empty list means the ref
    of the repository in the run, or its default branch.
    """

    draft: bool
    """Whether a pull request is a draft unless its declaration says otherwise."""

    labels: list[str] | None = None
    """Labels of new pull requests, besides the one of the factory."""

    reviewers: list[str] | None = None
    """Who is asked to review a new pull request."""

    limits: OutputLimits
    """How many outputs a turn can declare."""

    approval: Literal["never", "protected", "always"] | str
    """Which outputs wait until a person releases them."""

    status: Literal["comment", "none"] | str | None = None
    """Whether one comment in the issue or pull request whose event has started the run says how it
    is. Absent: none.
    """

    followups: FollowupPolicy | None = None
    """What of a forge continues the run. Absent if nothing does."""


class FollowupPolicy(Model):
    """What of a forge continues the run. Absent if nothing does."""

    checks: int
    """How many commits whose checks fail the run is told of, without a person in between."""


class PathProtection(Model):
    """Paths that a push must not change, in upper or lower case."""

    policy: Literal["refuse", "allow"] | str | None = None
    """What happens to a push that changes a protected path. The default is `refuse`."""

    add: list[str] | None = None
    """Patterns of protected paths, in addition to the default ones."""

    except_: list[str] | None = Field(None, alias="except")
    """Patterns of paths that are not protected."""


class PushBounds(Model):
    """How much a push may change, compared with the base branch."""

    files: int | None = None
    """Changed files. The default is 300."""

    bytes: int | None = None
    """Bytes of all changed files. The default is 10 MiB."""

    binary: int | None = None
    """Bytes of one binary file. The default is 1 MiB. 0 allows none."""


class PushLimits(Model):
    """How much a push may change."""

    files: int
    """Changed files."""

    bytes: int
    """Bytes of all changed files."""

    binary: int
    """Bytes of one binary file."""


class PushPolicy(Model):
    """What a run may push. Set by the server when the run is created, and ignored in requests. It
    is absent from a run for which nothing is set, and which has the defaults.
    """

    branches: list[list[str]]
    """Lists of patterns. A branch must match one pattern of each list."""

    protected: list[str] | None = None
    """Patterns of protected paths, unless a pattern of `except` matches, too."""

    except_: list[str] | None = Field(None, alias="except")
    """Patterns of paths that are not protected."""

    always: list[str] | None = None
    """Patterns of paths that are protected in any case. They come from requests."""

    limits: PushLimits
    """How much a push may change."""

    allow_secrets: bool | None = None
    """Whether new commits are not searched for secrets."""


class Network(Model):
    """What runs may reach besides their models. A run may reach what the network of the server,
    its environment, its runner, its factory or its agent allows, within the ceiling that the
    operator sets.
    """

    allow: list[NetworkRule] | None = None
    """Rules. A request is allowed if one of them allows it."""

    provider_tools: list[str] | None = None
    """Tools of model providers that reach the network themselves, such as `web_search`. Tools that
    are not listed are refused.
    """

    max_upload_bytes: int | None = None
    """Bytes that a run may send to all hosts together. 0 means no limit."""


class NetworkRule(Model):
    """Allows a preset or a host. Exactly one of `preset` and `host` is set. The other fields go
    with `host`.
    """

    preset: str | None = None
    """Hosts that belong together, such as `packages`."""

    host: str | None = None
    """A host name in lower case and ASCII, `*.example.com` for all names below example.com, or an
    IP address.
    """

    ports: list[int] | None = None
    """Ports. 80 and 443 if absent."""

    methods: list[str] | None = None
    """HTTP methods in capital letters. All if absent. With methods, paths or a credential, the
    proxy reads the requests.
    """

    paths: list[str] | None = None
    """Paths that begin with `/`, with `*` at the end for the rest. All if absent."""

    credential: NetworkCredential | None = None
    """A managed secret that the proxy puts into each request to the host, over TLS. The secret
    must list the host. The sandbox never has it, neither in a variable nor in a file or in
    memory.
    """


class NetworkCredential(Model):
    """A managed secret that the proxy puts into each request to the host, over TLS. The secret
    must list the host. The sandbox never has it, neither in a variable nor in a file or in
    memory.
    """

    secret: str
    """Name of the managed secret."""

    as_: Literal["basic", "bearer", "header"] | str = Field(alias="as")
    """How the request carries it."""

    user: str | None = None
    """The user, with `basic` only. Defaults to `x-access-token`."""

    header: str | None = None
    """Name of the header, with `header` and only then."""


class ModelPolicy(Model):
    """Limits the models of runs. A model must be allowed by the server, the factory and the agent."""

    allow: list[str] | None = None
    """Ids of models, such as `anthropic/claude-sonnet-5-5`. An entry without a slash, such as
    `claude-*`, stands for the models of that name at every provider. `*` at the end stands for
    the rest. All if absent.
    """


class NetworkPolicy(Model):
    """What decides about the network of a run."""

    layers: list[NetworkLayer]
    """The layers. A request is allowed if one of them allows it."""

    ceiling: Network | None = None
    """The most that the operator of the server allows. If absent, every public host."""

    request: Network | None = None
    """The `network` of the request. It narrows the layers."""

    models: list[ModelPolicy] | None = None
    """The policies of server, factory and agent. A model must be allowed by each."""

    secret_hosts: dict[str, list[str]] | None = None
    """The hosts that may get a managed secret, by its name. Only in the response of `GET
    /agent/network`.
    """


class NetworkLayer(Model):
    """What one source allows."""

    source: (
        Literal["server", "environment", "runner", "factory", "agent", "mcp_servers", "forge"] | str
    )
    """The source. `mcp_servers` has the hosts of the run's own HTTP MCP servers, and `forge` the
    repositories that a connection lets it read.
    """

    name: str | None = None
    """Its name, if it has one."""

    network: Network
    """What runs may reach besides their models. A run may reach what the network of the server,
    its environment, its runner, its factory or its agent allows, within the ceiling that the
    operator sets.
    """


class Harness(Model):
    """The harness: the program that runs the agent."""

    type: str | None = None
    """`builtin` (the default; `oz` is an alias), `claude`, `codex`, `gemini`, `opencode`, `qwen`,
    `command`, or a name from the server's configuration. An unknown type returns 400.
    """

    model_id: str | None = None
    """The model for the harness."""

    reasoning_level: str | None = None
    """Reasoning effort, for harnesses that have such a setting."""


class MCPServerConfig(Model):
    """An MCP server. Set exactly one of `id`, `command` and `url`. Values of `env` and `headers`
    can refer to a managed secret as `${{ secrets.NAME }}`. This server does not manage MCP
    servers: it skips one with an `id`, and the run's timeline shows `mcp_server_not_used`.
    """

    id: str | None = None
    """Id of a managed MCP server."""

    warp_id: str | None = None
    """Alias of `id` in requests. Never in responses."""

    command: str | None = None
    """A program to start inside the sandbox."""

    args: list[str] | None = None
    """Arguments."""

    env: dict[str, str] | None = None
    """Environment variables."""

    url: str | None = None
    """URL of a remote server."""

    headers: dict[str, str] | None = None
    """Headers to send to it."""

    required: bool | None = None
    """Whether the run ends if the server does not start or stops working. Otherwise the run
    continues without it: the timeline shows `mcp_server_failed`, and the agent is told. This
    applies to all servers of the built-in agent, and to those with a `command` of agents that
    speak ACP. Such agents connect to a `url` themselves, so the worker does not see its
    failures.
    """


class RunNetwork(Model):
    """What a run may reach, and what it reached."""

    sealed: bool | None = None
    """Whether every sandbox of the run so far was proved to be sealed. Absent until the first
    check.
    """

    policy: NetworkPolicy
    """What decides about the network of a run."""

    hosts: list[NetworkHost]
    """Hosts, by name. At most 1,000 for each execution."""


class NetworkHost(Model):
    """What all executions of a run exchanged with a host."""

    host: str
    """The host."""

    port: int
    """The port."""

    mode: Literal["tunnel", "inspect", "http", "model", "refused"] | str
    """How it was reached. `tunnel`: TLS passed through. `inspect`: the proxy read the requests.
    `http`: without TLS. `model`: through the model gateway. `refused`: not at all.
    """

    requests: int
    """Requests. In a tunnel, connections."""

    bytes_in: int
    """Bytes to the run."""

    bytes_out: int
    """Bytes from the run."""

    refused: int
    """Requests that were refused."""

    reason: str | None = None
    """Reason of the latest refusal."""


class RunChanges(Model):
    """What a run has changed in its repositories."""

    updated_at: Timestamp | None = None
    """End of the turn that changed it last. Absent until a turn with a repository has ended."""

    repositories: list[RepositoryChanges]
    """The repositories, in the order of the environment, then of the run."""


class RepositoryChanges(Model):
    """What a run has changed in one repository."""

    name: str
    """Name of its directory in the workspace, unique within the run."""

    url: str
    """URL of the repository, without credentials."""

    base: str | None = None
    """Id of the commit that was checked out, to which `git apply` applies the patch. Absent if it
    is unknown, or if the branch had no commits.
    """

    branch: str | None = None
    """Branch that the repository is on at the end of the turn. Absent without a branch."""

    error: str | None = None
    """Why the changes could not be computed. Otherwise, it is absent."""

    files: list[FileChange]
    """The changed files, by path. At most 1,000."""

    files_omitted: int | None = None
    """Number of further changed files. They are not in the patch either."""

    truncated: bool | None = None
    """Whether the patch lacks files. They are marked or omitted."""

    patch_url: str | None = None
    """Where the patch is. It needs an API key, like every request. Absent without a patch."""


class FileChange(Model):
    """A changed file."""

    path: str
    """Path in the repository. Bytes that are not UTF-8 are replaced by U+FFFD."""

    previous_path: str | None = None
    """Path of a renamed file in the commit."""

    status: Literal["added", "modified", "deleted", "renamed"] | str
    """What happened to the file."""

    additions: int
    """Added lines. 0 for a binary file."""

    deletions: int
    """Removed lines. 0 for a binary file."""

    binary: bool
    """Whether the file is binary. The patch then has it as a `GIT binary patch`."""

    truncated: bool | None = None
    """Whether the patch lacks the file: it is too large, or `git apply` would refuse its part, for
    example because it has a masked secret of the commit.
    """


class TimelineResponse(Model):
    """A run's timeline."""

    events: list[TimelineEvent]
    """The events, oldest first."""


class TimelineEvent(Model):
    """An event in a run's lifecycle, outside the agent."""

    event_uuid: str
    """Unique id."""

    run_id: str
    """The run."""

    execution_id: int | None = None
    """The execution that the event belongs to, if any."""

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
            "changes_saved",
            "setup_step",
            "image_not_used",
            "unborn_branch",
            "skill_note",
            "image_ready",
            "run_requeued",
            "workspace_reused",
            "workspace_ready",
            "push_accepted",
            "push_refused",
            "output_declared",
            "output_held",
            "output_approved",
            "output_waiting",
            "output_done",
            "output_failed",
            "output_discarded",
            "workspace_restored",
            "workspace_not_restored",
            "checkpoint_skipped",
            "checks_failed",
            "status_not_shown",
            "rewound",
            "any_worker",
            "mcp_server_not_used",
            "mcp_server_failed",
            "sandbox_verified",
            "network_denied",
            "budget_threshold",
            "pod_created",
            "pod_waiting",
            "pod_started",
            "pod_lost",
            "run_stalled",
            "stall_ended",
        ]
        | str
    )
    """Type of event."""

    occurred_at: Timestamp
    """When it happened."""

    payload: dict[str, Any] | None = None
    """Details, by type. `setup_step` has the command, its exit code and last output. `image_ready`
    has the container `image` of the run, its `digest`, whether it was `pulled` (otherwise it
    was in the worker's cache), its unpacked size in `bytes` and the `duration_ms`.
    `workspace_ready` says what a new workspace was prepared `from`: a `layer` that an earlier
    run has left (its `prebuild_uid`, `age_seconds`, and `commits_behind` of the repositories),
    or `cold` with the `reason`; which `commands` ran (`skipped`, `updated`, `all`), the
    `changed_inputs` that made them necessary, the `duration_ms`, and the layer that it became
    for later runs (`sealed_uid`) or why it did not (`not_kept`, `secret_in_layer` with a `file`
    and the name of a `secret`). `workspace_restored` says that a new workspace has the files of
    a saved turn: its `checkpoint_uid` and `turn`, how many `files` and `bytes` they are,
    whether later turns have ended whose files could not be saved (`later_turns_lost`), and
    whether the setup commands had to run again below them (`prepared_again`).
    `workspace_not_restored` has the `turn` whose saved files are damaged or gone, and the
    `reason`; the run continues without them. `checkpoint_skipped` has the `reason` why the
    files of a turn were not saved, with `bytes`, `limit` and the `largest` folders if they are
    too many. `rewound` has the `turn` that the run went back to, the `message_id` of its
    message, and who did it (`by`). `push_accepted` says that the run has pushed to a `branch`
    of a `repository` on a forge: the commit `before` (empty for a new branch) and `after`, the
    number of new `commits`, and whether commits were `forced` away. `push_refused` has the same
    names and the `reason`. Events of an output (`output_declared`, `output_held` until a person
    releases it, `output_approved`, `output_waiting` for the forge, `output_done`,
    `output_failed`, `output_discarded`) have its `output_uid` and `kind`, the `repository` and
    `connection`, then the `pull_request` and `url`, and a `problem`. `checks_failed` says that
    checks of a `commit` which the run has pushed for a `pull_request` of a `repository` have
    failed: how many have `failed` of `all`, and the names of the first ones in `checks`; a
    follow-up or a question comes with it. `status_not_shown` says that a forge refuses the
    comment about the run below the issue or pull request `number` of a `repository`, with the
    `problem`. `image_not_used` has the `image`, `instance_shape` and `runner` that the worker's
    sandbox does not support, with a `reason` for an image. `skill_note` has the name of a
    `skill` and `notes` about what is odd in its SKILL.md, or why the skill is left out.
    `unborn_branch` has the `repository` that was checked out without files, because its
    `branch` has no commits, and `branches` that exist instead; set `ref` of the repository to
    one of them. `changes_saved` sums up what the run has changed so far: the numbers of
    `repositories`, `files`, `additions` and `deletions`, and `errors` if something could not be
    computed. `any_worker` has the requested `worker_host`. `mcp_server_not_used` has the `name`
    and `id` of the server. `mcp_server_failed` has the `name` of a server that did not start or
    stopped working, and the `reason`. `sandbox_verified` is the check before the agent starts,
    with the `sandbox`, what was `checked` and its `duration_ms`. `network_denied` comes once
    for each host that the policy refused, with `host`, `port` and `reason`. `budget_threshold`
    comes once for each value of `notify_at` that a budget reaches in a period, on the run whose
    call reached it, with `budget_uid`, `budget_name`, `notify_at`, `spent_usd` and `cap_usd`.
    If a launcher executes the run in a Pod, `pod_created` has its `namespace`, `job` and
    `image`, `pod_waiting` has the `reason` and `message` of what keeps the Pod from starting,
    each time it changes (`Starting` follows a reason that no longer holds), `pod_started` has
    the `worker_host` and `sandbox` of the worker in the Pod, and `pod_lost` has the `reason`
    and `message` of the end of the Pod, if it was not the end of the run. `run_stalled` has the
    values of `stalled` of the run, and `stall_ended` the `since`; an event that ends the work
    of a stalled run has it as `stalled_since`.
    """


class Conversation(Model):
    """The messages and actions of a run."""

    conversation_id: str
    """Unique id."""

    steps: list[ConversationStep]
    """Steps, in order."""


class ConversationStep(Model):
    """A prompt and the agent's work on it."""

    id: str
    """Id within the conversation."""

    description: str | None = None
    """What the step is about."""

    summary: str | None = None
    """Summary of the result."""

    started_at: Timestamp | None = None
    """When it started."""

    completed_at: Timestamp | None = None
    """When it ended."""

    messages: list[ConversationMessage]
    """Messages, in order."""

    superseded: bool | None = None
    """True if the run went back to an earlier turn since, so that the agent does not know this
    one.
    """

    steps: list[ConversationStep]
    """Nested steps, such as those of a subagent."""


class ConversationMessage(Model):
    """A message of a conversation."""

    role: MessageRole
    """Author of the message."""

    content: list[ContentBlock]
    """Content blocks, in order."""

    timestamp: Timestamp | None = None
    """Time of the message."""

    message_ids: list[str] | None = None
    """Ids of the live messages that it combines."""

    request_id: str | None = None
    """Id of the model request that produced it."""


MessageRole: TypeAlias = Literal["user", "assistant", "tool", "system"] | str
"""Author of the message."""


class UnknownContentBlock(Model):
    """A ContentBlock of a kind that this version does not know; all it holds is kept."""

    type: str
    message_id: Any = None


class TextBlock(Model):
    """Text. An agent's text is Markdown."""

    type: Literal["text"]
    """Always `text`."""

    text: str
    """The text."""

    message_id: str | None = None
    """Id of the live message that contained the block."""


class ActionBlock(Model):
    """An action of the agent."""

    type: Literal["action"]
    """Always `action`."""

    id: str
    """Id of the action. Its results refer to it."""

    category: ActionCategory
    """Category of an action."""

    name: str
    """Kind of action, such as `run_command`, `read_files`, `edit_files`, `search_files`,
    `call_mcp_tool`, `read_skill` or `create_artifact`.
    """

    input: dict[str, Any]
    """Input of the action, with secrets masked. Its format depends on `name`. A `read_skill` has
    `skill_path`, the path that was used to find the skill, and for a bundled skill
    `bundled_skill_id`. The path alone does not prove where the skill comes from.
    """

    message_id: str | None = None
    """Id of the live message that contained the block."""


class ActionResultBlock(Model):
    """The state or result of an action. A later result of the same action replaces an earlier one."""

    type: Literal["action_result"]
    """Always `action_result`."""

    action_id: str
    """The action's `id`."""

    category: ActionCategory
    """Category of an action."""

    name: str
    """The action's `name`."""

    state: Literal["running", "completed", "failed", "denied"] | str
    """Current state."""

    output: dict[str, Any]
    """Output so far, with secrets masked. Its format depends on `name`."""

    message_id: str | None = None
    """Id of the live message that contained the block."""


class EventBlock(Model):
    """Any other event that a harness reports."""

    type: Literal["event"]
    """Always `event`."""

    name: str
    """Name of the event. `followup_undelivered` marks the message of a follow-up that the agent
    never received. `attachments` lists the files of a follow-up.
    """

    data: dict[str, Any]
    """Details of the event, with secrets masked."""

    message_id: str | None = None
    """Id of the live message that contained the block."""


ActionCategory: TypeAlias = (
    Literal["command", "files", "search", "integration", "documents", "computer", "review", "skill"]
    | str
)
"""Category of an action."""


class UnknownRunEvent(Model):
    """A RunEvent of a kind that this version does not know; all it holds is kept."""

    event: str
    id: Any = None
    data: Any = None


class RunStateEvent(Model):
    """The run's state changed."""

    id: int
    """Sequence number in the run."""

    event: Literal["state"]
    """Always `state`."""

    data: StateChange
    """The state of a run."""


class RunMessageEvent(Model):
    """A message is complete."""

    id: int
    """Sequence number in the run."""

    event: Literal["message"]
    """Always `message`."""

    data: LiveMessage
    """A complete message."""


class RunMessageDeltaEvent(Model):
    """More text of a message that is being generated."""

    id: int
    """Sequence number in the run."""

    event: Literal["message_delta"]
    """Always `message_delta`."""

    data: MessageDelta
    """A part of a message."""


class RunActionEvent(Model):
    """The agent performs an action."""

    id: int
    """Sequence number in the run."""

    event: Literal["action"]
    """Always `action`."""

    data: ActionBlock
    """An action of the agent."""


class RunActionResultEvent(Model):
    """The state or result of an action."""

    id: int
    """Sequence number in the run."""

    event: Literal["action_result"]
    """Always `action_result`."""

    data: ActionResultBlock
    """The state or result of an action. A later result of the same action replaces an earlier one."""


class RunPlanEvent(Model):
    """The agent's plan changed. The data is the whole plan."""

    id: int
    """Sequence number in the run."""

    event: Literal["plan"]
    """Always `plan`."""

    data: Plan
    """The agent's plan."""


class RunUsageEvent(Model):
    """The run's usage changed."""

    id: int
    """Sequence number in the run."""

    event: Literal["usage"]
    """Always `usage`."""

    data: RequestUsage
    """The run's usage so far. A cost without a known price is absent."""


class RunArtifactEvent(Model):
    """The run created an artifact."""

    id: int
    """Sequence number in the run."""

    event: Literal["artifact"]
    """Always `artifact`."""

    data: ArtifactItem
    """An artifact of a run."""


class RunTimelineEvent(Model):
    """A timeline event of the run."""

    id: int
    """Sequence number in the run."""

    event: Literal["timeline"]
    """Always `timeline`."""

    data: TimelineEvent
    """An event in a run's lifecycle, outside the agent."""


class RunDoneEvent(Model):
    """The run has ended and the stream closes. This event is not in the log, so it has no `id` of
    its own: `id` is that of the last event, or absent.
    """

    id: int | None = None
    """The id of the last event."""

    event: Literal["done"]
    """Always `done`."""

    data: StateChange
    """The state of a run."""


class StateChange(Model):
    """The state of a run."""

    state: RunState
    """`QUEUED`: waits for a worker. `CLAIMED`: a worker has claimed it. `PENDING`: its workspace
    is being prepared. `INPROGRESS`: the agent is working. `BLOCKED`: waits for a follow-up from
    a person. `SUCCEEDED`: completed. `FAILED`: ended for a cause that its owner can fix.
    `ERROR`: ended for a cause on the server. `CANCELLED`: was cancelled.
    """

    status_message: RunStatusMessage | None = None
    """Why the run is in its state."""

    execution_id: int | None = None
    """The execution. Always present in a `state` event."""


class LiveMessage(Model):
    """A complete message."""

    message_id: str
    """Id of the message. Its deltas have the same id."""

    role: MessageRole
    """Author of the message."""

    content: list[ContentBlock]
    """Content blocks, in order."""

    timestamp: Timestamp | None = None
    """Time of the message."""

    request_id: str | None = None
    """Id of the model request that produced it."""


class MessageDelta(Model):
    """A part of a message."""

    message_id: str
    """Id of the message."""

    role: MessageRole
    """Author of the message."""

    text: str
    """Text to append to the previous deltas."""


class Plan(Model):
    """The agent's plan."""

    entries: list[PlanEntry]
    """Steps, in order."""


class PlanEntry(Model):
    """One step of a plan."""

    content: str
    """The task."""

    status: Literal["pending", "in_progress", "completed"] | str
    """Current state."""

    priority: Literal["high", "medium", "low"] | str
    """Priority of the task."""


class HandoffAttachmentsResponse(Model):
    """The attachments of a run."""

    attachments: list[HandoffAttachment]
    """The attachments."""


class HandoffAttachment(Model):
    """An attachment with a link to it."""

    attachment_id: str
    """Unique id."""

    filename: str
    """Name."""

    download_url: str
    """A signed link that expires after 15 minutes."""

    mime_type: str | None = None
    """Media type."""


class ConversationRedirect(Model):
    """The target of a link to a conversation."""

    session_id: str | None = None
    """The active session, if there is one."""


class SessionRedirect(Model):
    """The target of a link to a session."""

    conversation_id: str | None = None
    """The conversation of the session."""


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
    """Unique id. Only in the response that creates the artifact."""

    run_id: str | None = None
    """The run that created the artifact. Only in the response that creates it."""

    artifact_type: Literal["PLAN"]
    """Always `PLAN`."""

    created_at: Timestamp
    """When it was created."""

    data: PlanArtifactData
    """The content of the artifact."""


class PlanArtifactData(Model):
    """The content of the artifact."""

    document_uid: str
    """Unique id of the document."""

    artifact_uid: str | None = None
    """Unique id."""

    title: str | None = None
    """Title."""

    url: str | None = None
    """URL."""


class PullRequestArtifact(Model):
    """A pull request."""

    artifact_uid: str | None = None
    """Unique id. Only in the response that creates the artifact."""

    run_id: str | None = None
    """The run that created the artifact. Only in the response that creates it."""

    artifact_type: Literal["PULL_REQUEST"]
    """Always `PULL_REQUEST`."""

    created_at: Timestamp
    """When it was created."""

    data: PullRequestArtifactData
    """The content of the artifact."""


class PullRequestArtifactData(Model):
    """The content of the artifact."""

    branch: str
    """Branch."""

    url: str
    """URL."""

    status: PullRequestStatus
    """State of the pull request when it was reported. `unknown` if the report did not include one."""

    observed: bool | None = None
    """Whether the proxy of the sealed run saw the host confirm the pull request. If not, the agent
    or a client has reported it, and nothing has checked that.
    """


PullRequestStatus: TypeAlias = Literal["open", "draft", "merged", "closed", "unknown"] | str
"""State of the pull request when it was reported. `unknown` if the report did not include one."""


class ScreenshotArtifact(Model):
    """A screenshot."""

    artifact_uid: str | None = None
    """Unique id. Only in the response that creates the artifact."""

    run_id: str | None = None
    """The run that created the artifact. Only in the response that creates it."""

    artifact_type: Literal["SCREENSHOT"]
    """Always `SCREENSHOT`."""

    created_at: Timestamp
    """When it was created."""

    data: ScreenshotArtifactData
    """The content of the artifact."""


class ScreenshotArtifactData(Model):
    """The content of the artifact."""

    artifact_uid: str
    """Unique id."""

    mime_type: str
    """Media type."""

    filename: str | None = None
    """File name, without folders."""

    filepath: str | None = None
    """Path in the workspace."""

    size_bytes: int | None = None
    """Size in bytes."""

    title: str | None = None
    """Title."""

    description: str | None = None
    """Description."""


class FileArtifact(Model):
    """A file."""

    artifact_uid: str | None = None
    """Unique id. Only in the response that creates the artifact."""

    run_id: str | None = None
    """The run that created the artifact. Only in the response that creates it."""

    artifact_type: Literal["FILE"]
    """Always `FILE`."""

    created_at: Timestamp
    """When it was created."""

    data: FileArtifactData
    """The content of the artifact."""


class FileArtifactData(Model):
    """The content of the artifact."""

    artifact_uid: str
    """Unique id."""

    filename: str
    """File name, without folders."""

    filepath: str
    """Path in the workspace."""

    mime_type: str
    """Media type."""

    size_bytes: int | None = None
    """Size in bytes."""

    title: str | None = None
    """Title."""

    description: str | None = None
    """Description."""


class ExternalReferenceArtifact(Model):
    """A link to an external resource."""

    artifact_uid: str | None = None
    """Unique id. Only in the response that creates the artifact."""

    run_id: str | None = None
    """The run that created the artifact. Only in the response that creates it."""

    artifact_type: Literal["EXTERNAL_REFERENCE"]
    """Always `EXTERNAL_REFERENCE`."""

    created_at: Timestamp
    """When it was created."""

    data: ExternalReferenceArtifactData
    """The content of the artifact."""


class ExternalReferenceArtifactData(Model):
    """The content of the artifact."""

    reference_type: str
    """Kind of reference, a word that the agent chooses."""

    url: str
    """URL."""

    title: str | None = None
    """Title."""

    metadata: dict[str, Any] | None = None
    """Additional metadata."""


class UnknownArtifactResponse(Model):
    """A ArtifactResponse of a kind that this version does not know; all it holds is kept."""

    artifact_type: str
    artifact_uid: Any = None
    run_id: Any = None
    created_at: Any = None
    data: Any = None


class PlanArtifactResponse(Model):
    """A plan with its text."""

    artifact_uid: str
    """Unique id."""

    run_id: str | None = None
    """The run that created the artifact."""

    artifact_type: Literal["PLAN"]
    """Always `PLAN`."""

    created_at: Timestamp
    """When it was created."""

    data: PlanArtifactResponseData
    """The content of the artifact."""


class PlanArtifactResponseData(Model):
    """The content of the artifact."""

    document_uid: str
    """Unique id of the document."""

    notebook_uid: str
    """Same as `document_uid`."""

    artifact_uid: str | None = None
    """Unique id."""

    title: str | None = None
    """Title."""

    url: str | None = None
    """URL."""

    content: str
    """Text of the plan."""

    content_type: str
    """Media type of the text."""

    download_url: str | None = None
    """A signed link that needs no key."""

    expires_at: Timestamp | None = None
    """When the link expires."""


class PullRequestArtifactResponse(Model):
    """A pull request."""

    artifact_uid: str
    """Unique id."""

    run_id: str | None = None
    """The run that created the artifact."""

    artifact_type: Literal["PULL_REQUEST"]
    """Always `PULL_REQUEST`."""

    created_at: Timestamp
    """When it was created."""

    data: PullRequestArtifactResponseData
    """The content of the artifact."""


class PullRequestArtifactResponseData(Model):
    """The content of the artifact."""

    branch: str
    """Branch."""

    url: str
    """URL."""

    status: PullRequestStatus
    """State of the pull request when it was reported. `unknown` if the report did not include one."""

    observed: bool | None = None
    """Whether the proxy of the sealed run saw the host confirm the pull request. If not, the agent
    or a client has reported it, and nothing has checked that.
    """


class ScreenshotArtifactResponse(Model):
    """A screenshot with a link to it."""

    artifact_uid: str
    """Unique id."""

    run_id: str | None = None
    """The run that created the artifact."""

    artifact_type: Literal["SCREENSHOT"]
    """Always `SCREENSHOT`."""

    created_at: Timestamp
    """When it was created."""

    data: ScreenshotArtifactResponseData
    """The content of the artifact."""


class ScreenshotArtifactResponseData(Model):
    """The content of the artifact."""

    artifact_uid: str
    """Unique id."""

    mime_type: str
    """Media type."""

    filename: str | None = None
    """File name, without folders."""

    filepath: str | None = None
    """Path in the workspace."""

    size_bytes: int | None = None
    """Size in bytes."""

    title: str | None = None
    """Title."""

    description: str | None = None
    """Description."""

    download_url: str
    """A signed link that needs no key."""

    expires_at: Timestamp
    """When the link expires."""

    content_type: str
    """Media type of the linked content."""


class FileArtifactResponse(Model):
    """A file with a link to it."""

    artifact_uid: str
    """Unique id."""

    run_id: str | None = None
    """The run that created the artifact."""

    artifact_type: Literal["FILE"]
    """Always `FILE`."""

    created_at: Timestamp
    """When it was created."""

    data: FileArtifactResponseData
    """The content of the artifact."""


class FileArtifactResponseData(Model):
    """The content of the artifact."""

    artifact_uid: str
    """Unique id."""

    filename: str
    """File name, without folders."""

    filepath: str
    """Path in the workspace."""

    mime_type: str
    """Media type."""

    size_bytes: int | None = None
    """Size in bytes."""

    title: str | None = None
    """Title."""

    description: str | None = None
    """Description."""

    download_url: str
    """A signed link that needs no key."""

    expires_at: Timestamp
    """When the link expires."""

    content_type: str
    """Media type of the linked content."""


class ExternalReferenceArtifactResponse(Model):
    """A link to an external resource."""

    artifact_uid: str
    """Unique id."""

    run_id: str | None = None
    """The run that created the artifact."""

    artifact_type: Literal["EXTERNAL_REFERENCE"]
    """Always `EXTERNAL_REFERENCE`."""

    created_at: Timestamp
    """When it was created."""

    data: ExternalReferenceArtifactResponseData
    """The content of the artifact."""


class ExternalReferenceArtifactResponseData(Model):
    """The content of the artifact."""

    reference_type: str
    """Kind of reference, a word that the agent chooses."""

    url: str
    """URL."""

    title: str | None = None
    """Title."""

    metadata: dict[str, Any] | None = None
    """Additional metadata."""


class ListAgentSkillsResponse(Model):
    """Skills."""

    agents: list[AgentSkillItem]
    """The skills."""


class AgentSkillItem(Model):
    """A skill and the places where it was found."""

    name: str
    """Name."""

    variants: list[AgentSkillVariant]
    """The places where the skill was found."""


class AgentSkillVariant(Model):
    """A place where a skill was found."""

    id: str
    """The value for `skill`: `owner/repo:path/SKILL.md`."""

    description: str
    """Description."""

    base_prompt: str
    """Text of the skill."""

    source: AgentSkillVariantSource
    """Location of the file."""

    environments: list[AgentSkillVariantEnvironments]
    """Environments that include the repository."""

    last_run_timestamp: NullableTimestamp = None
    """When a run last used the skill."""

    notes: list[str] | None = None
    """What is odd about its SKILL.md. Agents can use the skill."""

    error: str | None = None
    """Why the skill cannot be used."""


class AgentSkillVariantSource(Model):
    """Location of the file."""

    owner: str
    """Owner of the repository."""

    name: str
    """Name of the repository."""

    skill_path: str
    """Path of the file."""

    worker_host: str | None = None
    """The worker that has the file."""


class AgentSkillVariantEnvironments(Model):
    """An environment."""

    uid: str
    """Unique id."""

    name: str
    """Name."""


class ListBundledSkillsResponse(Model):
    """The catalog of bundled skills."""

    skills: list[BundledSkill]
    """The skills, by id."""


class BundledSkill(Model):
    """A skill of the catalog. `shipped` says whether this server includes it."""

    id: str
    """The value for `skill`, and the `bundled_skill_id` of runs and actions."""

    purpose: str
    """Purpose."""

    shipped: bool
    """Whether this release includes the skill."""

    reason: str | None = None
    """Why this release does not include the skill."""

    description: str | None = None
    """Description from the skill itself, if it is included."""

    base_prompt: str | None = None
    """Text of the skill, if it is included."""


class ListModelsResponse(Model):
    """Models."""

    default_model_id: str
    """The default model of runs."""

    models: list[ModelInfo]
    """The models."""


class ModelInfo(Model):
    """A model."""

    id: str
    """The value for `model_id`."""

    display_name: str
    """Name."""

    provider: Literal["OPENAI", "ANTHROPIC", "GOOGLE", "UNKNOWN"] | str
    """Provider of the model."""

    vision_supported: bool
    """Whether the model accepts images."""

    description: str | None = None
    """Description of the model."""

    reasoning_level: str | None = None
    """Reasoning effort."""

    disable_reason: (
        Literal["PROVIDER_OUTAGE", "OUT_OF_REQUESTS", "ADMIN_DISABLED", "REQUIRES_UPGRADE"]
        | str
        | None
    ) = None
    """Why the model is currently unavailable. `ADMIN_DISABLED`: this server has no API key for its
    provider.
    """

    disable_detail: str | None = None
    """The reason in a sentence, such as which key is missing."""


class ListHarnessesResponse(Model):
    """Harnesses."""

    harnesses: list[HarnessInfo]
    """The harnesses."""


class HarnessInfo(Model):
    """An agent program that runs can name."""

    name: str
    """The value for `harness.type`."""

    version: str | None = None
    """The installed version, if it is installed."""

    models: list[str]
    """Ids of the models that it can use. Empty if they are not known."""

    usable: bool
    """Whether a connected worker can run it now."""

    reason: str | None = None
    """Why it is not usable."""

    workers: int
    """Number of connected workers that can run it."""


class ListConnectedWorkersResponse(Model):
    """Workers."""

    workers: list[ConnectedWorker]
    """The workers."""


class ConnectedWorker(Model):
    """The workers of one host."""

    worker_host: str
    """The value for `worker_host`."""

    connection_count: int
    """Number of connected workers."""

    capacity: int
    """Maximum number of runs that they execute at once."""

    busy: int
    """Number of runs that they execute now, as last reported."""

    connected_at: Timestamp
    """When the worker connected."""

    last_seen_at: Timestamp
    """When a worker was last seen."""

    launcher_count: int | None = None
    """Number of the connected workers that are launchers: they execute each run in a Pod of a
    Kubernetes cluster.
    """

    executions: list[WorkerExecution] | None = None
    """The runs that its workers have and that you can see. Those that have not started come first,
    and of these the oldest. A response has at most 500 for all hosts together.
    """


class WorkerExecution(Model):
    """A run that a connected worker has."""

    run_id: str
    """Id of the run."""

    execution_id: int
    """Which execution of the run it is."""

    title: str
    """Title of the run."""

    state: RunState
    """The state of the run."""

    since: Timestamp
    """When the state began; with `waiting`, when that began."""

    waiting: PodWait | None = None
    """What the execution waits for, until the worker in the Pod has started. Only launchers have
    it.
    """


class PodWait(Model):
    """What keeps the Pod of an execution from starting."""

    reason: str | None = None
    """The word of Kubernetes, such as `ImagePullBackOff` or `Unschedulable`. It is missing if
    nothing unusual was seen.
    """

    message: str
    """The reason in words."""


class ListEnvironmentsResponse(Model):
    """Environments."""

    environments: list[CloudEnvironment]
    """The environments."""


class CloudEnvironment(Model):
    """The workspace configuration of runs."""

    uid: str
    """Unique id."""

    config: CloudEnvironmentConfig
    """The configuration of an environment."""

    last_updated: Timestamp
    """When it last changed."""

    setup_failed: bool
    """Whether the latest run that used it failed during setup."""

    last_task_created: EnvironmentTask | None = None
    """The latest run of an environment."""

    last_task_run_timestamp: Timestamp | None = None
    """When a run last used it."""

    scope: Scope | None = None
    """Who sees the resource."""

    creator: RunCreatorInfo | None = None
    """The creator."""

    last_editor: RunCreatorInfo | None = None
    """Who last changed it."""


class EnvironmentTask(Model):
    """The latest run of an environment."""

    id: str
    """The run's id."""

    title: str
    """Title of the run."""

    state: RunState
    """`QUEUED`: waits for a worker. `CLAIMED`: a worker has claimed it. `PENDING`: its workspace
    is being prepared. `INPROGRESS`: the agent is working. `BLOCKED`: waits for a follow-up from
    a person. `SUCCEEDED`: completed. `FAILED`: ended for a cause that its owner can fix.
    `ERROR`: ended for a cause on the server. `CANCELLED`: was cancelled.
    """

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When the run last changed."""

    started_at: NullableTimestamp = None
    """When a worker first claimed the run."""


class CloudEnvironmentConfig(Model):
    """The configuration of an environment."""

    name: str | None = None
    """Name."""

    description: str | None = None
    """Purpose."""

    docker_image: str | None = None
    """The container image of the runs. Workers with the sandbox bubblewrap or docker pull it; a
    run whose image cannot be pulled fails. Workers with the sandbox process use the host's
    tools and record this on the timeline.
    """

    docker_image_secret: str | None = None
    """Name of the managed secret with the credentials for the registry of `docker_image`, as
    `USER:PASSWORD`. Its `hosts` must include the registry (`docker.io` for names without one),
    with its port unless that is 443. Only workers get the value. If absent, the credentials of
    the worker's machine apply.
    """

    github_repos: list[GitHubRepo] | None = None
    """GitHub repositories to clone."""

    repos: list[GitRepo] | None = None
    """Git repositories to clone, on any host."""

    setup_commands: list[str] | None = None
    """Shell commands that prepare the workspace, in order. If one fails, the run ends FAILED."""

    providers: dict[str, Any] | None = None
    """Settings of cloud providers. Stored and passed on unchanged."""

    failure_session_retention_minutes: int | None = None
    """Minutes to keep the sandbox of a failed run. If absent, it is not kept."""

    network: Network | None = None
    """What its runs may reach, in addition to the other layers. A run reads it when an execution
    starts.
    """

    stall_after: str | None = None
    """Time without an event after which a run that works has stalled, from `1m` to `720h`; `0`
    disables it. Text of a message and output of a tool are events. Absent or empty: `--stall-
    after` of the server. It also applies to runs that already work.
    """

    on_stall: Literal["alert", "cancel"] | str | None = None
    """What happens to a run that has stalled: `alert` marks it as `stalled`, `cancel` also cancels
    it. Absent: `--on-stall` of the server.
    """

    prebuild: Prebuild | None = None
    """How prepared workspaces are kept for later runs of the environment. Each worker keeps its
    own: the workspace, HOME and the changes of the image as the setup commands left them. For
    that, the commands run without the variables, attachments and models of the run. If they
    fail then, they run again with everything, and nothing is kept. Absent: lazy, but only for
    runs without variables.
    """


class Prebuild(Model):
    """How prepared workspaces are kept for later runs of the environment. Each worker keeps its
    own: the workspace, HOME and the changes of the image as the setup commands left them. For
    that, the commands run without the variables, attachments and models of the run. If they
    fail then, they run again with everything, and nothing is kept. Absent: lazy, but only for
    runs without variables.
    """

    mode: Literal["lazy", "off"] | str | None = None
    """`lazy` keeps what a run has prepared, `off` nothing."""

    inputs: list[str] | None = None
    """Path patterns in the repositories. If their heads have moved since, and no file of these
    patterns has changed, no command runs. Absent: all commands run on what was kept.
    """

    update_commands: list[str] | None = None
    """Commands that run instead of the setup commands on what was kept."""

    secrets: list[str] | None = None
    """Names of the secrets that the commands get as variables. Only runs that have all of them get
    what was kept. If a file has the value of one afterwards, nothing is kept.
    """


class ListPrebuildsResponse(Model):
    """Prepared workspaces."""

    prebuilds: list[PreparedWorkspace]
    """The prepared workspaces."""


class PreparedWorkspace(Model):
    """A workspace that a worker keeps for later runs of an environment, or why it keeps none."""

    uid: str
    """Its uid. If workers have copies of one disk, several have the same one."""

    state: Literal["ready", "failed", "retired"] | str
    """Runs get a `ready` one. `failed`: the preparation left none. `retired`: no new run gets it."""

    reason: str | None = None
    """Why it has failed or was retired."""

    mode: Literal["lazy", "off"] | str | None = None
    """The `prebuild.mode` that made it."""

    heads: list[PreparedHead]
    """The commits of its repositories."""

    image_digest: str | None = None
    """Digest of its container image. Absent: the programs of the worker's machine."""

    worker_host: str
    """The worker that keeps it."""

    bytes: int
    """Its size."""

    files: int
    """The number of its files."""

    duration_ms: int
    """How long its preparation took."""

    built_at: datetime
    """When it was made, or when the last preparation failed."""

    last_used_at: datetime | None = None
    """When a run last got it. Absent: never."""

    uses: int
    """How many runs got it."""


class PreparedHead(Model):
    """The commit of a repository in a prepared workspace."""

    url: str
    """URL of the repository without credentials; empty if it is unknown."""

    commit: str
    """The commit."""


class GitHubRepo(Model):
    """A repository on GitHub."""

    owner: str
    """Owner of the repository."""

    repo: str
    """Name."""


class RunRepository(Model):
    """A repository that a run works on: its `url`, or the `connection` and `path` that have it.
    The server sets all three if a connection is used.
    """

    url: str | None = None
    """URL of the repository, `https://` or `ssh://` (also as `user@host:path`), without
    credentials.
    """

    ref: str | None = None
    """A branch, tag or commit. Defaults to the one of the environment, or else to the default
    branch.
    """

    connection: str | None = None
    """Name of the connection that reads the repository. With a `url`, the server finds it."""

    path: str | None = None
    """Path of the repository on the forge, `owner/name`."""


class GitRepo(Model):
    """A Git repository."""

    url: str
    """URL of the repository, `https://` or `ssh://`."""

    ref: str | None = None
    """A branch, tag or commit. Defaults to the default branch."""


class ListAgentsResponse(Model):
    """Agents."""

    agents: list[AgentResponse]
    """The agents."""


class AgentResponse(Model):
    """An agent."""

    uid: str
    """Unique id."""

    name: str
    """Name."""

    available: bool
    """Whether runs can currently use the agent."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When it last changed."""

    factory_uid: str | None = None
    """The factory that defines the agent."""

    network: Network | None = None
    """What its runs may reach, in addition to the other layers."""

    models: ModelPolicy | None = None
    """The models that its runs may use."""

    description: str | None = None
    """Purpose."""

    prompt: str | None = None
    """Instructions that come before the prompt of each run."""

    base_model: str | None = None
    """Default model of its runs."""

    harness: Harness | None = None
    """Default harness of its runs."""

    base_harness: str | None = None
    """The type of `harness`."""

    environment_id: str | None = None
    """The environment of its runs."""

    default_runner_uid: str
    """Default runner of its runs: a name of `runners` in the files of its factory."""

    worker_host: str | None = None
    """The self-hosted worker of its runs."""

    forge: ForgeSettings | None = None
    """What its runs may do on the forges of their repositories. Each value is inherited by itself."""

    repositories: list[RunRepository] | None = None
    """Repositories that its runs work on beside the environment's, in place of those of its
    factory. An empty list means none.
    """

    secrets: list[SecretRef]
    """Managed secrets for its runs."""

    skills: list[str]
    """Skills available to its runs."""

    mcp_servers: dict[str, MCPServerConfig] | None = None
    """MCP servers of its runs, by name."""

    memory: AgentMemory
    """What the agent remembers between runs."""

    harness_auth_secrets: dict[str, str] | None = None
    """Names of managed secrets with the harness's credentials."""

    credential_strategy: Literal["CREATOR", "EXECUTOR"] | str | None = None
    """Whose credentials its runs use."""

    on_behalf_of_enabled: bool | None = None
    """Whether the agent may start runs on behalf of users."""

    agent_type: (
        Literal["FOREMAN", "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY", "CUSTOM"] | str | None
    ) = None
    """Role of the agent in a factory."""


class SecretRef(Model):
    """A reference to a managed secret, by name."""

    name: str
    """Name."""


class AgentMemory(Model):
    """What an agent remembers between runs."""

    auto_memory: AgentMemoryAutoMemory
    """Memory that the agent maintains itself."""

    attached_stores: list[MemoryStoreRef]
    """Memory stores of the agent, each once. Stored and returned, but not used: this server has no
    memory stores.
    """


class AgentMemoryAutoMemory(Model):
    """Memory that the agent maintains itself."""

    enabled: bool
    """Whether automatic memory is enabled."""


class MemoryStoreRef(Model):
    """A reference to a memory store."""

    uid: str
    """Unique id."""

    access: Literal["read_write", "read_only"] | str
    """The agent's access to the store."""

    instructions: str
    """Instructions for using the store."""


class ListSchedulesResponse(Model):
    """Schedules."""

    schedules: list[ScheduledAgentItem]
    """The schedules."""


CatchUp: TypeAlias = Literal["once", "all", "none"] | str
"""What starts for times that passed while no server was there. `once`, the default, starts one run
for all of them, `all` one for each of the latest 100. With `none`, a time that is more than a
minute late starts none.
"""

Overlap: TypeAlias = Literal["allow", "queue", "skip", "replace"] | str
"""What happens at a time when a run that an earlier time started has not ended. `allow`, the
default, starts another beside it, `queue` starts it once that one has ended, `skip` starts
none, and `replace` cancels that one with all that it started, once a run of the same
automation, or of the schedule itself, is QUEUED instead. A run that somebody continued after
its end does not count. At most 100 times wait in a queue.
"""


class Occurrence(Model):
    """One event that was due to start work, and what became of it."""

    occurrence_uid: str
    """Unique id."""

    kind: OccurrenceKind
    """What it was."""

    schedule_id: str | None = None
    """The schedule whose time it was."""

    automation_uid: str | None = None
    """The automation that it was to start. Absent for the own run of a schedule, and for a
    delivery that was rejected or a duplicate.
    """

    webhook_uid: str | None = None
    """The webhook of the delivery."""

    delivery_id: str | None = None
    """The delivery."""

    subject: str | None = None
    """What it was about, such as `acme/shop#7`."""

    due_at: Timestamp
    """When it was due. For missed times, the last of them."""

    decided_at: Timestamp | None = None
    """When it got its fate. Absent while it waits."""

    fate: Fate
    """What became of an occurrence. `waiting` is followed by one of the others, which never
    change. `continued`: a follow-up gave it to a run. `merged_into`: it joined a run that
    another one started. `superseded`: a later one replaced it before it started anything.
    `no_match`: the automation waits for something else. `duplicate`: the same delivery had come
    before. `rejected`: the webhook did not accept the delivery. `skipped`: a run was live, too
    many times waited, a budget refused the run, or the schedule or automation was changed,
    paused or deleted. `missed`: no server was there in time. `failed`: no run could be made.
    """

    reason: str | None = None
    """Why it has this fate. For an automation with the fate `failed`, only with `factories:read`."""

    missed: MissedTicks | None = None
    """Times of a schedule that passed while no server was there."""

    run_ids: list[str]
    """The runs that it started or joined. If a budget refused its run, that one."""


OccurrenceKind: TypeAlias = Literal["tick", "delivery", "call", "dispatch"] | str
"""What an occurrence was. `tick`: a time of a schedule, or of an automation with a clock of its
own. `delivery`: to a webhook. `call`: a request for a run, also of an automation by hand.
`dispatch`: work for a factory; without a subject, it is known by the metadata `ticket_source`
and `ticket_id` of its run, so that a request for a run of an agent with both counts as one.
"""

Fate: TypeAlias = (
    Literal[
        "waiting",
        "started",
        "continued",
        "merged_into",
        "superseded",
        "no_match",
        "duplicate",
        "rejected",
        "skipped",
        "missed",
        "failed",
    ]
    | str
)
"""What became of an occurrence. `waiting` is followed by one of the others, which never change.
`continued`: a follow-up gave it to a run. `merged_into`: it joined a run that another one
started. `superseded`: a later one replaced it before it started anything. `no_match`: the
automation waits for something else. `duplicate`: the same delivery had come before. `rejected`:
the webhook did not accept the delivery. `skipped`: a run was live, too many times waited, a
budget refused the run, or the schedule or automation was changed, paused or deleted. `missed`:
no server was there in time. `failed`: no run could be made.
"""


class MissedTicks(Model):
    """Times of a schedule that passed while no server was there."""

    count: int
    """How many."""

    at_least: bool | None = None
    """Whether there were more than were counted."""

    first: Timestamp
    """The first of them."""

    last: Timestamp
    """The last of them."""


class ListOccurrencesResponse(Model):
    """A page of occurrences."""

    occurrences: list[Occurrence]
    """The occurrences, newest first."""

    page_info: PageInfo
    """Position in the list."""


CronSchedule: TypeAlias = str
"""When to fire: five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, `@every
1h30m`. An expression that never fires returns 400.

When clocks go forward, all times that they skip fire together, once, at the change: in
Europe/Berlin, `30 1,2 * * *` fires at 01:30 and 03:00 on that day. When clocks go back, a time
that is shown twice fires the first time only. If every hour matches (`*` or `0-23`), it fires
whenever the clock shows one of its times: not in the hour that is skipped, and twice in the
hour that is repeated. `@every` does not depend on clocks.
"""


class ScheduledAgentItem(Model):
    """A schedule."""

    id: str
    """Unique id."""

    name: str
    """Name."""

    cron_schedule: CronSchedule
    """When to fire: five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, `@every
    1h30m`. An expression that never fires returns 400.

    When clocks go forward, all times that they skip fire together, once, at the change: in
    Europe/Berlin, `30 1,2 * * *` fires at 01:30 and 03:00 on that day. When clocks go back, a
    time that is shown twice fires the first time only. If every hour matches (`*` or `0-23`),
    it fires whenever the clock shows one of its times: not in the hour that is skipped, and
    twice in the hour that is repeated. `@every` does not depend on clocks.
    """

    time_zone: str
    """IANA time zone of `cron_schedule`."""

    catch_up: CatchUp
    """What starts for times that passed while no server was there. `once`, the default, starts one
    run for all of them, `all` one for each of the latest 100. With `none`, a time that is more
    than a minute late starts none.
    """

    overlap: Overlap
    """What happens at a time when a run that an earlier time started has not ended. `allow`, the
    default, starts another beside it, `queue` starts it once that one has ended, `skip` starts
    none, and `replace` cancels that one with all that it started, once a run of the same
    automation, or of the schedule itself, is QUEUED instead. A run that somebody continued
    after its end does not count. At most 100 times wait in a queue.
    """

    enabled: bool
    """Whether it fires."""

    prompt: str
    """The task for the agent. Empty if its runs have only a skill."""

    mode: RunMode
    """How its runs handle the prompt."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When it last changed."""

    agent_config: AmbientAgentConfig | None = None
    """How a run is executed. An omitted field is taken from the automation, the agent, the factory
    or the server, in this order.
    """

    agent_uid: str | None = None
    """The agent that its runs are executed as."""

    metadata: Metadata | None = None
    """Labels to find runs by. A request can have at most 20 keys. A key is 1 to 64 bytes of `a-z
    A-Z 0-9 . _ -`. A value is up to 256 bytes of UTF-8 without NUL. Labels are merged key by
    key: the request's override the parent run's. Only the server sets `automation_id`,
    `webhook_uid` and `delivery_id`, for runs that an automation starts and their children. A
    request that sets one of them is rejected.
    """

    environment: CloudEnvironmentConfig | None = None
    """The environment that `agent_config` refers to."""

    created_by: RunCreatorInfo | None = None
    """The creator."""

    updated_by: RunCreatorInfo | None = None
    """Who last changed it."""

    history: ScheduledAgentItemHistory | None = None
    """Last and next time it fires."""

    upcoming: list[Timestamp] | None = None
    """The next five times, while it is enabled."""

    last_spawn_error: str | None = None
    """Why no run was started at the last time that was decided."""

    pause_after_failures: int | None = None
    """After so many runs in a row that ended `FAILED` or `ERROR`, it is paused until it is enabled
    again. A `CANCELLED` run neither counts nor ends the row. 0, the default, never pauses it.
    """

    expect_every: Period | None = None
    """How often a run is expected to start, or an event to reach one, such as `26h`; at least
    `1m`. If none does for so long, it is `silent`, and endpoints get `automation.silent`. Runs
    that somebody starts by hand do not count. 0, the default, expects none.
    """

    paused: FailuresInARow | None = None
    """Failures have paused it: `enabled` is false. Deliveries and times are skipped."""

    degraded: FailuresInARow | None = None
    """One more failure pauses it."""

    silent: Silence | None = None
    """It has started nothing for the time of `expect_every`."""

    scope: Scope | None = None
    """Who sees the resource."""


class ScheduledAgentItemHistory(Model):
    """Last and next time it fires."""

    last_ran: NullableTimestamp = None
    """When it last fired."""

    next_run: NullableTimestamp = None
    """When it fires next. Null while it is paused."""


KeyScope: TypeAlias = (
    Literal[
        "runs:read",
        "runs:write",
        "factories:read",
        "factories:manage",
        "secrets:use",
        "secrets:manage",
        "keys:manage",
        "events:manage",
        "forges:manage",
        "access:manage",
        "metrics:read",
        "worker",
        "own_run",
        "admin",
    ]
    | str
)
"""A permission of a key. `admin` includes all others. `worker` lets a key serve as a worker.
`secrets:use` lets a request for a run or a schedule name managed secrets, which the agent can
read, and continue the conversations of such runs. The secrets of agents, automations and
factories do not require it: with `factories:manage`, a caller can give any secret to the runs
of an agent. `access:manage` is about users, service accounts and grants. `metrics:read` lets
Prometheus read `/metrics`. `own_run` is the scope of an execution's key: it can read its own
run and add artifacts to it. It cannot be given to other keys.
"""

SecretHosts: TypeAlias = list[str]
"""Hosts to which the proxy of a sealed run may send the secret: exact names in lower case and
ASCII, or IP addresses. A rule with the secret as its credential works for these only. A worker
also logs in to image registries at these hosts, at port 443. `HOST:PORT` stands for a registry
at another port. A change replaces the whole list.
"""


class Secret(Model):
    """A managed secret, without its value."""

    name: str
    """Name."""

    version: int
    """Number of values that the secret has had. 0 while it is pending."""

    pending: bool
    """Whether the secret is declared but has no value yet."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When the value or the hosts were set."""

    last_used_at: Timestamp | None = None
    """When a run last received the secret, or a webhook last accepted it, accurate to about a
    minute.
    """

    created_by: RunCreatorInfo | None = None
    """The creator."""

    updated_by: RunCreatorInfo | None = None
    """Who set the value."""

    hosts: SecretHosts | None = None
    """Hosts to which the proxy of a sealed run may send the secret: exact names in lower case and
    ASCII, or IP addresses. A rule with the secret as its credential works for these only. A
    worker also logs in to image registries at these hosts, at port 443. `HOST:PORT` stands for
    a registry at another port. A change replaces the whole list.
    """

    webhook_uid: str | None = None
    """The webhook that the server generated the secret for. Stays set after the webhook is
    deleted. Runs never receive such a secret.
    """

    used_by: list[SecretUser]
    """Resources that use the secret and prevent its deletion."""


class SecretUser(Model):
    """A resource that uses a secret. For another user's personal schedule, only the type is
    returned.
    """

    type: Literal["agent", "schedule", "automation", "webhook", "factory", "environment"] | str
    """Type of resource. A `factory` uses a secret for all its agents, for the image or the network
    of a runner, or to read its repository. An `environment` uses it in its network.
    """

    uid: str | None = None
    """Unique id."""

    name: str | None = None
    """Name."""

    factory_uid: str | None = None
    """The factory of the resource, if any."""

    factory_name: str | None = None
    """The name of that factory."""


class ListSecretsResponse(Model):
    """Secrets."""

    secrets: list[Secret]
    """The secrets."""


WebhookAuthMode: TypeAlias = Literal["token", "url_token", "signature"] | str
"""How a delivery is authenticated: `token` in `Authorization: Bearer`, `url_token` as the last
segment of the URL, or `signature` over the body.
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
"""The signature scheme of a sender. The webhook's `signature` describes `custom_hmac`."""


class Signature(Model):
    """A `custom_hmac` scheme, or the `timestamp_header` of a Grafana contact point."""

    header: str | None = None
    """The header that contains the signature."""

    prefix: str | None = None
    """Text before the signature, such as `sha256=`."""

    hash: Literal["sha1", "sha256", "sha512"] | str | None = None
    """Hash function of the HMAC."""

    encoding: Literal["hex", "base64"] | str | None = None
    """Encoding of the signature."""

    key_form: Literal["text", "base64", "hex", "whsec"] | str | None = None
    """How the key is derived from the secret: unchanged, or decoded."""

    template: str | None = None
    """The signed text: literal text with `{body}` once, and optionally `{timestamp}`, `{method}`,
    `{url}`, `{path}` and `{header:Name}`.
    """

    timestamp_header: str | None = None
    """The header that contains `{timestamp}`: Unix seconds, Unix milliseconds or RFC 3339."""


SecretRefresh: TypeAlias = Literal["apply", "immediate"] | str
"""When a webhook starts to use a new value of its managed secret: when the webhook is changed or
enabled, or immediately.
"""


class Factory(Model):
    """A standing team of agents with its automations and webhooks."""

    uid: str
    """Unique id."""

    name: str
    """Name."""

    alias: str | None = None
    """Short name."""

    description: str | None = None
    """Purpose."""

    source: Literal["service", "repository"] | str
    """Where the factory is edited: in the API, or in a Git repository."""

    repository: FactoryRepository | None = None
    """The repository, if `source` is `repository`."""

    foreman_agent_uid: str
    """The agent that receives the factory's work first. Empty until the first commit of the
    repository is applied.
    """

    agents: list[FactoryAgent]
    """Agents, by name."""

    webhooks_count: int
    """Number of webhooks."""

    automations_count: int
    """Number of automations."""

    definition: FactoryDefinition
    """The definition of a factory."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When it last changed."""

    team_uid: str
    """The team that the factory belongs to."""

    repositories: list[WorkRepository]
    """The repositories that the factory works on, as in factory.yaml."""

    code_forge: CodeForge
    """Host of these repositories."""

    code_forges: list[CodeForge]
    """`code_forge` as a list."""

    credential_strategy: Literal["CREATOR", "EXECUTOR"] | str
    """Whose credentials its runs use, unless an agent overrides it."""

    default_model: str | None = None
    """Default model of its agents, if factory.yaml sets one for the built-in harness."""

    default_environment: str | None = None
    """Default environment of its agents, if factory.yaml sets one."""

    agent_defaults: FactoryAgentDefaults
    """Defaults of its agents."""

    network: Network | None = None
    """What all its runs may reach, in addition to the other layers, as in factory.yaml."""

    forge: ForgeSettings | None = None
    """What all its runs may do on the forges of their repositories, unless `agentDefaults`, an
    agent or an automation sets it. As in factory.yaml.
    """

    models: ModelPolicy | None = None
    """The models that all its runs may use, as in factory.yaml."""

    scorer_defaults: dict[str, Any]
    """Defaults of scorers. Always empty: the key `scorerDefaults` of the files is kept, and not
    used yet.
    """

    scoring: dict[str, Any]
    """Settings of scoring. Always empty: the key `scoring` of the files is kept, and not used yet."""


class WorkRepository(Model):
    """A repository that a factory works on."""

    owner: str
    """A user, organization or group."""

    repo: str
    """Name."""

    code_forge: CodeForge | None = None
    """URL."""


CodeForge: TypeAlias = Literal["GITHUB", "GITLAB", "NONE"] | str
"""Host of repositories, as `codeForges` of factory.yaml names it. Without this key, it is
`GITHUB`, or `NONE` without repositories.
"""


class FactoryAgentDefaults(Model):
    """Defaults of a factory's agents, as in `agentDefaults` of factory.yaml."""

    default_runner_uid: str
    """Default runner of their runs. Empty if not set."""

    worker_host: str
    """Default self-hosted worker of their runs. Empty if not set."""

    secrets: list[SecretRef]
    """Managed secrets for their runs."""

    mcp_servers: dict[str, MCPServerConfig]
    """MCP servers of their runs, by name."""

    harness: Harness | None = None
    """The harness of their runs."""

    harness_auth_secrets: dict[str, str] | None = None
    """Names of managed secrets with the harness's credentials."""

    repositories: list[RunRepository] | None = None
    """Repositories that their runs work on beside the environment's."""


class FactoryRepository(Model):
    """A Git repository that defines a factory."""

    url: str
    """An `https://` or `ssh://` URL, or `user@host:path`, without credentials. `file://` only if
    the server allows it.
    """

    branch: str | None = None
    """The production branch. Defaults to the default branch of the repository."""

    path: str | None = None
    """The folder that contains factory.yaml. Defaults to the root of the repository."""

    secret: str | None = None
    """The managed secret with the credential for an `https://` URL: a token, or `user:token`."""


class FactoryAgent(Model):
    """An agent of a factory."""

    uid: str
    """Unique id."""

    name: str
    """Name."""

    agent_type: (
        Literal["FOREMAN", "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY", "CUSTOM"] | str
    )
    """Role of the agent."""


class Diagnostic(Model):
    """A finding in a factory's files."""

    code: str
    """Code of the finding, such as `FF_UNKNOWN_FIELD`."""

    message: str
    """What is wrong."""

    path: str
    """Path of the file."""

    line: int
    """Line number, from 1."""

    column: int
    """Column in characters, from 1."""

    severity: Literal["error", "warning", "note"] | str
    """Only an error prevents the files from being applied. A note is about an ignored file."""

    nearest: str | None = None
    """The closest valid name."""


class FactoryFiles(Model):
    """The files that define a factory."""

    files: FileTree
    """The content of each file, by path."""

    revision: int
    """Revision number. It increases with each change of the files."""

    applied_at: Timestamp
    """When the files were applied."""

    source: Literal["service", "repository"] | str
    """Where the files are edited."""


class ListRevisionsResponse(Model):
    """A page of revisions."""

    revisions: list[Revision]
    """The revisions, newest first."""

    page_info: PageInfo
    """Position in a paginated list."""


class Revision(Model):
    """A change of a factory's files."""

    created: list[ResourceChange]
    """Added resources."""

    changed: list[ResourceChange]
    """Changed resources."""

    removed: list[ResourceChange]
    """Removed resources."""

    revision: int
    """Revision number. For a commit that changed nothing, the number of the active revision, or 0
    if there was none.
    """

    result: Literal["applied", "unchanged", "rejected"] | str
    """Result of the revision. Only commits of a repository can have a result other than `applied`."""

    commit: Commit | None = None
    """The commit, if the factory is defined by a repository."""

    detail: str | None = None
    """Why a commit was rejected."""

    diagnostics: list[Diagnostic] | None = None
    """Findings in the files of the commit, at most 200."""

    author: RunCreatorInfo | None = None
    """Who made the change."""

    created_at: Timestamp
    """When it was applied."""

    diff: str
    """Changes of the files as a unified diff, truncated if it is very long."""


class Commit(Model):
    """A Git commit."""

    id: str
    """Unique id."""

    author: str
    """Name and address of the author."""

    message: str
    """First line of the message, truncated if it is very long."""

    committed_at: Timestamp | None = None
    """When it was committed, if the commit could be read."""


FileTree: TypeAlias = dict[str, str]
"""The content of each file, by path."""


class DefinitionPlan(Model):
    """The changes from applying files."""

    created: list[ResourceChange]
    """Resources to add."""

    changed: list[ResourceChange]
    """Resources to change."""

    removed: list[ResourceChange]
    """Resources to remove."""

    revision: int
    """The active revision."""

    diagnostics: list[Diagnostic]
    """Warnings."""


class ResourceChange(Model):
    """A change of a factory's resource."""

    kind: (
        Literal[
            "factory", "agent", "automation", "webhook", "runner", "skill", "scorer", "benchmark"
        ]
        | str
    )
    """The kind of resource."""

    name: str
    """Name."""

    fields: list[str] | None = None
    """The changed keys."""

    again: bool | None = None
    """Whether a resource with this name existed before. The new one has its own uid."""


class FilesValidation(Model):
    """The result of validating files."""

    valid: bool
    """Whether the files have no errors."""

    schema_version: str
    """The version in factory.yaml, or the current version."""

    diagnostics: list[Diagnostic]
    """All findings."""

    validation_scope: ValidationScope
    """The checks that were run."""

    state_dependent_checks_not_run: list[str]
    """Checks that were skipped. They run when the files are applied."""

    deferred_resolutions: list[DeferredResolution]
    """Values that are resolved only when the files are applied. Always empty at present."""


class ValidationScope(Model):
    """The checks that were run."""

    parser: Literal["checked", "not_run"] | str
    """Whether the documents were parsed."""

    state_independent: Literal["checked", "not_run"] | str
    """Whether references between the files were checked."""

    state_dependent: Literal["checked", "not_checked"] | str
    """Whether references to resources of the server and the team were checked."""


class DeferredResolution(Model):
    """A value in a file that was not resolved."""

    path: str
    """Path of the file."""

    field: str
    """The field."""

    kind: str
    """The kind of value."""


class FactorySchemaVersions(Model):
    """The supported versions of factory files."""

    current_version: str
    """The recommended version for new files."""

    versions: list[FactorySchemaVersion]
    """All versions, sorted."""

    documents: list[str]
    """Names of the documents, such as `agent.schema.json`."""


class FactorySchemaVersion(Model):
    """A version of factory files."""

    schema_version: str
    """The value of `schemaVersion`."""

    schema_url: str
    """Path of its schemas."""


class FactorySchemas(Model):
    """The schemas of one version of factory files."""

    schema_version: str
    """The version."""

    documents: dict[str, dict[str, Any]]
    """The schemas by name. The name is also the `$id`."""


class FactoryDefinition(Model):
    """The definition of a factory."""

    revision: int
    """Revision number. It increases with each change. 0 until a revision is applied."""

    status: Literal["applied", "invalid", "syncing"] | str
    """`applied`: the latest definition is active. `invalid`: the newest commit of the repository
    was rejected, and the previous one stays active. `syncing`: the repository is being read,
    for the first time or on request.
    """

    commit: str | None = None
    """The active commit of the repository."""

    rejected_commit: str | None = None
    """The newest commit, if it was rejected."""

    detail: str | None = None
    """Why the newest commit was rejected."""

    diagnostics: list[Diagnostic] | None = None
    """Findings in the newest commit, at most 200. For a factory that was just created from files,
    its warnings.
    """

    problem: str | None = None
    """Why the repository cannot be read at the moment, such as an invalid credential. The active
    definition stays.
    """

    checked_at: Timestamp | None = None
    """When the repository was last polled."""

    outdated_webhooks: list[str] | None = None
    """Names of webhooks that do not yet use the new value of their managed secret. They start to
    use it with the next change of the factory's files: for a factory that is defined by a
    repository, push a commit that changes one of its files. A webhook with `secretRefresh:
    immediate` in its file uses a new value immediately.
    """


class ListFactoriesResponse(Model):
    """A page of factories."""

    factories: list[Factory]
    """The factories, by name."""

    page_info: PageInfo
    """Position in a paginated list."""


class DispatchResponse(Model):
    """A dispatched run."""

    run_id: str
    """Unique id."""

    run_url: str
    """URL of the run's page."""

    state: RunState
    """`QUEUED`: waits for a worker. `CLAIMED`: a worker has claimed it. `PENDING`: its workspace
    is being prepared. `INPROGRESS`: the agent is working. `BLOCKED`: waits for a follow-up from
    a person. `SUCCEEDED`: completed. `FAILED`: ended for a cause that its owner can fix.
    `ERROR`: ended for a cause on the server. `CANCELLED`: was cancelled.
    """

    factory_uid: str
    """The factory."""

    foreman_agent: str
    """Name of the foreman that received the work."""

    ticket_ref: str
    """The ticket of the work, as `<source>:<id>`. `adhoc:<run id>` if the request has none."""

    outcome: CallOutcome | None = None
    """What became of a request for a run: it started the run; or, with a subject, its prompt
    reaches the run as a follow-up (`continued`), or together with the prompt of a run that has
    not begun (`merged_into`).
    """


class Trigger(Model):
    """An event that starts an automation. `webhook` / `received` fires on deliveries to webhooks
    of the factory. `schedule` / `cron_fired` fires on its own schedule or on schedules of the
    team. Events of `github` and `linear` come from deliveries to every enabled webhook of the
    factory whose `signature_scheme` has the same name. A delivery can contain several events.
    It starts one run of an automation, even if several of its triggers match. Triggers of other
    providers are valid and stored, but not connected, as `problems` says. The same applies to
    GitHub and Linear if the factory has no such webhook.
    """

    provider: (
        Literal["webhook", "schedule", "github", "gitlab", "linear", "jira", "slack", "factory"]
        | str
    )
    """Provider of the event."""

    event: str
    """Name of the event."""

    filter: dict[str, Any] | None = None
    """Conditions on the event. For `webhook`: `webhook_ids` (uids or names of the factory's
    webhooks) and `payload` (a payload filter). For `schedule`: `schedule_ids`, if there is no
    `schedule`. Both lists need at least one entry. For other providers: values for each key.
    All keys must match. An absent or empty key matches everything. Each key except `payload`
    has a list, or an object with `in` and `not_in`. A value that is missing from the event is
    in no list. Matching ignores case except in `branches`, `base_branches` and `paths`. These
    and `repos` can be patterns: `*` and `?` match within a folder, `**` across folders. `paths`
    matches if a push changes at least one matching file.
    """

    schedule: CronTrigger | None = None
    """For `schedule`: a schedule of its own."""


class CronTrigger(Model):
    """A cron schedule of a trigger. `CronSchedule` describes what happens when clocks change. A
    time that passed while the server was down fires once when it is back, unless `catch_up`
    says otherwise.

    Clocks of one automation that are due at the same time start one run, for which `overlap` of
    the first of them counts. Unless `catch_up` of one of them is `all`, they also start one run
    for all that they missed.

    If an automation's triggers are replaced and `catch_up` or `overlap` is absent, it stays as
    it was for the clock with the same `name`, or else the same `cron`, or else at the same
    place among the clocks.
    """

    cron: str
    """When to fire: five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, `@every
    1h30m`.
    """

    name: str | None = None
    """Name that its runs show."""

    timezone: str | None = None
    """IANA time zone name. UTC if absent."""

    time_zone: str | None = None
    """Another name of `timezone`. If a zone is set, responses have both. If a request has two
    different ones, the one that is not the present zone of this clock counts.
    """

    catch_up: CatchUp | None = None
    """What starts for times that passed while no server was there. `once`, the default, starts one
    run for all of them, `all` one for each of the latest 100. With `none`, a time that is more
    than a minute late starts none.
    """

    overlap: Overlap | None = None
    """What happens at a time when a run that an earlier time started has not ended. `allow`, the
    default, starts another beside it, `queue` starts it once that one has ended, `skip` starts
    none, and `replace` cancels that one with all that it started, once a run of the same
    automation, or of the schedule itself, is QUEUED instead. A run that somebody continued
    after its end does not count. At most 100 times wait in a queue.
    """

    last_run: Timestamp | None = None
    """When it last started a run. Only in responses."""

    next_run: Timestamp | None = None
    """When it fires next. Only in responses."""

    last_error: str | None = None
    """Why no run was started at the last time that was decided. Only in responses."""


class Automation(Model):
    """Starts a run of an agent of its factory when a trigger fires. A delivery starts one run,
    even if several triggers match. The automation is the creator of its runs, which act for no
    user.
    """

    uid: str
    """Unique id."""

    name: str
    """Name."""

    enabled: bool
    """Whether it fires."""

    title: str | None = None
    """Title of its runs. `{{data.order}}` stands for that string, number or boolean of the
    delivery's payload, as text; a value that does not exist is empty. Titles have up to 80
    characters. Defaults to the name.
    """

    prompt: str
    """The prompt of each run."""

    triggers: list[Trigger]
    """The triggers."""

    problems: list[FieldError] | None = None
    """Why the automation or one of its triggers is inactive."""

    subject: str | None = None
    """What events are about, as a template like `title`, such as
    `{{repository.full_name}}#{{pull_request.number}}`, or `auto` for what the provider names.
    Later events about the same reach the run that works on it. If a value is absent, the event
    has no subject.
    """

    subject_scope: Literal["automation", "factory"] | str | None = None
    """Whose events about the same reach the same run: those of this automation (`automation`, the
    default), or of all automations of the factory that have `factory`. These must have the same
    agent, secrets, environment, runner, worker host and MCP servers. A follow-up has the prompt
    of the automation whose events it has.
    """

    when_busy: WhenBusy | None = None
    """What an event does while a run works on its subject. `coalesce` by default."""

    quiet: Period | None = None
    """How long no event of the subject must come before a run or follow-up starts. By default a
    first event starts at once, and later ones wait for 30s; with `queue` and `replace` they do
    not wait.
    """

    longest_wait: Period | None = None
    """The most that an event waits for `quiet`. 5m by default."""

    keep: Period | None = None
    """How long after its success later events continue a run. 14d by default."""

    max_followups: int | None = None
    """How often events may continue a run before a person has to answer. 20 by default."""

    followup_prompt: str | None = None
    """The prompt for later events. Defaults to `prompt`."""

    continue_on: list[Trigger] | None = None
    """Events that reach the run which works on their subject, or has succeeded less than `keep`
    ago, and never start one, such as a comment. The event must come to the webhook whose event
    started the run. Not `schedule`.
    """

    closes: list[Trigger] | None = None
    """Events that end their subject: what waits is skipped, and nothing starts or continues until
    an event of `triggers` with a newer `updated_at` opens it again, with a new run. They come
    before `triggers`. Not `schedule`.
    """

    closes_run: bool | None = None
    """Whether they also cancel the run on the subject."""

    pause_after_failures: int | None = None
    """After so many runs in a row that ended `FAILED` or `ERROR`, it is paused until it is enabled
    again. A `CANCELLED` run neither counts nor ends the row. 0, the default, never pauses it.
    """

    expect_every: Period | None = None
    """How often a run is expected to start, or an event to reach one, such as `26h`; at least
    `1m`. If none does for so long, it is `silent`, and endpoints get `automation.silent`. Runs
    that somebody starts by hand do not count. 0, the default, expects none.
    """

    paused: FailuresInARow | None = None
    """Failures have paused it: `enabled` is false. Deliveries and times are skipped."""

    degraded: FailuresInARow | None = None
    """One more failure pauses it."""

    silent: Silence | None = None
    """It has started nothing for the time of `expect_every`."""

    on_hollow: OnHollow | None = None
    """What happens to a run that is `hollow`. `alert` by default. A run keeps the value that the
    automation had when it started.
    """

    agent: str | None = None
    """The agent, by its name in the factory. Defaults to the foreman."""

    model: str | None = None
    """Model of its runs: short for the built-in harness with this model. Not with `harness`."""

    harness: Harness | None = None
    """The harness of its runs. Not with `model`."""

    runner: str | None = None
    """The runner of its runs."""

    environment_id: str | None = None
    """The environment of its runs."""

    secrets: list[str] | None = None
    """Managed secrets for its runs, instead of the agent's."""

    mcp_servers: dict[str, MCPServerConfig] | None = None
    """MCP servers of its runs by name, instead of the agent's."""

    worker_host: str | None = None
    """The self-hosted worker of its runs."""

    forge: ForgeSettings | None = None
    """What its runs may do on the forges of their repositories. Each value is inherited by itself."""

    repositories: list[RunRepository] | None = None
    """Repositories that its runs work on beside the environment's, in place of the agent's. An
    empty list means none.
    """

    harness_auth_secrets: dict[str, Any] | None = None
    """The secrets with the harness's credentials, as the factory's files name them."""

    credential_strategy: Literal["CREATOR", "EXECUTOR"] | str | None = None
    """Whose credentials its runs use."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When it last changed."""


class ListAutomationsResponse(Model):
    """Automations."""

    automations: list[Automation]
    """The automations, by name."""


class FilterTestResult(Model):
    """The result of a filter."""

    would_trigger: bool
    """Whether every check passed."""

    checks: list[FilterCheck]
    """The checks, in order."""

    sample: FilterSample | None = None
    """The webhook's latest accepted deliveries."""


class FilterCheck(Model):
    """A check of a filter."""

    check: Literal["webhook", "payload", "event"] | str
    """Subject of the check: whether the webhook accepts deliveries, the payload, or its event."""

    passed: bool
    """Whether the check passed."""

    path: str | None = None
    """JSON pointer of the first key of the filter that failed."""

    reason: str | None = None
    """Why the check failed: one sentence, as in DeliveryMatch."""

    operator: Literal["in", "not_in", "exists", "object", "event"] | str | None = None
    """The condition that failed: object, if the filter names keys below the value; event, if the
    trigger waits for other events.
    """

    actual: list[str] | None = None
    """The first values of the delivery, each cut to 60 characters and without control characters.
    An object is {…}, and the value of a key that is named like a secret, such as token, is ***.
    For objects in an array, the values of the one key that the filter tests. Missing if the
    delivery lacks the key.
    """

    expected: list[str] | None = None
    """The first values of the condition, shown in the same way; of exists, true or false; of
    object, the keys that the filter names below; of event, the events that start a run.
    """


class FilterSample(Model):
    """The webhook's latest accepted deliveries."""

    matched: int
    """Number of deliveries that match."""

    of: int
    """Number of deliveries checked."""

    deliveries: list[FilterDelivery]
    """The result of each delivery, newest first."""


class FilterDelivery(Model):
    """The result of a filter for a stored delivery."""

    delivery_id: str
    """The delivery."""

    received_at: Timestamp
    """When the delivery arrived."""

    event_type: str | None = None
    """The event as the sender names it."""

    summary: str | None = None
    """The first values of the payload in one line, for people."""

    would_trigger: bool
    """Whether the filter matches."""

    path: str | None = None
    """JSON pointer of the first key of the filter that failed."""

    reason: str | None = None
    """Why the filter does not match: one sentence, as in DeliveryMatch."""

    operator: Literal["in", "not_in", "exists", "object", "event"] | str | None = None
    """The condition that failed: object, if the filter names keys below the value; event, if the
    trigger waits for other events.
    """

    actual: list[str] | None = None
    """The first values of the delivery, each cut to 60 characters and without control characters.
    An object is {…}, and the value of a key that is named like a secret, such as token, is ***.
    For objects in an array, the values of the one key that the filter tests. Missing if the
    delivery lacks the key.
    """

    expected: list[str] | None = None
    """The first values of the condition, shown in the same way; of exists, true or false; of
    object, the keys that the filter names below; of event, the events that start a run.
    """


class WebhookVerification(Model):
    """Whether a request is authentic."""

    valid: bool
    """Whether the request is valid with a current secret of the webhook."""

    reason: str | None = None
    """Why it is not authentic, as in the delivery log: `missing_header`, `bad_format`, `stale`,
    `future`, `mismatch` or `no_secret`.
    """

    detail: str | None = None
    """What is wrong, for people."""

    hint: str | None = None
    """A small change that would make the request valid, described for people."""


class Webhook(Model):
    """An authenticated URL that starts automations."""

    uid: str
    """Unique id, with 131 random bits."""

    name: str
    """Name, unique in the factory."""

    label: str
    """Display name."""

    auth_mode: WebhookAuthMode
    """How deliveries are authenticated."""

    signature_scheme: SignatureScheme | None = None
    """The sender's signature scheme. Only for `signature`."""

    signature: Signature | None = None
    """The scheme of `custom_hmac`, or the settings of `grafana`."""

    secret_name: str
    """Name of its managed secret."""

    delivery_id_header: str | None = None
    """A header that identifies deliveries."""

    replay_guard: bool
    """Whether the same signed content is a duplicate even if its unsigned id differs."""

    dedup_body_window: str | None = None
    """How long an equal body is a duplicate if nothing else identifies deliveries. `0` turns this
    off. Empty means the setting of the server.
    """

    retry_unmatched: bool
    """Whether a delivery that started no run is evaluated again when it comes again."""

    setup_pings: bool
    """Whether unsigned setup requests get 200 until the first verified delivery."""

    secret_refresh: SecretRefresh
    """When the webhook starts to use a new value of its managed secret."""

    enabled: bool
    """Whether the webhook accepts deliveries. Otherwise they get 404."""

    suspended: bool
    """Whether an enabled webhook temporarily rejects deliveries with 404. This is not part of the
    factory's files, so changes of the files do not affect it.
    """

    pending_secret: bool
    """Whether the webhook waits for its secret. It rejects deliveries until then."""

    outdated_secret: bool
    """Whether the webhook does not yet use the new value of its managed secret. It starts to use
    the value when it is changed or enabled, or with the next change of the factory's files;
    immediately if `secret_refresh` is `immediate`.
    """

    ingress_url: str
    """Where to send deliveries. For `url_token`, `{token}` stands for the secret, except in the
    response that shows the secret.
    """

    secrets: list[WebhookSecret]
    """The valid secrets, newest first."""

    counts: DeliveryCounts
    """The deliveries of the last 24 hours."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When it last changed."""

    last_delivery_at: Timestamp | None = None
    """When the last authenticated delivery arrived, including duplicates."""

    secret: Annotated[str | None, Field(repr=False)] = None
    """The secret. Only in the response that creates it."""


class ListSignatureSchemesResponse(Model):
    """Signature schemes."""

    signature_schemes: list[SignaturePreset]
    """The schemes, in display order."""


class SignaturePreset(Model):
    """A supported signature scheme."""

    scheme: SignatureScheme
    """Name."""

    sender: str
    """Name of the sender."""

    hint: str
    """Where to find the secret at the sender."""

    secret_after_url: bool
    """Whether the sender generates the secret after the URL is registered. The webhook is then
    created without a secret and completed later.
    """

    secret_generated: bool
    """Whether the sender accepts a secret that the server generates."""

    setup_pings: bool | None = None
    """Whether the sender checks the URL with an unsigned request, which gets 401 without the
    webhook's `setup_pings`.
    """

    forms: list[SignatureForm]
    """The layouts that are tried in turn. Empty for `custom_hmac`, which the webhook describes."""


class SignatureForm(Model):
    """One layout of a signature."""

    header: str
    """The header that contains the signature."""

    prefix: str | None = None
    """Text before each signature, such as `sha256=`."""

    hash: Literal["sha1", "sha256", "sha512"] | str | None = None
    """Hash function of an HMAC."""

    encoding: Literal["hex", "base64"] | str | None = None
    """Encoding of the signature."""

    key_form: Literal["text", "base64", "hex", "whsec", "whpk", "ed25519"] | str | None = None
    """How the key is derived from the secret."""

    template: str | None = None
    """The signed text."""

    timestamp_header: str | None = None
    """The header that contains `{timestamp}`."""

    algorithm: Literal["hmac", "ed25519", "token"] | str
    """How the signature is computed. For `token`, the header contains the secret itself."""

    separator: str | None = None
    """Separator between several signatures in the header."""

    numbered: bool | None = None
    """Whether the name in `header` is followed by a number, from 1 to 100, with a signature in
    each header.
    """

    signed_headers: str | None = None
    """The header that lists the names of `{signed_headers}`."""

    timestamp_field: str | None = None
    """The field of the signature header that contains `{timestamp}`."""

    timestamp_body: str | None = None
    """The key of the body that contains the timestamp."""

    timestamp_unit: Literal["s", "ms", "rfc3339", "any"] | str | None = None
    """Format of the timestamp."""

    tolerance_seconds: int | None = None
    """Maximum difference between the timestamp and the server's time, in both directions."""

    max_age_seconds: int | None = None
    """Maximum age of the timestamp, if it is more than `tolerance_seconds`: the sender repeats a
    delivery with the bytes of the first attempt.
    """

    once: bool | None = None
    """Whether the same signed bytes under another id are a duplicate even without `replay_guard`."""

    id_header: str | None = None
    """The header with the sender's delivery id."""

    id_body: str | None = None
    """The key of the body with the delivery id."""

    headers: list[str]
    """All headers that the signature depends on, starting with its own."""

    time_signed: bool
    """Whether the signature covers a timestamp, which prevents replays of old deliveries."""

    id_signed: bool
    """Whether the signature covers the delivery id, which prevents replays under another id."""


class ScheduleTimes(Model):
    """Times of a schedule."""

    upcoming: list[Timestamp]
    """The next five times, or fewer if there are no more."""


class WebhookSecret(Model):
    """A valid secret, without its value."""

    index: int
    """0 is the current secret. Higher numbers are older."""

    last_used_at: Timestamp | None = None
    """When the secret last authenticated a delivery, to the minute."""

    expires_at: Timestamp | None = None
    """When the secret expires, after a rotation with an overlap."""


class DeliveryCounts(Model):
    """Deliveries of the last 24 hours, accurate to a quarter of an hour."""

    accepted: int
    """Accepted deliveries."""

    duplicate: int
    """Duplicates of accepted deliveries."""

    rejected: int
    """Deliveries that were not authenticated, not JSON, or too large."""

    rate_limited: int
    """Deliveries beyond the rate limit."""

    turned_away: int | None = None
    """Requests while the webhook was disabled or suspended, or waited for its secret. They got
    404, and nothing of them was checked or stored.
    """


Outcome: TypeAlias = (
    Literal["accepted", "duplicate", "rejected_auth", "rejected_json", "rejected_size"] | str
)
"""Outcome of a delivery. It never changes."""


class Delivery(Model):
    """An entry of a webhook's delivery log."""

    delivery_id: str
    """Unique id."""

    webhook_uid: str
    """The webhook."""

    outcome: Outcome
    """Outcome of the delivery."""

    label: str
    """Outcome in words, such as Rejected (auth)."""

    reason: str | None = None
    """Details of the outcome. Failed authentication: `missing_header`, `bad_format`, `stale`,
    `future`, `mismatch` or `no_secret`, or `setup_ping` for an unsigned request that only
    checks the URL. Invalid body: `invalid_json`, `content_encoding` or `form`. Duplicate:
    `replayed_signature`. `handshake` if the sender only verified the URL.
    """

    detail: str | None = None
    """Why the delivery was rejected, for people. For an invalid body, it is what the sender got."""

    advice: str | None = None
    """What the owner of the webhook could change because of this delivery, for people."""

    size: int
    """Size of the body in bytes. If the body was not read, the announced size."""

    received_at: Timestamp
    """When the delivery arrived."""

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
    """What identifies the delivery. `x_penstock_delivery_id` also stands for `X-Service-Delivery-
    Id` and `X-Warp-Delivery-Id`. `none` for a rejection or a handshake, whose identity is not
    read.
    """

    duplicate_of: str | None = None
    """The delivery that was accepted first."""

    http_status: int
    """HTTP status of the response to the sender."""

    runs: list[str]
    """The runs that the delivery started."""

    matches: list[DeliveryMatch]
    """The match result of each automation."""

    replay_of: str | None = None
    """The delivery that this one replays."""

    headers: dict[str, str]
    """Allowed headers of the request, without secrets. Names are in lower case."""

    payload_sha256: str | None = None
    """SHA-256 of the body."""

    event_type: str | None = None
    """The event as the sender names it, in a header or in the payload, such as
    pull_request.opened. Not verified.
    """

    summary: str | None = None
    """The first values of the payload in one line, for people."""

    client_ip: str
    """Client address. Empty for a replay."""


WhenBusy: TypeAlias = Literal["coalesce", "queue", "replace", "parallel"] | str
"""What an event does while a run works on its subject. `coalesce`: events are gathered for one
follow-up after the turn. `queue`: each event has a follow-up of its own, in order. `replace`:
the turn is interrupted, and only the newest event follows; at most once in `longest_wait`.
`parallel`: the event starts a run of its own.
"""

OnHollow: TypeAlias = Literal["alert", "fail", "none"] | str
"""What happens to a run of an automation that is `hollow`. `alert`: it stays SUCCEEDED, and event
endpoints get `run.hollow`. `fail`: it is FAILED with `agent_did_nothing`, which counts for
`pause_after_failures`, and endpoints get `run.failed`. `none`: it stays SUCCEEDED, and
`run.hollow` is not sent. `hollow` and `hollow_reason` of the run are the same in each case.
Other runs are treated as with `alert`.
"""


class Silence(Model):
    """An automation or schedule has started nothing for too long."""

    since: Timestamp
    """Since when a start is overdue."""

    reason: str
    """The same in words, with the last start."""


class FailuresInARow(Model):
    """The runs in a row that failed."""

    since: Timestamp
    """Since when it is paused or degraded."""

    failures: int
    """How many runs failed in a row."""

    last_run_id: str
    """The last one."""

    reason: str
    """The same in words."""


Period: TypeAlias = str
"""A time such as `30s`, `5m` or `14d`, up to `366d`, or 0."""


class Subject(Model):
    """What the events of an automation, or requests for runs, are about, such as a pull request,
    with the run that works on it. One run at most works on a subject at a time.
    """

    uid: str
    """Unique id."""

    subject: str
    """The subject, with the values of the latest event."""

    automation_uid: str | None = None
    """The automation that started the newest run. Absent for requests."""

    factory_uid: str | None = None
    """The factory."""

    webhook_uid: str | None = None
    """The webhook that receives the events."""

    run_id: str | None = None
    """The newest run."""

    run_state: RunState | None = None
    """Its state. Absent if the run is no longer kept."""

    events_count: int
    """How many events came."""

    waiting_count: int
    """How many of them no run has received yet."""

    next_at: Timestamp | None = None
    """When the events that wait start something, at the earliest."""

    closed_at: Timestamp | None = None
    """The time of the event that closed the subject. Absent while it is open."""

    created_at: Timestamp
    """When the first event came."""

    updated_at: Timestamp
    """When the latest event came."""

    events: list[SubjectEvent] | None = None
    """The latest 200 events, newest first. Absent in a list."""


class SubjectEvent(Model):
    """An event that is about a subject, and what became of it."""

    occurrence_uid: str
    """Unique id."""

    kind: Literal["delivery", "call", "dispatch"] | str
    """What it was: a delivery to a webhook, a request for a run, or work for a factory."""

    delivery_id: str | None = None
    """The delivery."""

    webhook_uid: str | None = None
    """The webhook of the delivery."""

    due_at: Timestamp
    """When it came."""

    decided_at: Timestamp | None = None
    """When its fate was decided. Absent while it waits."""

    fate: Fate
    """What became of it."""

    reason: str | None = None
    """Why, in words."""

    run_id: str | None = None
    """The run that has it."""

    followup_id: str | None = None
    """The follow-up that gave it to the run. Absent if it came with the first prompt."""

    automation_uid: str | None = None
    """The automation that waited for the event, if automations of a factory share the subject."""


class ListSubjectsResponse(Model):
    """A page of subjects."""

    subjects: list[Subject]
    """The subjects, newest first."""

    page_info: PageInfo
    """Position in the list."""


class DeliveryMatch(Model):
    """The match result of one automation."""

    automation: str
    """Name."""

    automation_uid: str
    """Unique id."""

    would_trigger: bool
    """Whether the delivery started a run."""

    run_id: str | None = None
    """The run. If the delivery is about a subject: the run that has received it."""

    subject: str | None = None
    """What the delivery is about for the automation."""

    subject_uid: str | None = None
    """Its unique id."""

    fate: Fate | None = None
    """What became of the delivery, if it is about a subject."""

    fate_reason: str | None = None
    """Why, in words."""

    failed_at: str | None = None
    """What failed, if no run started: the JSON pointer of the first key of the filter that failed,
    such as `/data/status` of a payload filter or `/labels` of a `github` or `linear` trigger.
    Empty for the body as a whole, and for another event. `automation` if the automation is
    invalid.
    """

    reason: str | None = None
    """Why no run started: one sentence for people, with the value and what was expected. Names and
    values are between backticks. If the payload is no longer stored, the sentence has no value
    of it. Of several filters, the nearest explains it.
    """

    check: Literal["payload", "event"] | str | None = None
    """What failed: a payload filter, so that `failed_at` points into the payload, or a trigger on
    events of GitHub or Linear.
    """

    operator: Literal["in", "not_in", "exists", "object", "event"] | str | None = None
    """The condition that failed: object, if the filter names keys below the value; event, if the
    trigger waits for other events.
    """

    actual: list[str] | None = None
    """The first values of the delivery, each cut to 60 characters and without control characters.
    An object is {…}, and the value of a key that is named like a secret, such as token, is ***.
    For objects in an array, the values of the one key that the filter tests. Missing if the
    delivery lacks the key, or its payload is no longer stored.
    """

    expected: list[str] | None = None
    """The first values of the condition, shown in the same way; of exists, true or false; of
    object, the keys that the filter names below; of event, the events that start a run.
    """


class ListDeliveriesResponse(Model):
    """A page of a webhook's deliveries."""

    deliveries: list[Delivery]
    """The deliveries, newest first."""

    page_info: PageInfo
    """Position in the list."""


class ListWebhooksResponse(Model):
    """Webhooks."""

    webhooks: list[Webhook]
    """The webhooks."""


BudgetScope: TypeAlias = Literal["team", "factory", "agent", "automation", "key"] | str
"""The runs that share a budget. `team`: all. `factory`, `agent`, `automation`: its runs. `key`:
the runs that an API key has created.
"""

BudgetPeriod: TypeAlias = Literal["day", "week", "month", "total"] | str
"""When a budget starts again at zero, in its time zone. A week begins on Monday. `total`: never. A
call counts in the period in which it was sent.
"""

BudgetAction: TypeAlias = Literal["pause", "refuse"] | str
"""What happens to a run whose next call has no room. `pause`: it is BLOCKED, and continues when
the budget has room. `refuse`: it ends FAILED.
"""


class Budget(Model):
    """A cap on what many runs spend together. Each run can also have a budget of its own, in its
    configuration.
    """

    uid: str
    """Unique id."""

    scope: BudgetScope
    """The runs that share a budget. `team`: all. `factory`, `agent`, `automation`: its runs.
    `key`: the runs that an API key has created.
    """

    scope_uid: str | None = None
    """The factory, agent, automation or key. Absent for `team`."""

    scope_name: str | None = None
    """Its name. Absent for `team`, and if it no longer exists."""

    factory_name: str | None = None
    """The name of the factory that the agent or automation belongs to. Absent without one."""

    period: BudgetPeriod
    """When a budget starts again at zero, in its time zone. A week begins on Monday. `total`:
    never. A call counts in the period in which it was sent.
    """

    time_zone: str
    """IANA time zone."""

    max_cost_usd: float
    """The most that the runs can spend in a period, in US dollars."""

    action: BudgetAction
    """What happens to a run whose next call has no room. `pause`: it is BLOCKED, and continues
    when the budget has room. `refuse`: it ends FAILED.
    """

    notify_at: list[float]
    """Shares of `max_cost_usd` that are reported, lowest first."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When it last changed."""

    period_start: Timestamp | None = None
    """Start of the current period. Absent for `total`."""

    period_end: Timestamp | None = None
    """End of the current period. Absent for `total`."""

    spent_usd: float
    """Cost of the calls in the current period, in US dollars."""

    reserved_usd: float
    """The most that calls in flight can cost, in US dollars. It is not part of `spent_usd`."""


class ListBudgetsResponse(Model):
    """Budgets."""

    budgets: list[Budget]
    """The budgets."""


EventType: TypeAlias = (
    Literal[
        "run.created",
        "run.started",
        "run.blocked",
        "run.stalled",
        "run.hollow",
        "run.succeeded",
        "run.failed",
        "run.errored",
        "run.cancelled",
        "run.budget_threshold",
        "budget.threshold",
        "budget.exceeded",
        "automation.paused",
        "automation.degraded",
        "automation.silent",
        "automation.recovered",
        "definition.applied",
        "definition.rejected",
        "webhook.failing",
        "schedule.missed",
        "worker.lost",
        "endpoint.disabled",
    ]
    | str
)
"""A type of messages to event endpoints."""

MessageType: TypeAlias = (
    Literal[
        "run.created",
        "run.started",
        "run.blocked",
        "run.stalled",
        "run.hollow",
        "run.succeeded",
        "run.failed",
        "run.errored",
        "run.cancelled",
        "run.budget_threshold",
        "budget.threshold",
        "budget.exceeded",
        "automation.paused",
        "automation.degraded",
        "automation.silent",
        "automation.recovered",
        "definition.applied",
        "definition.rejected",
        "webhook.failing",
        "schedule.missed",
        "worker.lost",
        "endpoint.disabled",
        "endpoint.ping",
    ]
    | str
)
"""The type of a message. `endpoint.ping` is sent only on request."""


class Forge(Model):
    """A connection to a host of repositories."""

    uid: str
    """Unique id."""

    name: str
    """Name, unique in the team."""

    provider: ForgeProvider
    """The software of the forge. Forgejo is `gitea`. `gitlab` is not supported yet: it returns
    422.
    """

    url: str
    """URL of the forge, without a slash at its end."""

    auth: Literal["token"] | str
    """How the server authenticates: with the token of a bot account."""

    bot: ForgeBot | None = None
    """The account that a connection acts as."""

    read_token: bool
    """Whether the requests of runs are sent with a token of their own that can only read."""

    factories: list[str] | None = None
    """The factories whose runs may use the connection. Absent for all runs of the team."""

    repositories: list[str] | None = None
    """The repositories that runs may use, as `owner/name` or `owner/*`. Absent for all that the
    bot can read.
    """

    ingress_url: str | None = None
    """The URL to which the forge sends its events."""

    secret: str | None = None
    """The secret with which the forge signs them. Only the responses that create one have it."""

    status: ForgeStatus
    """`pending`: the forge has not answered yet. `connected`: the last check found nothing
    missing. `degraded`: a permission is missing, the token expires within 14 days, or the forge
    does not answer. `revoked`: the forge refuses the token, and runs that need the connection
    fail.
    """

    problem: str | None = None
    """Why it is not `connected`."""

    expires_at: Timestamp | None = None
    """When the token expires, if the forge says so."""

    checked_at: Timestamp | None = None
    """When the forge last answered a check."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When somebody last changed it."""


ForgeProvider: TypeAlias = Literal["github", "gitea", "gitlab"] | str
"""The software of the forge. Forgejo is `gitea`. `gitlab` is not supported yet: it returns 422."""

ForgeStatus: TypeAlias = Literal["pending", "connected", "degraded", "revoked"] | str
"""`pending`: the forge has not answered yet. `connected`: the last check found nothing missing.
`degraded`: a permission is missing, the token expires within 14 days, or the forge does not
answer. `revoked`: the forge refuses the token, and runs that need the connection fail.
"""


class ForgeBot(Model):
    """The account that a connection acts as."""

    login: str
    """Its name."""

    id: int
    """Its number on the forge."""

    email: str | None = None
    """Its address, if the forge shows it."""


class ForgeRepository(Model):
    """A repository of a forge."""

    id: int
    """Its number on the forge."""

    path: str
    """Its path, `owner/name`."""

    url: str
    """The URL that git clones."""

    default_branch: str | None = None
    """Its default branch."""

    private: bool
    """Whether only some can read it."""

    archived: bool
    """Whether nobody can write to it."""

    writable: bool
    """Whether the bot can push to it."""


class ForgeCheck(Model):
    """One thing that a connection needs."""

    name: str
    """What it is, such as `write:repository`."""

    passed: bool
    """Whether the connection has it."""

    detail: str | None = None
    """What is missing."""


class ForgeChecked(Model):
    """The result of a check."""

    forge: Forge
    """A connection to a host of repositories."""

    checks: list[ForgeCheck]
    """What was checked."""


class ListForgesResponse(Model):
    """Connections."""

    forges: list[Forge]
    """The connections."""


class ListForgeRepositoriesResponse(Model):
    """Repositories of a connection."""

    repositories: list[ForgeRepository]
    """The repositories."""

    truncated: bool
    """Whether there are more than are listed."""


class EventEndpoint(Model):
    """A receiver of messages about events."""

    uid: str
    """Unique id."""

    url: str
    """The complete URL in the response that creates the endpoint, and later its origin."""

    events: list[EventType]
    """The types of messages. If it is empty, all types."""

    factory_uids: list[str] | None = None
    """Only events of these factories. Absent for all events."""

    description: str | None = None
    """A note for people."""

    enabled: bool
    """Whether messages are written and sent."""

    disabled_reason: str | None = None
    """Why the server disabled the endpoint."""

    format: EndpointFormat
    """How messages are written: signed as Standard Webhooks describe, as a line of text for an
    incoming webhook of Slack, Mattermost or a compatible receiver, or posted by a Slack app, so
    that people can answer in Slack.
    """

    secrets: list[EndpointSecret]
    """The valid secrets, newest first. Only of the format `standard`."""

    created_at: Timestamp
    """When it was created."""

    updated_at: Timestamp
    """When it last changed."""

    stats: EndpointStats
    """What became of the messages of the last 7 days."""

    channel: str | None = None
    """The channel of Slack. Only of the format `slack_app`."""

    may_answer: list[str] | None = None
    """The ids of the Slack users whose clicks count. Absent if nobody may answer. Only of the
    format `slack_app`.
    """

    interactivity_url: str | None = None
    """The Request URL for the interactivity of the Slack app, to which Slack sends clicks. Only of
    the format `slack_app`.
    """


EndpointFormat: TypeAlias = Literal["standard", "slack", "slack_app"] | str
"""How messages are written: signed as Standard Webhooks describe, as a line of text for an
incoming webhook of Slack, Mattermost or a compatible receiver, or posted by a Slack app, so
that people can answer in Slack.
"""


class EndpointSecret(Model):
    """A secret that signs messages."""

    secret: str | None = None
    """The secret, `whsec_…`. Only in the response that creates it."""

    created_at: Timestamp
    """When it was created."""

    expires_at: Timestamp | None = None
    """Until when it signs messages, if it was replaced."""


class EndpointStats(Model):
    """What became of the messages of the last 7 days."""

    waiting: int
    """Messages that wait for an attempt."""

    delivered: int
    """Messages that were delivered."""

    failed: int
    """Messages whose last attempt failed."""

    last_success_at: Timestamp | None = None
    """When an attempt last succeeded."""

    last_failure_at: Timestamp | None = None
    """When an attempt last failed."""

    failing_since: Timestamp | None = None
    """When attempts began to fail, if none has succeeded since. After 5 days, the server disables
    the endpoint.
    """

    waits_until: Timestamp | None = None
    """Until when nothing is sent, because the endpoint asked for it with `Retry-After`."""


class ListEventEndpointsResponse(Model):
    """Event endpoints."""

    endpoints: list[EventEndpoint]
    """The event endpoints."""


class EndpointMessageSent(Model):
    """A message that waits to be sent."""

    message_id: str
    """Its header `webhook-id`."""


class EndpointMessagesReplayed(Model):
    """What is sent again."""

    messages: int
    """How many messages."""


class EndpointAttempt(Model):
    """One request to an event endpoint."""

    uid: str
    """Unique id."""

    message_id: str
    """The header `webhook-id`, the same for each attempt."""

    type: MessageType
    """The type of a message. `endpoint.ping` is sent only on request."""

    at: Timestamp
    """When it ended."""

    attempt: int
    """The number of the attempt since the message was written or replayed."""

    http_status: int | None = None
    """The status of the answer. Absent without an answer."""

    succeeded: bool
    """Whether the status is from 200 to 299, and Slack did not refuse the message."""

    error: str | None = None
    """Why there is no answer, or what a refusal of Slack means."""

    answer: str | None = None
    """The first KiB of the answer, masked. Absent for a private address."""

    took_ms: int | None = None
    """Its duration in milliseconds. Absent for a private address."""

    next_attempt_at: Timestamp | None = None
    """When the next attempt follows, if this one failed and was not the last."""


class ListEndpointAttemptsResponse(Model):
    """A page of attempts."""

    attempts: list[EndpointAttempt]
    """The attempts."""

    page_info: PageInfo
    """Position in a paginated list."""


class EventMessage(Model):
    """The body of a message. It says where to read what it is about, and nothing of what a run
    says or was given.
    """

    type: MessageType
    """The type of a message. `endpoint.ping` is sent only on request."""

    timestamp: Timestamp
    """When it happened."""

    data: EventMessageData
    """What a message is about."""


class EventMessageData(Model):
    """What a message is about."""

    run_id: str | None = None
    """The run."""

    state: RunState | None = None
    """The state of the run, at that time."""

    sequence: int | None = None
    """Orders the messages of a run: later events have larger numbers."""

    factory_uid: str | None = None
    """The factory."""

    automation_uid: str | None = None
    """The automation."""

    commit: str | None = None
    """The commit of the repository, if the factory's files come from one."""

    revision: int | None = None
    """The revision of the factory's files that is active now. Absent if it is 0, because none was
    applied yet.
    """

    webhook_uid: str | None = None
    """The webhook."""

    schedule_id: str | None = None
    """The schedule."""

    budget_uid: str | None = None
    """The budget."""

    notify_at: float | None = None
    """The share of the budget that was reached."""

    endpoint_uid: str | None = None
    """The event endpoint."""

    url: str
    """The address in the API of what the message is about."""


class EventTypeInfo(Model):
    """A type of messages."""

    type: MessageType
    """The type of a message. `endpoint.ping` is sent only on request."""

    description: str
    """When it is sent."""

    example: EventMessage
    """The body of a message. It says where to read what it is about, and nothing of what a run
    says or was given.
    """


class ListEventTypesResponse(Model):
    """The types of messages."""

    event_types: list[EventTypeInfo]
    """The types."""


class UsageSum(Model):
    """A sum of calls to models."""

    calls: int
    """Number of settled calls. The sums below cover these calls, unless they say otherwise."""

    input_tokens: int
    """Input tokens, without those of the cache."""

    output_tokens: int
    """Output tokens, with those of reasoning."""

    cache_read_tokens: int
    """Input tokens read from the provider's cache."""

    cache_write_tokens: int
    """Input tokens written to the provider's cache."""

    reasoning_tokens: int
    """The part of `output_tokens` that is reasoning."""

    cost_usd: float | None
    """Cost in US dollars. Null if a model has no price."""

    priced_cost_usd: float
    """Cost of the calls whose model has a price, in US dollars."""

    unpriced_calls: int
    """Calls whose model has no price."""

    estimated_calls: int
    """Interrupted calls. They count with the known usage, plus an upper bound for the rest."""

    unknown_calls: int
    """Calls whose usage never arrived. The reserved amount counts as spent."""

    unsettled_calls: int
    """Calls that are not settled yet."""

    reserved_usd: float
    """The most that unsettled calls can cost, in US dollars."""


class UsageRow(Model):
    """The usage of one day, model, provider, automation, agent, factory or key."""

    key: str
    """A day such as `2026-02-01`, a provider, `provider/model`, or a uid. Empty for calls without
    one.
    """

    name: str | None = None
    """Name of the uid. Absent if it is not known."""

    factory_name: str | None = None
    """The name of the factory that the agent or automation belongs to. Absent without one."""

    calls: int
    """Number of settled calls. The sums below cover these calls, unless they say otherwise."""

    input_tokens: int
    """Input tokens, without those of the cache."""

    output_tokens: int
    """Output tokens, with those of reasoning."""

    cache_read_tokens: int
    """Input tokens read from the provider's cache."""

    cache_write_tokens: int
    """Input tokens written to the provider's cache."""

    reasoning_tokens: int
    """The part of `output_tokens` that is reasoning."""

    cost_usd: float | None
    """Cost in US dollars. Null if a model has no price."""

    priced_cost_usd: float
    """Cost of the calls whose model has a price, in US dollars."""

    unpriced_calls: int
    """Calls whose model has no price."""

    estimated_calls: int
    """Interrupted calls. They count with the known usage, plus an upper bound for the rest."""

    unknown_calls: int
    """Calls whose usage never arrived. The reserved amount counts as spent."""

    unsettled_calls: int
    """Calls that are not settled yet."""

    reserved_usd: float
    """The most that unsettled calls can cost, in US dollars."""


class HourlyCosts(Model):
    """Costs by the hour in which the calls were sent. The first hour begins at `from`. Calls whose
    model has no price are not included.
    """

    rows: list[HourlyCost]
    """The first 8 rows of the report, in the same order."""

    other: list[float]
    """Costs of all other rows in US dollars, one for each hour."""


class HourlyCost(Model):
    """The costs of one row by the hour."""

    key: str
    """The row's `key`."""

    cost_usd: list[float]
    """Costs in US dollars, one for each hour."""


class UsageReport(Model):
    """What the runs of a team have used."""

    from_: Timestamp = Field(alias="from")
    """First time that counts."""

    to: Timestamp
    """First time that no longer counts."""

    group_by: Literal["day", "model", "provider", "automation", "agent", "factory", "key"] | str
    """How to group the calls into rows."""

    time_zone: str
    """IANA time zone of the days."""

    rows: list[UsageRow]
    """The rows."""

    omitted_rows: int
    """Number of further rows."""

    total: UsageSum
    """The sum of all rows, also of omitted ones."""

    hourly: HourlyCosts | None = None
    """Only with `interval=hour`."""


class RunUsage(Model):
    """What a run has used."""

    models: list[UsageRow]
    """The usage by model, highest cost first."""

    total: UsageSum
    """The sum of all models."""

    budget: RunBudgetUsage | None = None
    """The run's own budget. Absent if it has none."""


class HarnessUsage(Model):
    """What a run of Claude Code or Codex has used."""

    run_id: str
    """Id of the run."""

    conversation_id: str
    """Id of its conversation."""

    available: bool
    """Whether there is usage."""

    age_seconds: int | None = None
    """Seconds since `capturedAt`."""

    usage: HarnessUsageState | None = None
    """The usage after the latest call that was settled. Absent if it is not available."""


class HarnessUsageState(Model):
    """The usage after the latest call that was settled. Absent if it is not available."""

    harness: Literal["CLAUDE_CODE", "CODEX"] | str
    """The agent."""

    execution_id: int = Field(alias="executionId")
    """The latest execution that made a call."""

    capture_sequence: int = Field(alias="captureSequence")
    """The number of settled calls. It only grows."""

    captured_at: datetime = Field(alias="capturedAt")
    """When the latest call was settled."""

    metrics_version: int = Field(alias="metricsVersion")
    """Version of this format."""

    snapshot: HarnessUsageSnapshot
    """The usage of all executions."""


class HarnessUsageSnapshot(Model):
    """The usage of all executions."""

    coverage: HarnessUsageCoverage
    """Which metrics are known."""

    payload: HarnessUsagePayload
    """The sum, and the part of each model."""


class HarnessUsageCoverage(Model):
    """Which metrics are known."""

    token_status: Literal["known", "partial", "unavailable"] | str = Field(alias="tokenStatus")
    """`partial` if some calls are estimated or in flight."""

    tool_status: Literal["known", "partial", "unavailable"] | str = Field(alias="toolStatus")
    """Always `unavailable`: calls of tools are in the conversation."""


class HarnessUsagePayload(Model):
    """The sum, and the part of each model."""

    usage: HarnessTokens
    """The sum."""

    attribution: list[HarnessUsageOfModel]
    """The usage by model."""


class HarnessUsageOfModel(Model):
    """What the calls to one model have used."""

    model: str
    """The model."""

    usage: HarnessTokens
    """Its tokens."""


class HarnessTokens(Model):
    """Tokens, as the agent's provider counts them."""

    input_tokens: int
    """Input tokens. Claude Code: without those of the cache. Codex: with them."""

    output_tokens: int
    """Output tokens, including those of reasoning."""

    cache_read_input_tokens: int | None = None
    """Claude Code only. Tokens read from the cache."""

    cache_creation_input_tokens: int | None = None
    """Claude Code only. Tokens written to the cache."""

    cached_input_tokens: int | None = None
    """Codex only. The part of the input that was read from the cache."""

    cache_write_input_tokens: int | None = None
    """Codex only. The part of the input that was written to the cache."""

    reasoning_output_tokens: int | None = None
    """Codex only. The part of the output that is reasoning."""

    total_tokens: int | None = None
    """Codex only. Input and output."""


class RunBudgetUsage(Model):
    """The run's own budget. Absent if it has none."""

    max_cost_usd: float | None = None
    """Cap on the cost, in US dollars. Absent if there is no cap."""

    spent_usd: float
    """Cost of the run and the runs below it, in US dollars."""

    reserved_usd: float
    """The most that their unsettled calls can cost, in US dollars."""

    max_total_tokens: int | None = None
    """Cap on tokens. Absent if there is no cap."""

    spent_tokens: int
    """Tokens of the run and the runs below it."""

    reserved_tokens: int
    """The most tokens of their unsettled calls."""


class ModelCall(Model):
    """One call to a model."""

    id: str
    """Unique id."""

    execution_id: int
    """Number of the execution that made it."""

    provider: str
    """The provider."""

    model: str
    """The model."""

    state: Literal["reserved", "settled", "unsent"] | str
    """`reserved`: it may be in flight, and its amounts are upper bounds. `settled`: its usage is
    known. `unsent`: it never reached the provider and cost nothing.
    """

    created_at: Timestamp
    """When it was sent."""

    settled_at: Timestamp | None = None
    """When it was settled."""

    input_tokens: int
    """Input tokens, without those of the cache."""

    output_tokens: int
    """Output tokens, with those of reasoning."""

    cache_read_tokens: int
    """Input tokens read from the provider's cache."""

    cache_write_tokens: int
    """Input tokens written to the provider's cache."""

    reasoning_tokens: int
    """The part of `output_tokens` that is reasoning."""

    cost_usd: float | None
    """Cost in US dollars. Null if the model has no price."""

    estimated: bool
    """Whether it was interrupted. It then counts with the known usage, plus an upper bound for the
    rest.
    """

    unknown: bool
    """Whether its usage never arrived. The reserved amount then counts as spent."""


class ListRunCallsResponse(Model):
    """A page of calls."""

    calls: list[ModelCall]
    """The calls."""

    page_info: PageInfo
    """Position in a paginated list."""


class Key(Model):
    """An API key."""

    uid: str
    """Unique id."""

    name: str
    """Purpose."""

    scopes: list[KeyScope]
    """Scopes of the key."""

    prefix: str
    """First characters of the key, to tell keys apart."""

    owner: RunCreatorInfo
    """The user or service account that the key acts as."""

    agent_uid: str | None = None
    """The agent that the key acts as, if it belongs to one."""

    created_at: Timestamp
    """When it was created."""

    expires_at: Timestamp | None = None
    """When it expires."""

    last_used_at: Timestamp | None = None
    """When the key was last used, accurate to about a minute."""

    sign_in: bool | None = None
    """Whether it stands for the sessions of a user who signs in at an identity provider. Nobody
    has its secret.
    """

    key: Annotated[str | None, Field(repr=False)] = None
    """The key. Only in the response that creates it."""


class ListKeysResponse(Model):
    """Keys."""

    keys: list[Key]
    """The keys."""


class Me(Model):
    """The caller."""

    team: str
    """Unique id of the team."""

    actor: RunCreatorInfo
    """The caller."""

    scopes: list[KeyScope]
    """Scopes of the caller."""

    grants: list[MyGrant] | None = None
    """The roles of the caller. Absent for agents."""

    key_uid: str | None = None
    """The key of the request."""

    run_id: str | None = None
    """The run, for the key of an execution."""


class MyGrant(Model):
    """A role of the caller."""

    role: MemberRole
    """The role."""


MemberRole: TypeAlias = Literal["viewer", "user", "editor", "admin"] | str
"""A set of scopes. `viewer`: `runs:read` and `factories:read`. `user`: also `runs:write`.
`editor`: also `factories:manage` and `secrets:use`. `admin`: all.
"""


class Member(Model):
    """A user or service account. What a key of it may do is what both the scopes of the key and
    the roles of its owner allow, at the time of the request.
    """

    uid: str
    """Unique id."""

    type: Literal["user", "service_account"] | str
    """Whether it is a person or a program."""

    display_name: str
    """Name, as others see it."""

    email: str | None = None
    """Address of a person. It identifies nobody."""

    issuer: str | None = None
    """The identity provider of a person who signs in."""

    subject: str | None = None
    """The id of the person there (`sub`)."""

    groups: list[str] | None = None
    """Groups of the person, as the identity provider has named them last."""

    signed_in_at: datetime | None = None
    """When the person last signed in at the identity provider."""

    disabled_at: datetime | None = None
    """When it was disabled. Absent: it is enabled."""

    created_at: datetime
    """When it was created."""

    roles: list[MemberRole]
    """Its roles, and the roles of its groups."""


class ListUsersResponse(Model):
    """Users."""

    users: list[Member]
    """The users."""


class ListServiceAccountsResponse(Model):
    """Service accounts."""

    service_accounts: list[Member]
    """The service accounts."""


GrantSubjectType: TypeAlias = Literal["user", "group", "service_account"] | str
"""To whom a role is granted. A group is one of the identity provider."""


class Grant(Model):
    """A role of a user, a service account or a group. Grants add up; none of them takes anything
    away.
    """

    uid: str
    """Unique id."""

    subject_type: GrantSubjectType
    """To whom."""

    subject: str
    """The uid of the user or service account, or the name of the group."""

    role: MemberRole
    """The role."""

    created_at: datetime | None = None
    """When it was granted. Absent for a grant of the configuration."""

    created_by: RunCreatorInfo | None = None
    """By whom. Absent: by the configuration, or by an upgrade, because before it everybody was an
    admin.
    """

    provider: str | None = None
    """The identity provider whose group has the role by the configuration of the server, which
    alone can change it. The subject may be a pattern.
    """


class ListGrantsResponse(Model):
    """Grants."""

    grants: list[Grant]
    """The grants."""


class Session(Model):
    """A session of the dashboard."""

    team: str
    """Unique id of the team."""

    actor: RunCreatorInfo
    """The signed-in caller."""

    scopes: list[KeyScope]
    """Scopes of the session."""

    key_uid: str
    """The key that created the session, or the key of the user's sign-ins."""

    principal_uid: str | None = None
    """The user, service account or agent that the key belongs to."""

    secret: str | None = None
    """Send it as `X-Penstock-Session-Secret` with the cookie. Only in the response that creates
    the session.
    """

    return_to: str | None = None
    """The page where a sign-in at an identity provider began. Only in the response that creates
    the session.
    """

    expires_at: datetime
    """When the session expires, even if it is in use."""

    idle_seconds: int
    """Seconds without a request after which the session expires."""


class SignInProvider(Model):
    """An identity provider."""

    name: str
    """Its name in the configuration of the server."""


class ListSignInProvidersResponse(Model):
    """Identity providers."""

    providers: list[SignInProvider]
    """The providers, in the order of the configuration."""


class SignInStart(Model):
    """A sign-in that has begun."""

    authorization_url: str
    """Where the browser goes next."""

    expires_at: Timestamp
    """When the answer of the identity provider is refused."""


class Stats(Model):
    """Statistics of the last hours."""

    since: Timestamp
    """Start of the first hour."""

    until: Timestamp
    """Current time."""

    hours: list[HourStats]
    """The hours, earliest first. The last one is incomplete."""

    factories: list[FactoryStats]
    """The factories with the highest costs, highest first."""

    capacity: Capacity
    """Capacity of the connected workers."""


class HourStats(Model):
    """Statistics of one hour."""

    start: Timestamp
    """When it started."""

    runs: dict[str, int]
    """Number of runs created in the hour, by current state. States without runs are omitted."""

    queue_wait: QueueWait
    """Queue time of runs created in the hour, until a worker first claimed them. Runs that still
    wait are not counted.
    """

    deliveries: HourDeliveries | None = None
    """Deliveries of one hour to existing webhooks, by outcome."""


class QueueWait(Model):
    """Queue time of runs created in the hour, until a worker first claimed them. Runs that still
    wait are not counted.
    """

    runs: int
    """Number of claimed runs."""

    mean_seconds: float
    """Average queue time in seconds."""

    max_seconds: float
    """Maximum queue time in seconds."""


class HourDeliveries(Model):
    """Deliveries of one hour to existing webhooks, by outcome."""

    accepted: int
    """Accepted deliveries."""

    duplicate: int
    """Duplicates of accepted deliveries."""

    rejected: int
    """Deliveries that were not authenticated, not JSON, or too large."""

    rate_limited: int
    """Deliveries beyond the rate limit."""

    turned_away: int | None = None
    """Requests while the webhook was disabled or suspended, or waited for its secret. They got
    404, and nothing of them was checked or stored.
    """


class FactoryStats(Model):
    """Statistics of one factory, or of runs without a factory."""

    factory_uid: str | None = None
    """The factory. Absent for runs without one."""

    factory_name: str | None = None
    """Name."""

    runs: int
    """Number of runs."""

    cost_usd: float
    """Cost of the models in US dollars, as far as prices are known."""


class Capacity(Model):
    """Capacity of the connected workers."""

    slots: int
    """Maximum number of runs that all workers execute at once."""

    busy: int
    """Number of runs that they execute now."""

    server_slots: int
    """The part of `slots` in workers inside servers."""

    server_busy: int
    """The part of `busy` in workers inside servers."""

    queued: int
    """Number of queued runs of the team."""


class Limits(Model):
    """Limits. 0 means no limit."""

    requests_per_minute: int
    """Requests of one key per minute."""

    validations_per_minute: int
    """Validations of factory files per minute from one address without a key."""

    request_body_bytes: int
    """Size of a JSON body in bytes, without attachments."""

    configuration_bytes: int
    """Size in bytes, as JSON, of a run's configuration, of the configuration in a resource that
    creates runs, and of an environment.
    """

    attachments_per_run: int
    """Number of attachments in one request."""

    attachment_bytes: int
    """Total size of the attachments in one request, in bytes, decoded."""

    artifact_bytes: int
    """Size of one file of a run, in bytes."""

    run_artifact_bytes: int
    """Total size of all files of a run, in bytes."""

    run_depth: int
    """Levels in a tree of runs."""

    metadata_keys: int
    """Number of keys in a run's metadata."""

    page_size: int
    """Maximum `limit` of a list."""

    page_bytes: int
    """Size in bytes of a page of runs as JSON. A page that reaches it ends early, with at least
    one run.
    """

    listed_prompt_bytes: int
    """Size in bytes of a prompt in a list of runs. A longer prompt is shortened."""

    idempotency_seconds: int
    """Seconds that an `Idempotency-Key` is stored."""

    signed_link_seconds: int
    """Seconds until a signed link expires."""

    queue_timeout_seconds: int
    """Seconds that a run can wait in the queue. Beyond it the run ends ERROR."""

    run_retention_seconds: int
    """Seconds that a run is kept after it has ended and no longer changes."""

    secrets_per_team: int
    """Number of managed secrets in a team."""

    secret_value_bytes: int
    """Size of a secret's value in bytes."""

    webhooks_per_factory: int
    """Number of webhooks in a factory."""

    delivery_bytes: int
    """Size of a delivery's body in bytes."""

    deliveries_per_minute: int
    """Deliveries that one webhook accepts in any 60 seconds."""

    auth_failures_per_address: int
    """Failed authentications of one client address at one webhook per minute."""

    auth_failures_per_webhook: int
    """Failed authentications at one webhook that are logged per minute."""

    logged_rejections: int
    """Rejected deliveries of one webhook and outcome that are logged per minute."""

    kept_deliveries: int
    """Number of newest deliveries of each outcome that are always kept."""

    delivery_retention_seconds: int
    """Seconds that all deliveries are kept."""

    dedup_body_seconds: int
    """Seconds in which an identical body is a duplicate, if nothing else identifies deliveries."""

    server_version: str | None = None
    """The version of this server."""


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
"""An artifact of a run."""

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
"""An artifact with its content or a link to it."""
