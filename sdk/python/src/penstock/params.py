# Made from api/openapi.yaml by generate/ (make generate). Do not edit.
"""What calls take, as typed dictionaries. A key that is left out is not sent; None is sent as null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

from pydantic import InstanceOf, with_config
from typing_extensions import Required, TypedDict

from . import types
from ._options import STRICT, Base64, Options, PostOptions

__all__ = [
    "Agent",
    "AgentMemory",
    "AgentMemoryAutoMemory",
    "AmbientAgentConfig",
    "AmbientAgentConfigBudget",
    "AmbientAgentConfigInferenceProviders",
    "AmbientAgentConfigInferenceProvidersAws",
    "AmbientAgentConfigSessionSharing",
    "ApplyDefinitionParams",
    "ApplyDefinitionRequest",
    "ArtifactType",
    "AssignKeyParams",
    "AssignKeyRequest",
    "Attachment",
    "BeginSignInParams",
    "BeginSignInRequest",
    "BudgetPeriod",
    "BudgetScope",
    "CancelRunParams",
    "CatchUp",
    "CloudEnvironmentConfig",
    "CreateAgentParams",
    "CreateArtifactRequest",
    "CreateArtifactRequestData",
    "CreateAutomationParams",
    "CreateAutomationRequest",
    "CreateBudgetParams",
    "CreateBudgetRequest",
    "CreateEnvironmentParams",
    "CreateEventEndpointParams",
    "CreateEventEndpointRequest",
    "CreateFactoryParams",
    "CreateFactoryRequest",
    "CreateForgeParams",
    "CreateForgeRequest",
    "CreateGrantParams",
    "CreateGrantRequest",
    "CreateKeyParams",
    "CreateKeyRequest",
    "CreateRunArtifactParams",
    "CreateRunArtifactUploadParams",
    "CreateRunParams",
    "CreateScheduleParams",
    "CreateSecretParams",
    "CreateSecretRequest",
    "CreateServiceAccountParams",
    "CreateServiceAccountRequest",
    "CreateSessionParams",
    "CreateSessionRequest",
    "CreateUserParams",
    "CreateUserRequest",
    "CreateWebhookParams",
    "CreateWebhookRequest",
    "CronTrigger",
    "DeclareOutputRequest",
    "DeclareRunOutputParams",
    "DispatchRequest",
    "DispatchToFactoryParams",
    "EndpointFormat",
    "EventType",
    "ExecutionLocation",
    "FactoryRepository",
    "Fate",
    "FindRunByExternalReferenceParams",
    "FollowUpConversationParams",
    "FollowUpRunParams",
    "FollowupAttachment",
    "FollowupPolicy",
    "FollowupSettings",
    "ForgeProvider",
    "ForgeSettings",
    "ForkRunParams",
    "ForkRunRequest",
    "GetNetworkPolicyParams",
    "GetStatsParams",
    "GetUsageParams",
    "GitHubRepo",
    "GitRepo",
    "GrantSubjectType",
    "Harness",
    "KeyScope",
    "ListAgentSkillsParams",
    "ListAgentsParams",
    "ListDeliveriesParams",
    "ListEnvironmentsParams",
    "ListEventEndpointAttemptsParams",
    "ListFactoriesParams",
    "ListForgeDeliveriesParams",
    "ListOccurrencesParams",
    "ListOutputsParams",
    "ListRevisionsParams",
    "ListRunCallsParams",
    "ListRunsParams",
    "ListSubjectsParams",
    "ListedFile",
    "MCPServerConfig",
    "MemberRole",
    "MemoryStoreRef",
    "ModelPolicy",
    "Network",
    "NetworkCredential",
    "NetworkRule",
    "OccurrenceKind",
    "OnHollow",
    "OutputBounds",
    "OutputKind",
    "OutputLimits",
    "OutputPolicy",
    "OutputSettings",
    "OutputState",
    "Overlap",
    "PathProtection",
    "Prebuild",
    "PrepareAttachment",
    "PrepareAttachmentsParams",
    "PrepareAttachmentsRequest",
    "PrepareConversationAttachmentsParams",
    "PreviewScheduleTimesParams",
    "PullRequestSettings",
    "PushBounds",
    "PushLimits",
    "PushPolicy",
    "PushSettings",
    "ReplayEventEndpointMessagesParams",
    "ReplayEventEndpointRequest",
    "RewindRunParams",
    "RewindRunRequest",
    "RotateEventEndpointSecretParams",
    "RotateEventEndpointSecretRequest",
    "RotateForgeSecretParams",
    "RotateForgeSecretRequest",
    "RotateSecretRequest",
    "RotateWebhookSecretParams",
    "RunAgentRequest",
    "RunAutomationParams",
    "RunFollowupRequest",
    "RunMode",
    "RunRepository",
    "RunSourceFilter",
    "RunState",
    "Schedule",
    "SecretRef",
    "SecretRefresh",
    "SendTestDeliveryParams",
    "SetSecretParams",
    "SetSecretRequest",
    "Signature",
    "SignatureScheme",
    "StreamRunEventsParams",
    "TestDeliveryRequest",
    "TestFilterParams",
    "TestFilterRequest",
    "Trigger",
    "UpdateAgent",
    "UpdateAgentParams",
    "UpdateAutomationParams",
    "UpdateAutomationRequest",
    "UpdateBudgetParams",
    "UpdateBudgetRequest",
    "UpdateEnvironmentParams",
    "UpdateEventEndpointParams",
    "UpdateEventEndpointRequest",
    "UpdateFactoryParams",
    "UpdateFactoryRequest",
    "UpdateForgeParams",
    "UpdateForgeRequest",
    "UpdateMemberRequest",
    "UpdateRunParams",
    "UpdateRunRequest",
    "UpdateRunRequestConfig",
    "UpdateRunRequestConfigBudget",
    "UpdateSchedule",
    "UpdateScheduleParams",
    "UpdateServiceAccountParams",
    "UpdateUserParams",
    "UpdateWebhookParams",
    "UpdateWebhookRequest",
    "UploadArtifactRequest",
    "UploadAttachmentParams",
    "ValidateFactoryFilesParams",
    "ValidateFilesRequest",
    "VerifyWebhookRequest",
    "VerifyWebhookRequestParams",
    "WebhookAuthMode",
    "WhenBusy",
]


@with_config(STRICT)
class RunAgentRequest(TypedDict, total=False):
    """A request to create a run. One of `prompt`, `skill`, `config.skill_spec`, `config.skills`
    and `conversation_id` is required.
    """

    prompt: str
    """The task for the agent."""

    title: str
    """Title in lists. Defaults to the first line of the prompt, cut at a word, at most 80
    characters.
    """

    config: AmbientAgentConfig | InstanceOf[types.AmbientAgentConfig]

    skill: str
    """The skill to run, in the format of `config.skill_spec`. Takes precedence over it."""

    mode: RunMode

    conversation_id: str
    """The conversation to continue."""

    attachments: Sequence[Attachment]
    """Files that the agent finds in `.penstock/attachments/` of its workspace. At most 25 MB in
    total.
    """

    agent_identity_uid: str
    """The agent to run as. Its configuration provides the defaults for `config`. The uid of a
    foreman dispatches the run to its factory.
    """

    on_behalf_of: str
    """The uid of the user to run for. Only for admins and for agents with `on_behalf_of_enabled`;
    others get 403.
    """

    parent_run_id: str
    """The parent run. At most 8 levels deep."""

    interactive: bool
    """Whether the session stays open for follow-ups, for `config.idle_timeout_minutes` after each
    turn.
    """

    team: bool
    """Whether the team sees the run. Only its creator and admins see a personal run."""

    subject: str
    """What the run is about, such as `acme/shop#7`, without placeholders. One run at most works on
    a subject of the caller at a time: while one works, or for 14 days after its success, a
    request with the same subject reaches that run, and its configuration is ignored. Not with
    `attachments`, `conversation_id`, `parent_run_id` or a personal run, unless `when_busy` is
    `parallel`.
    """

    when_busy: WhenBusy
    """What the request does while a run works on its subject. `coalesce` by default. Needs
    `subject`.
    """

    metadata: Mapping[str, str]

    attempts: int
    """How many runs to create, in one fork group. Default: one for each of `configs`, or else a
    single run without a group. Not with `subject` or `conversation_id`.
    """

    configs: Sequence[AmbientAgentConfig | InstanceOf[types.AmbientAgentConfig]]
    """Values for each of the attempts that replace those of `config`, one for each. `{}` replaces
    none. Not with `subject` or `conversation_id`.
    """


RunMode: TypeAlias = Literal["normal", "plan", "orchestrate"]
"""`plan` and `orchestrate` tell the agent to plan first and ask. The run is then BLOCKED until a
follow-up replies.
"""


@with_config(STRICT)
class Attachment(TypedDict, total=False):
    """A file to send to the agent."""

    file_name: Required[str]
    """File name, without folders."""

    mime_type: Required[str]
    """Media type."""

    data: Required[Base64]
    """Content in base64."""


@with_config(STRICT)
class RunFollowupRequest(TypedDict, total=False):
    """A message to the agent of a run."""

    message: str
    """The message. Can be empty only with attachments, or to continue a saved conversation."""

    mode: RunMode

    attachments: Sequence[FollowupAttachment]
    """Files for the agent: at most 25, of which at most 5 include their content, with 25 MiB in
    total.
    """


@with_config(STRICT)
class FollowupAttachment(TypedDict, total=False):
    """A file of a follow-up. Set either `attachment_id`, or `file_name`, `mime_type` and `data`."""

    attachment_id: str
    """The id of a file that was prepared for this run and uploaded, or that another of its follow-
    ups included.
    """

    file_name: str
    """File name, without folders. With `attachment_id`, replaces the name of the uploaded file."""

    mime_type: str
    """Media type."""

    data: Base64
    """Content in base64."""


OutputKind: TypeAlias = Literal["pr", "comment"]
"""The kind of an output."""

OutputState: TypeAlias = Literal["declared", "held", "queued", "done", "failed", "discarded"]
"""How far an output is: `declared` until its turn ends, `held` until a person releases it (the
outputs of forks, and all with `approval: always`), `queued` while it is done or waits for the
forge, and then `done`, `failed` or `discarded`.
"""


@with_config(STRICT)
class DeclareOutputRequest(TypedDict, total=False):
    """What an agent declares."""

    kind: Required[OutputKind]
    """What it is."""

    repository: str
    """The repository, as owner/name. Needed if the run has several with a connection."""

    title: str
    """The title of a pull request, in one line."""

    body: str
    """The text, in Markdown."""

    branch: str
    """A branch that the run has pushed. Default: the last one."""

    base: str
    """A branch that `forge.outputs.pullRequest.base` of the run allows, which is the ref of the
    repository in the run or its default branch without settings. Default: the first of the two
    that there is.
    """

    draft: bool
    """Whether a new pull request is a draft. By default what `forge.outputs.pullRequest.draft` of
    the run says, or `true`.
    """


@with_config(STRICT)
class ForkRunRequest(TypedDict, total=False):
    """How to fork a run."""

    turn: int
    """The turn to begin from. Default: the last one that ended."""

    prompt: Required[str]
    """What the agents should do next."""

    count: int
    """How many runs to begin."""

    config: AmbientAgentConfig | InstanceOf[types.AmbientAgentConfig]
    """Values that replace those of the configuration of the run."""

    title: str
    """The title of the new runs. Default: that of the run."""


@with_config(STRICT)
class RewindRunRequest(TypedDict, total=False):
    """Where to go back to."""

    turn: Required[int]
    """The turn whose files and conversation the next turn has."""

    prompt: str
    """The next message to the agent. Default: none; the run waits for a follow-up."""


@with_config(STRICT)
class PrepareAttachmentsRequest(TypedDict, total=False):
    """Files to upload."""

    files: Required[Sequence[PrepareAttachment]]
    """The files."""


@with_config(STRICT)
class PrepareAttachment(TypedDict, total=False):
    """A file to upload."""

    filename: Required[str]
    """File name, without folders."""

    mime_type: Required[str]
    """Media type."""


RunState: TypeAlias = Literal[
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
"""`QUEUED`: waits for a worker. `CLAIMED`: a worker has claimed it. `PENDING`: its workspace is
being prepared. `INPROGRESS`: the agent is working. `BLOCKED`: waits for a follow-up from a
person. `SUCCEEDED`: completed. `FAILED`: ended for a cause that its owner can fix. `ERROR`:
ended for a cause on the server. `CANCELLED`: was cancelled.
"""

RunSourceFilter: TypeAlias = Literal[
    "API",
    "CLI",
    "WEB_APP",
    "SCHEDULED_AGENT",
    "WEBHOOK",
    "CUSTOM_WEBHOOK",
    "ORCHESTRATION",
    "GITHUB_ACTION",
    "GITHUB_WEBHOOK",
    "GITLAB_WEBHOOK",
    "AZURE_DEVOPS_WEBHOOK",
    "LOCAL",
    "CLOUD_MODE",
    "MCP",
    "SLACK",
    "TEAMS",
    "LINEAR",
    "JIRA",
    "SELF_IMPROVEMENT",
    "AUTOFIX",
    "RUN_SCORER",
    "BENCHMARK_TRIAL",
    "CREATE_BENCHMARK_TASK",
]
"""What created the run, as a filter value."""

ExecutionLocation: TypeAlias = Literal["LOCAL", "REMOTE"]
"""`REMOTE` is a worker, including the one in the server. `LOCAL`, a user's own machine, never
occurs on this server.
"""


@with_config(STRICT)
class AmbientAgentConfig(TypedDict, total=False):
    """How a run is executed. An omitted field is taken from the automation, the agent, the factory
    or the server, in this order.
    """

    name: str
    """A label to group and filter runs by. Defaults to the name of the skill, if the run has one
    skill.
    """

    model_id: str
    """The model: an id from `GET /agent/models`, or an alias that the server defines. `auto`, and
    `auto-*` if it is not an alias, means the server's default model.
    """

    base_prompt: str
    """Instructions that come before the prompt."""

    environment_id: str
    """The environment to work in."""

    runner_id: str
    """The runner: a name of `runners` in the files of the agent's factory. Its setup commands run
    before the environment's, and its image replaces the environment's. If no worker has its
    platform, the run waits and its status message says so.
    """

    skill_spec: str
    """The skill to run. Not together with `skills`. A bare name is looked up in the run's agent,
    then its factory, then the bundled skills (by id), then the environment's repositories. The
    other formats (`owner/repo:path/SKILL.md`, `owner/repo:name`, `repo:name`) refer to a
    repository. The name of a skill is the one in the front matter of its SKILL.md, or else the
    name of its folder. At most 1,024 bytes. In responses it is also the entry of `skills`, if
    there is only one.
    """

    skills: Sequence[str]
    """Skills available to the run, in addition to those of the agent and its factory. In the
    format of `skill_spec`, and not together with it.
    """

    mcp_servers: Mapping[str, MCPServerConfig | InstanceOf[types.MCPServerConfig]]
    """MCP servers for the agent, by name."""

    harness: Harness | InstanceOf[types.Harness]

    harness_auth_secrets: Mapping[str, str]
    """Names of managed secrets with the harness's credentials, such as `claude_auth_secret_name`."""

    prebuild: bool
    """Whether the workspace may come from what an earlier run of the environment has prepared.
    `false` prepares everything anew.
    """

    repositories: Sequence[RunRepository | InstanceOf[types.RunRepository]]
    """Repositories that the run works on, in addition to those of its environment. Without the
    list, the run has the one of its automation, agent or factory; an empty list means none. The
    same URL and ref is cloned once. If the environment has the repository at another ref, the
    ref of the run applies; without a ref, the environment's. Private ones are read with the
    credentials of the run's network, as far as its rules allow the repository's path, or, at
    GitHub, with the run's secret `GITHUB_TOKEN` or `GH_TOKEN`. Other URLs than `https://` are
    read with the worker's own ssh key or files, and require the scope `secrets:use`. The key of
    an agent can name only what the network of the run allows.
    """

    idle_timeout_minutes: int
    """Minutes that an interactive session stays open after a turn. 0 ends it with the turn."""

    worker_host: str
    """The self-hosted worker to run on. The run waits until it is connected. `warp` (hosted
    execution) means any worker, and the timeline shows `any_worker`.
    """

    forge: ForgeSettings | InstanceOf[types.ForgeSettings]
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

    session_sharing: AmbientAgentConfigSessionSharing
    """What anyone with the run's link may do."""

    memory_stores: Sequence[MemoryStoreRef | InstanceOf[types.MemoryStoreRef]]
    """Memory stores for the agent, each once. Stored and returned, but not used: this server has
    no memory stores.
    """

    inference_providers: AmbientAgentConfigInferenceProviders
    """Settings of model providers. Stored and returned, but not used: the server's own settings
    apply.
    """

    credential_strategy: Literal["CREATOR", "EXECUTOR"] | None
    """Whose credentials the run uses. Defaults to the executor's."""

    computer_use_enabled: bool
    """Whether the agent may use a screen."""

    computer_use_model_id: str
    """The model for computer use."""

    max_duration_minutes: int
    """Maximum minutes of one execution. Beyond it the run ends FAILED."""

    budget: AmbientAgentConfigBudget
    """Maximum usage of the run. Beyond it the run ends FAILED."""

    env: Mapping[str, str]
    """Environment variables of the sandbox. The built-in agent passes them to commands and MCP
    servers. If the server provides a harness with API keys, variables that could redirect the
    keys or load other code are not allowed, such as `HTTPS_PROXY`, `SSL_CERT_FILE`,
    `NODE_OPTIONS` or `LD_PRELOAD`.
    """

    secrets: Sequence[str | SecretRef | InstanceOf[types.SecretRef]]
    """Names of managed secrets for the run. Each becomes an environment variable, and is masked in
    everything that is recorded. A request can also use an object with a `name`. Requires the
    scope `secrets:use`.
    """

    network: Network | InstanceOf[types.Network]
    """Narrows what the run may reach. The run then reaches only the hosts that both this and its
    layers allow. Without it, the layers decide. An empty object allows nothing. Rules cannot
    have credentials. A child run keeps to the network of its parent. In `env`, variables that
    the sandbox or a preset sets, such as `HTTPS_PROXY`, return 400.
    """


@with_config(STRICT)
class AmbientAgentConfigSessionSharing(TypedDict, total=False):
    """What anyone with the run's link may do."""

    public_access: Literal["VIEWER", "EDITOR"]
    """Whether the link allows watching only, or also steering."""


@with_config(STRICT)
class AmbientAgentConfigInferenceProviders(TypedDict, total=False):
    """Settings of model providers. Stored and returned, but not used: the server's own settings
    apply.
    """

    aws: AmbientAgentConfigInferenceProvidersAws
    """Settings of AWS Bedrock."""


@with_config(STRICT)
class AmbientAgentConfigBudget(TypedDict, total=False):
    """Maximum usage of the run. Beyond it the run ends FAILED."""

    max_total_tokens: int
    """Input and output tokens. 0 means no limit."""

    max_cost_usd: float
    """Cost of the model in US dollars. 0 means no limit."""


@with_config(STRICT)
class AmbientAgentConfigInferenceProvidersAws(TypedDict, total=False):
    """Settings of AWS Bedrock."""

    disabled: bool
    """Whether AWS Bedrock is disabled."""

    region: str
    """AWS region."""

    role_arn: str
    """ARN of the role to assume."""


@with_config(STRICT)
class ForgeSettings(TypedDict, total=False):
    """What runs may do on the forges of their repositories."""

    push: PushSettings | InstanceOf[types.PushSettings]

    outputs: OutputSettings | InstanceOf[types.OutputSettings]

    followups: FollowupSettings | InstanceOf[types.FollowupSettings]

    policy: PushPolicy | InstanceOf[types.PushPolicy]

    output_policy: OutputPolicy | InstanceOf[types.OutputPolicy]


@with_config(STRICT)
class PushSettings(TypedDict, total=False):
    """What runs may push. A value that no layer sets has its default. Patterns match a whole name.
    `**` as a segment matches any number of segments, `*` any text in a segment, and `?` one
    character of a segment.
    """

    branches: Sequence[str]
    """Patterns of branches. An empty list allows no branch. The default is `penstock/**`."""

    protected_paths: PathProtection | InstanceOf[types.PathProtection]

    limits: PushBounds | InstanceOf[types.PushBounds]

    secrets: Literal["refuse", "off"]
    """Whether a push with a secret in a new commit is refused. The default is `refuse`."""


@with_config(STRICT)
class OutputSettings(TypedDict, total=False):
    """What runs may do on forges besides pushing. A value that no layer sets has its default."""

    pull_request: PullRequestSettings | InstanceOf[types.PullRequestSettings]

    limits: OutputBounds | InstanceOf[types.OutputBounds]

    approval: Literal["never", "protected", "always"]
    """Which outputs wait until a person releases them: `always` all. The default is `protected`.
    The outputs of a fork always wait.
    """

    status: Literal["comment", "none"]
    """Whether one comment in the issue or pull request whose event has started a run says how it
    is. The default is `comment`.
    """


@with_config(STRICT)
class FollowupSettings(TypedDict, total=False):
    """What of a forge continues runs that have opened a pull request."""

    checks: int
    """How many commits of a run whose checks fail it is told of, without a person in between. Then
    a person is asked. The default is 3. 0: none.
    """


@with_config(STRICT)
class PullRequestSettings(TypedDict, total=False):
    """The pull requests of runs."""

    open_limit: int
    """How many pull requests of the factory may be open. At this number, automations start no
    runs, and runs cannot declare more. The default is 5. 0 allows none.
    """

    base: Sequence[str]
    """Patterns of the branches that a pull request may be against. An empty list, the default,
    means the ref of the repository in the run, or its default branch.
    """

    draft: bool
    """Whether a pull request is a draft unless its declaration says otherwise. The default is
    `true`.
    """

    labels: Sequence[str]
    """Labels of new pull requests, besides the one of the factory."""

    reviewers: Sequence[str]
    """Who is asked to review a new pull request: logins, or owner/team."""


@with_config(STRICT)
class OutputBounds(TypedDict, total=False):
    """How many outputs a turn can declare. All kinds together are at most 20."""

    pull_request: int
    """Pull requests. The default is 1. 0 allows none."""

    comment: int
    """Comments. The default is 3. 0 allows none."""


@with_config(STRICT)
class OutputLimits(TypedDict, total=False):
    """How many outputs a turn can declare."""

    pull_request: Required[int]
    """Pull requests."""

    comment: Required[int]
    """Comments."""


@with_config(STRICT)
class OutputPolicy(TypedDict, total=False):
    """Which outputs a run may declare, and what happens to them. Set by the server when the run is
    created, and ignored in requests. It is absent from a run for which nothing is set, and
    which has the defaults.
    """

    open_limit: Required[int]
    """How many pull requests of the factory may be open."""

    base: Required[Sequence[Sequence[str]]]
    """Lists of patterns. A base must match one pattern of each list. An empty list means the ref
    of the repository in the run, or its default branch.
    """

    draft: Required[bool]
    """Whether a pull request is a draft unless its declaration says otherwise."""

    labels: Sequence[str]
    """Labels of new pull requests, besides the one of the factory."""

    reviewers: Sequence[str]
    """Who is asked to review a new pull request."""

    limits: Required[OutputLimits | InstanceOf[types.OutputLimits]]

    approval: Required[Literal["never", "protected", "always"]]
    """Which outputs wait until a person releases them."""

    status: Literal["comment", "none"]
    """Whether one comment in the issue or pull request whose event has started the run says how it
    is. Absent: none.
    """

    followups: FollowupPolicy | InstanceOf[types.FollowupPolicy]


@with_config(STRICT)
class FollowupPolicy(TypedDict, total=False):
    """What of a forge continues the run. Absent if nothing does."""

    checks: Required[int]
    """How many commits whose checks fail the run is told of, without a person in between."""


PathProtection = TypedDict(
    "PathProtection",
    {
        "policy": Literal["refuse", "allow"],
        "add": Sequence[str],
        "except": Sequence[str],
    },
    total=False,
)
"""Paths that a push must not change, in upper or lower case."""
with_config(STRICT)(PathProtection)


@with_config(STRICT)
class PushBounds(TypedDict, total=False):
    """How much a push may change, compared with the base branch."""

    files: int
    """Changed files. The default is 300."""

    bytes: int
    """Bytes of all changed files. The default is 10 MiB."""

    binary: int
    """Bytes of one binary file. The default is 1 MiB. 0 allows none."""


@with_config(STRICT)
class PushLimits(TypedDict, total=False):
    """How much a push may change."""

    files: Required[int]
    """Changed files."""

    bytes: Required[int]
    """Bytes of all changed files."""

    binary: Required[int]
    """Bytes of one binary file."""


PushPolicy = TypedDict(
    "PushPolicy",
    {
        "branches": Required[Sequence[Sequence[str]]],
        "protected": Sequence[str],
        "except": Sequence[str],
        "always": Sequence[str],
        "limits": Required[PushLimits | InstanceOf[types.PushLimits]],
        "allow_secrets": bool,
    },
    total=False,
)
"""What a run may push. Set by the server when the run is created, and ignored in requests. It is
absent from a run for which nothing is set, and which has the defaults.
"""
with_config(STRICT)(PushPolicy)


@with_config(STRICT)
class Network(TypedDict, total=False):
    """What runs may reach besides their models. A run may reach what the network of the server,
    its environment, its runner, its factory or its agent allows, within the ceiling that the
    operator sets.
    """

    allow: Sequence[NetworkRule | InstanceOf[types.NetworkRule]]
    """Rules. A request is allowed if one of them allows it."""

    provider_tools: Sequence[str]
    """Tools of model providers that reach the network themselves, such as `web_search`. Tools that
    are not listed are refused.
    """

    max_upload_bytes: int
    """Bytes that a run may send to all hosts together. 0 means no limit."""


@with_config(STRICT)
class NetworkRule(TypedDict, total=False):
    """Allows a preset or a host. Exactly one of `preset` and `host` is set. The other fields go
    with `host`.
    """

    preset: str
    """Hosts that belong together, such as `packages`."""

    host: str
    """A host name in lower case and ASCII, `*.example.com` for all names below example.com, or an
    IP address.
    """

    ports: Sequence[int]
    """Ports. 80 and 443 if absent."""

    methods: Sequence[str]
    """HTTP methods in capital letters. All if absent. With methods, paths or a credential, the
    proxy reads the requests.
    """

    paths: Sequence[str]
    """Paths that begin with `/`, with `*` at the end for the rest. All if absent."""

    credential: NetworkCredential | InstanceOf[types.NetworkCredential]


NetworkCredential = TypedDict(
    "NetworkCredential",
    {
        "secret": Required[str],
        "as": Required[Literal["basic", "bearer", "header"]],
        "user": str,
        "header": str,
    },
    total=False,
)
"""A managed secret that the proxy puts into each request to the host, over TLS. The secret must
list the host. The sandbox never has it, neither in a variable nor in a file or in memory.
"""
with_config(STRICT)(NetworkCredential)


@with_config(STRICT)
class ModelPolicy(TypedDict, total=False):
    """Limits the models of runs. A model must be allowed by the server, the factory and the agent."""

    allow: Sequence[str]
    """Ids of models, such as `anthropic/claude-sonnet-5-5`. An entry without a slash, such as
    `claude-*`, stands for the models of that name at every provider. `*` at the end stands for
    the rest. All if absent.
    """


@with_config(STRICT)
class Harness(TypedDict, total=False):
    """The harness: the program that runs the agent."""

    type: str
    """`builtin` (the default; `oz` is an alias), `claude`, `codex`, `gemini`, `opencode`, `qwen`,
    `command`, or a name from the server's configuration. An unknown type returns 400.
    """

    model_id: str
    """The model for the harness."""

    reasoning_level: str
    """Reasoning effort, for harnesses that have such a setting."""


@with_config(STRICT)
class MCPServerConfig(TypedDict, total=False):
    """An MCP server. Set exactly one of `id`, `command` and `url`. Values of `env` and `headers`
    can refer to a managed secret as `${{ secrets.NAME }}`. This server does not manage MCP
    servers: it skips one with an `id`, and the run's timeline shows `mcp_server_not_used`.
    """

    id: str
    """Id of a managed MCP server."""

    warp_id: str
    """Alias of `id` in requests. Never in responses."""

    command: str
    """A program to start inside the sandbox."""

    args: Sequence[str]
    """Arguments."""

    env: Mapping[str, str]
    """Environment variables."""

    url: str
    """URL of a remote server."""

    headers: Mapping[str, str]
    """Headers to send to it."""

    required: bool
    """Whether the run ends if the server does not start or stops working. Otherwise the run
    continues without it: the timeline shows `mcp_server_failed`, and the agent is told. This
    applies to all servers of the built-in agent, and to those with a `command` of agents that
    speak ACP. Such agents connect to a `url` themselves, so the worker does not see its
    failures.
    """


ArtifactType: TypeAlias = Literal[
    "PLAN", "PULL_REQUEST", "SCREENSHOT", "FILE", "EXTERNAL_REFERENCE"
]
"""A kind of artifact."""


@with_config(STRICT)
class CreateArtifactRequest(TypedDict, total=False):
    """A plan, a pull request or a reference."""

    artifact_type: Required[Literal["PLAN", "PULL_REQUEST", "EXTERNAL_REFERENCE"]]
    """Type of artifact."""

    data: Required[CreateArtifactRequestData]
    """The content. PLAN: `content` (Markdown), and optionally `title` and `url`. PULL_REQUEST:
    `branch`, `url`, and optionally `status`. EXTERNAL_REFERENCE: `reference_type`, `url`, and
    optionally `title` and `metadata`.
    """


@with_config(STRICT)
class CreateArtifactRequestData(TypedDict, total=False):
    """The content. PLAN: `content` (Markdown), and optionally `title` and `url`. PULL_REQUEST:
    `branch`, `url`, and optionally `status`. EXTERNAL_REFERENCE: `reference_type`, `url`, and
    optionally `title` and `metadata`.
    """

    title: str
    """Title."""

    url: str
    """URL."""

    content: str
    """Text of the plan."""

    branch: str
    """Branch."""

    reference_type: str
    """Kind of reference, a word that you choose."""

    metadata: Mapping[str, Any]
    """Additional metadata."""


@with_config(STRICT)
class UploadArtifactRequest(TypedDict, total=False):
    """A file or a screenshot."""

    file: Required[bytes]
    """The content. `filename` and the media type default to those of the part."""

    artifact_type: Literal["FILE", "SCREENSHOT"]
    """Type of artifact."""

    filename: str
    """File name, without folders."""

    filepath: str
    """Path in the workspace."""

    mime_type: str
    """Media type."""

    title: str
    """Title."""

    description: str
    """Description."""


@with_config(STRICT)
class CloudEnvironmentConfig(TypedDict, total=False):
    """The configuration of an environment."""

    name: str
    """Name."""

    description: str
    """Purpose."""

    docker_image: str
    """The container image of the runs. Workers with the sandbox bubblewrap or docker pull it; a
    run whose image cannot be pulled fails. Workers with the sandbox process use the host's
    tools and record this on the timeline.
    """

    docker_image_secret: str
    """Name of the managed secret with the credentials for the registry of `docker_image`, as
    `USER:PASSWORD`. Its `hosts` must include the registry (`docker.io` for names without one),
    with its port unless that is 443. Only workers get the value. If absent, the credentials of
    the worker's machine apply.
    """

    github_repos: Sequence[GitHubRepo | InstanceOf[types.GitHubRepo]]
    """GitHub repositories to clone."""

    repos: Sequence[GitRepo | InstanceOf[types.GitRepo]]
    """Git repositories to clone, on any host."""

    setup_commands: Sequence[str]
    """Shell commands that prepare the workspace, in order. If one fails, the run ends FAILED."""

    providers: Mapping[str, Any]
    """Settings of cloud providers. Stored and passed on unchanged."""

    failure_session_retention_minutes: int | None
    """Minutes to keep the sandbox of a failed run. If absent, it is not kept."""

    network: Network | InstanceOf[types.Network]
    """What its runs may reach, in addition to the other layers. A run reads it when an execution
    starts.
    """

    stall_after: str
    """Time without an event after which a run that works has stalled, from `1m` to `720h`; `0`
    disables it. Text of a message and output of a tool are events. Absent or empty: `--stall-
    after` of the server. It also applies to runs that already work.
    """

    on_stall: Literal["alert", "cancel"]
    """What happens to a run that has stalled: `alert` marks it as `stalled`, `cancel` also cancels
    it. Absent: `--on-stall` of the server.
    """

    prebuild: Prebuild | InstanceOf[types.Prebuild]


@with_config(STRICT)
class Prebuild(TypedDict, total=False):
    """How prepared workspaces are kept for later runs of the environment. Each worker keeps its
    own: the workspace, HOME and the changes of the image as the setup commands left them. For
    that, the commands run without the variables, attachments and models of the run. If they
    fail then, they run again with everything, and nothing is kept. Absent: lazy, but only for
    runs without variables.
    """

    mode: Literal["lazy", "off"]
    """`lazy` keeps what a run has prepared, `off` nothing."""

    inputs: Sequence[str]
    """Path patterns in the repositories. If their heads have moved since, and no file of these
    patterns has changed, no command runs. Absent: all commands run on what was kept.
    """

    update_commands: Sequence[str]
    """Commands that run instead of the setup commands on what was kept."""

    secrets: Sequence[str]
    """Names of the secrets that the commands get as variables. Only runs that have all of them get
    what was kept. If a file has the value of one afterwards, nothing is kept.
    """


@with_config(STRICT)
class GitHubRepo(TypedDict, total=False):
    """A repository on GitHub."""

    owner: Required[str]
    """Owner of the repository."""

    repo: Required[str]
    """Name."""


@with_config(STRICT)
class RunRepository(TypedDict, total=False):
    """A repository that a run works on: its `url`, or the `connection` and `path` that have it.
    The server sets all three if a connection is used.
    """

    url: str
    """URL of the repository, `https://` or `ssh://` (also as `user@host:path`), without
    credentials.
    """

    ref: str
    """A branch, tag or commit. Defaults to the one of the environment, or else to the default
    branch.
    """

    connection: str
    """Name of the connection that reads the repository. With a `url`, the server finds it."""

    path: str
    """Path of the repository on the forge, `owner/name`."""


@with_config(STRICT)
class GitRepo(TypedDict, total=False):
    """A Git repository."""

    url: Required[str]
    """URL of the repository, `https://` or `ssh://`."""

    ref: str
    """A branch, tag or commit. Defaults to the default branch."""


@with_config(STRICT)
class Agent(TypedDict, total=False):
    """An agent to create."""

    name: Required[str]
    """Name."""

    description: str
    """Purpose."""

    prompt: str
    """Instructions that come before the prompt of each run."""

    base_model: str
    """Default model of its runs."""

    harness: Harness | InstanceOf[types.Harness]
    """Default harness of its runs."""

    base_harness: str
    """The type of `harness` alone. `harness` takes precedence. A different type returns 400."""

    environment_id: str
    """The environment of its runs."""

    default_runner_uid: str
    """Default runner of its runs: a name of `runners` in the files of its factory."""

    worker_host: str
    """The self-hosted worker of its runs."""

    forge: ForgeSettings | InstanceOf[types.ForgeSettings]
    """What its runs may do on the forges of their repositories. Each value is inherited by itself."""

    repositories: Sequence[RunRepository | InstanceOf[types.RunRepository]]
    """Repositories that its runs work on beside the environment's, in place of those of its
    factory. An empty list means none.
    """

    secrets: Sequence[SecretRef | InstanceOf[types.SecretRef]]
    """Managed secrets for its runs."""

    skills: Sequence[str]
    """Skills available to its runs."""

    mcp_servers: Mapping[str, MCPServerConfig | InstanceOf[types.MCPServerConfig]]
    """MCP servers of its runs, by name."""

    memory: AgentMemory | InstanceOf[types.AgentMemory]
    """What the agent remembers between runs."""

    harness_auth_secrets: Mapping[str, str]
    """Names of managed secrets with the harness's credentials."""

    credential_strategy: Literal["CREATOR", "EXECUTOR"]
    """Whose credentials its runs use."""

    on_behalf_of_enabled: bool
    """Whether the agent may start runs on behalf of users."""

    agent_type: Literal["FOREMAN", "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY", "CUSTOM"]
    """Role of the agent in a factory."""

    network: Network | InstanceOf[types.Network]
    """What its runs may reach, in addition to the other layers."""

    models: ModelPolicy | InstanceOf[types.ModelPolicy]
    """The models that its runs may use."""


@with_config(STRICT)
class UpdateAgent(TypedDict, total=False):
    """Changes to an agent. An absent or null field stays unchanged. An empty value clears it."""

    name: str | None
    """Name. Cannot be cleared."""

    description: str | None
    """Purpose."""

    prompt: str | None
    """Instructions that come before the prompt of each run."""

    base_model: str | None
    """Default model of its runs."""

    harness: Harness | InstanceOf[types.Harness] | None
    """Default harness of its runs."""

    base_harness: str | None
    """The type of `harness` alone. `harness` takes precedence. A different type returns 400. An
    empty value clears `harness`.
    """

    environment_id: str | None
    """The environment of its runs."""

    default_runner_uid: str | None
    """Default runner of its runs: a name of `runners` in the files of its factory."""

    worker_host: str | None
    """The self-hosted worker of its runs."""

    forge: ForgeSettings | InstanceOf[types.ForgeSettings] | None
    """What its runs may do on the forges of their repositories, in place of what it has set so
    far. An empty value removes it.
    """

    repositories: Sequence[RunRepository | InstanceOf[types.RunRepository]] | None
    """Repositories that its runs work on beside the environment's, in place of those of its
    factory. An empty list means none. The key of an agent can only remove some.
    """

    secrets: Sequence[SecretRef | InstanceOf[types.SecretRef]] | None
    """Managed secrets for its runs."""

    secrets_append: Sequence[SecretRef | InstanceOf[types.SecretRef]]
    """Secrets to add to the current ones. Must be the only field of the request. Secrets that the
    agent already has are skipped.
    """

    skills: Sequence[str] | None
    """Skills available to its runs."""

    mcp_servers: Mapping[str, MCPServerConfig | InstanceOf[types.MCPServerConfig]] | None
    """MCP servers of its runs, by name."""

    memory: AgentMemory | InstanceOf[types.AgentMemory] | None
    """What the agent remembers between runs."""

    harness_auth_secrets: Mapping[str, str] | None
    """Names of managed secrets with the harness's credentials."""

    credential_strategy: Literal["CREATOR", "EXECUTOR", ""] | None
    """Whose credentials its runs use."""

    on_behalf_of_enabled: bool | None
    """Whether the agent may start runs on behalf of users."""

    agent_type: (
        Literal["FOREMAN", "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY", "CUSTOM", ""] | None
    )
    """Role of the agent in a factory."""

    network: Network | InstanceOf[types.Network] | None
    """What its runs may reach, in addition to the other layers."""

    models: ModelPolicy | InstanceOf[types.ModelPolicy] | None
    """The models that its runs may use."""


@with_config(STRICT)
class SecretRef(TypedDict, total=False):
    """A reference to a managed secret, by name."""

    name: Required[str]
    """Name."""


@with_config(STRICT)
class AgentMemory(TypedDict, total=False):
    """What an agent remembers between runs."""

    auto_memory: Required[AgentMemoryAutoMemory]
    """Memory that the agent maintains itself."""

    attached_stores: Required[Sequence[MemoryStoreRef | InstanceOf[types.MemoryStoreRef]]]
    """Memory stores of the agent, each once. Stored and returned, but not used: this server has no
    memory stores.
    """


@with_config(STRICT)
class AgentMemoryAutoMemory(TypedDict, total=False):
    """Memory that the agent maintains itself."""

    enabled: Required[bool]
    """Whether automatic memory is enabled."""


@with_config(STRICT)
class MemoryStoreRef(TypedDict, total=False):
    """A reference to a memory store."""

    uid: Required[str]
    """Unique id."""

    access: Required[Literal["read_write", "read_only"]]
    """The agent's access to the store."""

    instructions: Required[str]
    """Instructions for using the store."""


@with_config(STRICT)
class Schedule(TypedDict, total=False):
    """A schedule to create. Requires a `prompt` or a skill."""

    name: Required[str]
    """Name."""

    cron_schedule: Required[str]

    time_zone: str
    """IANA time zone of `cron_schedule`, such as `Europe/Berlin`."""

    timezone: str
    """Another name of `time_zone`. Not in responses."""

    catch_up: CatchUp

    overlap: Overlap

    pause_after_failures: int
    """After so many runs in a row that ended `FAILED` or `ERROR`, it is paused until it is enabled
    again. A `CANCELLED` run neither counts nor ends the row. 0, the default, never pauses it.
    """

    expect_every: str
    """How often a run is expected to start, or an event to reach one, such as `26h`; at least
    `1m`. If none does for so long, it is `silent`, and endpoints get `automation.silent`. Runs
    that somebody starts by hand do not count. 0, the default, expects none.
    """

    enabled: bool
    """Whether it fires."""

    prompt: str
    """The task for the agent."""

    mode: RunMode
    """How its runs handle the prompt."""

    skill: str
    """The skill to run, in the format of `agent_config.skill_spec`. Takes precedence over it."""

    agent_config: AmbientAgentConfig | InstanceOf[types.AmbientAgentConfig]
    """The configuration of its runs."""

    agent_uid: str
    """The agent that its runs are executed as."""

    metadata: Mapping[str, str]
    """Labels for its runs."""

    team: bool
    """Whether the team sees the schedule and its runs. Default: true."""


@with_config(STRICT)
class UpdateSchedule(TypedDict, total=False):
    """A complete schedule. Requires a `prompt` or a skill."""

    name: Required[str]
    """Name."""

    cron_schedule: Required[str]

    time_zone: str
    """IANA time zone of `cron_schedule`, such as `Europe/Berlin`. Absent: unchanged, as are
    `catch_up`, `overlap`, `pause_after_failures` and `expect_every`.
    """

    timezone: str
    """Another name of `time_zone`. If they differ, the one that is not the present zone counts."""

    catch_up: CatchUp

    overlap: Overlap

    pause_after_failures: int
    """After so many runs in a row that ended `FAILED` or `ERROR`, it is paused until it is enabled
    again. A `CANCELLED` run neither counts nor ends the row. 0 never pauses it. Absent:
    unchanged.
    """

    expect_every: str
    """How often a run is expected to start, or an event to reach one, such as `26h`; at least
    `1m`. If none does for so long, it is `silent`, and endpoints get `automation.silent`. Runs
    that somebody starts by hand do not count. 0 expects none. Absent: unchanged.
    """

    enabled: Required[bool]
    """Whether it fires."""

    prompt: str
    """The task for the agent."""

    mode: RunMode
    """How its runs handle the prompt."""

    skill: str
    """The skill to run, in the format of `agent_config.skill_spec`. Takes precedence over it."""

    agent_config: AmbientAgentConfig | InstanceOf[types.AmbientAgentConfig]
    """The configuration of its runs."""

    agent_uid: str
    """The agent that its runs are executed as."""

    metadata: Mapping[str, str]
    """Labels for its runs."""

    team: bool
    """Whether the team sees the schedule and its runs. Default: true."""


CatchUp: TypeAlias = Literal["once", "all", "none"]
"""What starts for times that passed while no server was there. `once`, the default, starts one run
for all of them, `all` one for each of the latest 100. With `none`, a time that is more than a
minute late starts none.
"""

Overlap: TypeAlias = Literal["allow", "queue", "skip", "replace"]
"""What happens at a time when a run that an earlier time started has not ended. `allow`, the
default, starts another beside it, `queue` starts it once that one has ended, `skip` starts
none, and `replace` cancels that one with all that it started, once a run of the same
automation, or of the schedule itself, is QUEUED instead. A run that somebody continued after
its end does not count. At most 100 times wait in a queue.
"""

OccurrenceKind: TypeAlias = Literal["tick", "delivery", "call", "dispatch"]
"""What an occurrence was. `tick`: a time of a schedule, or of an automation with a clock of its
own. `delivery`: to a webhook. `call`: a request for a run, also of an automation by hand.
`dispatch`: work for a factory; without a subject, it is known by the metadata `ticket_source`
and `ticket_id` of its run, so that a request for a run of an agent with both counts as one.
"""

Fate: TypeAlias = Literal[
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
"""What became of an occurrence. `waiting` is followed by one of the others, which never change.
`continued`: a follow-up gave it to a run. `merged_into`: it joined a run that another one
started. `superseded`: a later one replaced it before it started anything. `no_match`: the
automation waits for something else. `duplicate`: the same delivery had come before. `rejected`:
the webhook did not accept the delivery. `skipped`: a run was live, too many times waited, a
budget refused the run, or the schedule or automation was changed, paused or deleted. `missed`:
no server was there in time. `failed`: no run could be made.
"""

KeyScope: TypeAlias = Literal[
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
"""A permission of a key. `admin` includes all others. `worker` lets a key serve as a worker.
`secrets:use` lets a request for a run or a schedule name managed secrets, which the agent can
read, and continue the conversations of such runs. The secrets of agents, automations and
factories do not require it: with `factories:manage`, a caller can give any secret to the runs
of an agent. `access:manage` is about users, service accounts and grants. `metrics:read` lets
Prometheus read `/metrics`. `own_run` is the scope of an execution's key: it can read its own
run and add artifacts to it. It cannot be given to other keys.
"""


@with_config(STRICT)
class CreateSecretRequest(TypedDict, total=False):
    """A secret to create."""

    name: Required[str]
    """Name of the secret, and of the environment variable that contains it in runs."""

    value: str
    """The value, at most 65,536 bytes of UTF-8 without NUL. A value of fewer than four characters
    cannot be masked in the output of runs. If absent, the secret is pending.
    """

    hosts: Sequence[str]


@with_config(STRICT)
class SetSecretRequest(TypedDict, total=False):
    """Changes to a secret. At least one field is required. An absent field stays unchanged."""

    value: str
    """The value, at most 65,536 bytes of UTF-8 without NUL."""

    hosts: Sequence[str]


WebhookAuthMode: TypeAlias = Literal["token", "url_token", "signature"]
"""How a delivery is authenticated: `token` in `Authorization: Bearer`, `url_token` as the last
segment of the URL, or `signature` over the body.
"""

SignatureScheme: TypeAlias = Literal[
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
"""The signature scheme of a sender. The webhook's `signature` describes `custom_hmac`."""


@with_config(STRICT)
class Signature(TypedDict, total=False):
    """A `custom_hmac` scheme, or the `timestamp_header` of a Grafana contact point."""

    header: str
    """The header that contains the signature."""

    prefix: str
    """Text before the signature, such as `sha256=`."""

    hash: Literal["sha1", "sha256", "sha512"]
    """Hash function of the HMAC."""

    encoding: Literal["hex", "base64"]
    """Encoding of the signature."""

    key_form: Literal["text", "base64", "hex", "whsec"]
    """How the key is derived from the secret: unchanged, or decoded."""

    template: str
    """The signed text: literal text with `{body}` once, and optionally `{timestamp}`, `{method}`,
    `{url}`, `{path}` and `{header:Name}`.
    """

    timestamp_header: str
    """The header that contains `{timestamp}`: Unix seconds, Unix milliseconds or RFC 3339."""


SecretRefresh: TypeAlias = Literal["apply", "immediate"]
"""When a webhook starts to use a new value of its managed secret: when the webhook is changed or
enabled, or immediately.
"""


@with_config(STRICT)
class CreateWebhookRequest(TypedDict, total=False):
    """A webhook to create."""

    name: Required[str]
    """Display name. The webhook's `name` is derived from it, in lower case and with `-` for
    spaces, and must have 1 to 63 letters, digits and `-`.
    """

    auth_mode: WebhookAuthMode
    """How deliveries are authenticated."""

    signature_scheme: SignatureScheme
    """The sender's signature scheme. Only for `signature`."""

    signature: Signature | InstanceOf[types.Signature]
    """Only for `custom_hmac` and `grafana`."""

    secret: str
    """The secret, if the server does not generate it."""

    secret_name: str
    """Name of the managed secret. Defaults to `<NAME>_WEBHOOK_SECRET`."""

    delivery_id_header: str
    """A header that identifies deliveries, instead of the sender's own. `ce-id` is read together
    with `ce-source`. Headers with credentials (such as `Authorization`, `Cookie`, `X-Api-Key`
    and all signatures) and connection headers are not allowed.
    """

    replay_guard: bool
    """Whether the same signed content, including its timestamp, is a duplicate even if its
    unsigned id differs: the value of `delivery_id_header`, a header of the sender, or
    `X-Penstock-Delivery-Id`.
    """

    dedup_body_window: str
    """How long an equal body is a duplicate if nothing else identifies deliveries, such as `20h`
    or `90m`, up to `8784h`. `0` turns this comparison off, for a sender whose body is always
    the same. Empty, the default, means the `dedup_body_seconds` of `GET /limits`. A number is
    read as seconds.
    """

    retry_unmatched: bool
    """Whether a delivery that was accepted but started no run is evaluated again when it comes
    again. Otherwise it is a duplicate.
    """

    setup_pings: bool
    """Whether unsigned setup requests get 200 instead of 401 until the first verified delivery.
    Only for `woocommerce` and `bitbucket`. They start nothing.
    """

    secret_refresh: SecretRefresh
    """When the webhook starts to use a new value of its managed secret."""

    enabled: bool
    """Whether the webhook accepts deliveries once it has its secret."""


@with_config(STRICT)
class UpdateWebhookRequest(TypedDict, total=False):
    """Changes to a webhook."""

    signature: Signature | InstanceOf[types.Signature]
    """Only for `custom_hmac` and `grafana`."""

    secret: str
    """The secret of a pending webhook."""

    delivery_id_header: str
    """A header that identifies deliveries. Empty means the sender's own. `ce-id` is read together
    with `ce-source`.
    """

    replay_guard: bool
    """Whether the same signed content is a duplicate even if its unsigned id differs."""

    dedup_body_window: str
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
    """Whether the webhook accepts deliveries."""

    suspended: bool
    """Whether an enabled webhook temporarily rejects deliveries, until you clear this field."""


@with_config(STRICT)
class RotateSecretRequest(TypedDict, total=False):
    """Options of a rotation."""

    secret: str
    """The new secret. If absent, the server generates one."""

    overlap_seconds: int
    """Seconds that the old secret stays valid. A webhook can have at most 5 valid secrets."""


@with_config(STRICT)
class FactoryRepository(TypedDict, total=False):
    """A Git repository that defines a factory."""

    url: Required[str]
    """An `https://` or `ssh://` URL, or `user@host:path`, without credentials. `file://` only if
    the server allows it.
    """

    branch: str
    """The production branch. Defaults to the default branch of the repository."""

    path: str
    """The folder that contains factory.yaml. Defaults to the root of the repository."""

    secret: str
    """The managed secret with the credential for an `https://` URL: a token, or `user:token`."""


@with_config(STRICT)
class ApplyDefinitionRequest(TypedDict, total=False):
    """Files for a factory."""

    files: Required[Mapping[str, str]]

    dry_run: bool
    """Whether to return only the plan and change nothing."""

    base_revision: int
    """The revision that the edit is based on. If the factory has a newer revision, the request
    returns 409.
    """


@with_config(STRICT)
class ValidateFilesRequest(TypedDict, total=False):
    """Files to check."""

    files: Required[Mapping[str, str] | Sequence[ListedFile]]
    """The files, by path or as a list."""


@with_config(STRICT)
class ListedFile(TypedDict, total=False):
    """A file in a list."""

    path: Required[str]
    """Path, such as `agents/triage/agent.md`."""

    content: Required[str]
    """Content."""


@with_config(STRICT)
class CreateFactoryRequest(TypedDict, total=False):
    """A factory to create."""

    name: str
    """Name. Required without `files` and `repository`. With a repository, it is used until the
    first commit is applied, whose factory.yaml sets the name. Defaults to the name of the
    repository.
    """

    alias: str
    """Short name: letters and digits of any script, spaces and `. _ -`. Not with `files` or
    `repository`.
    """

    description: str
    """Description. Not with `files` or `repository`."""

    files: Mapping[str, str]

    repository: FactoryRepository | InstanceOf[types.FactoryRepository]
    """The repository that defines the factory. Not with `files`."""


@with_config(STRICT)
class UpdateFactoryRequest(TypedDict, total=False):
    """Changes to a factory."""

    name: str
    """Name."""

    alias: str | None
    """Short name."""

    description: str | None
    """Purpose."""

    network: Network | InstanceOf[types.Network] | None
    """What all its runs may reach, in addition to the other layers. An empty value removes it."""

    forge: ForgeSettings | InstanceOf[types.ForgeSettings] | None
    """What all its runs may do on the forges of their repositories, in place of what it has set so
    far. An empty value removes it.
    """

    models: ModelPolicy | InstanceOf[types.ModelPolicy] | None
    """The models that all its runs may use. An empty value removes the limit."""

    repository: FactoryRepository | InstanceOf[types.FactoryRepository]
    """The repository of a factory that is defined by one."""


@with_config(STRICT)
class DispatchRequest(TypedDict, total=False):
    """Work for a factory."""

    prompt: Required[str]
    """The task."""

    title: str
    """Title of the run. Defaults to a title from the prompt."""

    ticket_ref: str
    """The ticket of the work, as `<source>:<id>`."""

    ticket_url: str
    """URL of the ticket."""

    subject: str
    """What the work is about, such as `acme/shop#7`, without placeholders. One run at most works
    on a subject of the factory at a time: while one works, or for 14 days after its success,
    work with the same subject reaches that run.
    """

    when_busy: WhenBusy
    """What the work does while a run works on its subject. `coalesce` by default. Needs `subject`."""


@with_config(STRICT)
class Trigger(TypedDict, total=False):
    """An event that starts an automation. `webhook` / `received` fires on deliveries to webhooks
    of the factory. `schedule` / `cron_fired` fires on its own schedule or on schedules of the
    team. Events of `github` and `linear` come from deliveries to every enabled webhook of the
    factory whose `signature_scheme` has the same name. A delivery can contain several events.
    It starts one run of an automation, even if several of its triggers match. Triggers of other
    providers are valid and stored, but not connected, as `problems` says. The same applies to
    GitHub and Linear if the factory has no such webhook.
    """

    provider: Required[
        Literal["webhook", "schedule", "github", "gitlab", "linear", "jira", "slack", "factory"]
    ]
    """Provider of the event."""

    event: Required[str]
    """Name of the event."""

    filter: Mapping[str, Any] | None
    """Conditions on the event. For `webhook`: `webhook_ids` (uids or names of the factory's
    webhooks) and `payload` (a payload filter). For `schedule`: `schedule_ids`, if there is no
    `schedule`. Both lists need at least one entry. For other providers: values for each key.
    All keys must match. An absent or empty key matches everything. Each key except `payload`
    has a list, or an object with `in` and `not_in`. A value that is missing from the event is
    in no list. Matching ignores case except in `branches`, `base_branches` and `paths`. These
    and `repos` can be patterns: `*` and `?` match within a folder, `**` across folders. `paths`
    matches if a push changes at least one matching file.
    """

    schedule: CronTrigger | InstanceOf[types.CronTrigger] | None
    """For `schedule`: a schedule of its own."""


@with_config(STRICT)
class CronTrigger(TypedDict, total=False):
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

    cron: Required[str]
    """When to fire: five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, `@every
    1h30m`.
    """

    name: str
    """Name that its runs show."""

    timezone: str
    """IANA time zone name. UTC if absent."""

    time_zone: str
    """Another name of `timezone`. If a zone is set, responses have both. If a request has two
    different ones, the one that is not the present zone of this clock counts.
    """

    catch_up: CatchUp

    overlap: Overlap

    last_run: datetime | str
    """When it last started a run. Only in responses."""

    next_run: datetime | str
    """When it fires next. Only in responses."""

    last_error: str
    """Why no run was started at the last time that was decided. Only in responses."""


@with_config(STRICT)
class CreateAutomationRequest(TypedDict, total=False):
    """An automation to create."""

    name: Required[str]
    """Name. Converted to lower case, with `-` for spaces."""

    enabled: bool
    """Whether it fires."""

    title: str
    """Title of its runs. `{{data.order}}` stands for that string, number or boolean of the
    delivery's payload, as text; a value that does not exist is empty. Titles have up to 80
    characters. Defaults to the name.
    """

    prompt: Required[str]
    """The prompt of each run."""

    triggers: Required[Sequence[Trigger | InstanceOf[types.Trigger]]]
    """The triggers."""

    subject: str
    """What events are about, as a template like `title`, such as
    `{{repository.full_name}}#{{pull_request.number}}`, or `auto` for what the provider names.
    Later events about the same reach the run that works on it. If a value is absent, the event
    has no subject.
    """

    subject_scope: Literal["automation", "factory"]
    """Whose events about the same reach the same run: those of this automation (`automation`, the
    default), or of all automations of the factory that have `factory`. These must have the same
    agent, secrets, environment, runner, worker host and MCP servers. A follow-up has the prompt
    of the automation whose events it has.
    """

    when_busy: WhenBusy
    """What an event does while a run works on its subject. `coalesce` by default."""

    quiet: str
    """How long no event of the subject must come before a run or follow-up starts. By default a
    first event starts at once, and later ones wait for 30s; with `queue` and `replace` they do
    not wait.
    """

    longest_wait: str
    """The most that an event waits for `quiet`. 5m by default."""

    keep: str
    """How long after its success later events continue a run. 14d by default."""

    max_followups: int
    """How often events may continue a run before a person has to answer. 20 by default."""

    followup_prompt: str
    """The prompt for later events. Defaults to `prompt`."""

    continue_on: Sequence[Trigger | InstanceOf[types.Trigger]]
    """Events that reach the run which works on their subject, or has succeeded less than `keep`
    ago, and never start one, such as a comment. The event must come to the webhook whose event
    started the run. Not `schedule`.
    """

    closes: Sequence[Trigger | InstanceOf[types.Trigger]]
    """Events that end their subject: what waits is skipped, and nothing starts or continues until
    an event of `triggers` with a newer `updated_at` opens it again, with a new run. They come
    before `triggers`. Not `schedule`.
    """

    closes_run: bool
    """Whether they also cancel the run on the subject."""

    pause_after_failures: int
    """After so many runs in a row that ended `FAILED` or `ERROR`, it is paused until it is enabled
    again. A `CANCELLED` run neither counts nor ends the row. 0, the default, never pauses it.
    """

    expect_every: str
    """How often a run is expected to start, or an event to reach one, such as `26h`; at least
    `1m`. If none does for so long, it is `silent`, and endpoints get `automation.silent`. Runs
    that somebody starts by hand do not count. 0, the default, expects none.
    """

    on_hollow: OnHollow
    """What happens to a run that is `hollow`. `alert` by default. A run keeps the value that the
    automation had when it started.
    """

    agent: str
    """The agent, by its name in the factory. Defaults to the foreman."""

    model: str
    """Model of its runs: short for the built-in harness with this model. Not with `harness`."""

    harness: Harness | InstanceOf[types.Harness]
    """The harness of its runs. Not with `model`."""

    runner: str
    """The runner of its runs."""

    environment_id: str
    """The environment of its runs."""

    secrets: Sequence[str]
    """Managed secrets for its runs, instead of the agent's."""

    mcp_servers: Mapping[str, MCPServerConfig | InstanceOf[types.MCPServerConfig]]
    """MCP servers of its runs by name, instead of the agent's."""

    worker_host: str
    """The self-hosted worker of its runs."""

    forge: ForgeSettings | InstanceOf[types.ForgeSettings]
    """What its runs may do on the forges of their repositories. Each value is inherited by itself."""

    repositories: Sequence[RunRepository | InstanceOf[types.RunRepository]]
    """Repositories that its runs work on beside the environment's, in place of the agent's. An
    empty list means none.
    """

    credential_strategy: Literal["CREATOR", "EXECUTOR"]
    """Whose credentials its runs use."""


@with_config(STRICT)
class UpdateAutomationRequest(TypedDict, total=False):
    """Changes to an automation. Null clears a field."""

    name: str
    """Name."""

    enabled: bool
    """Whether it fires."""

    title: str | None
    """Title of its runs. `{{data.order}}` stands for that string, number or boolean of the
    delivery's payload, as text; a value that does not exist is empty. Titles have up to 80
    characters. Defaults to the name.
    """

    prompt: str
    """The prompt of each run."""

    triggers: Sequence[Trigger | InstanceOf[types.Trigger]]
    """The triggers."""

    subject: str | None
    """What events are about, as a template like `title`, such as
    `{{repository.full_name}}#{{pull_request.number}}`, or `auto` for what the provider names.
    Later events about the same reach the run that works on it. If a value is absent, the event
    has no subject.
    """

    subject_scope: Literal["automation", "factory"] | None
    """Whose events about the same reach the same run: those of this automation (`automation`, the
    default), or of all automations of the factory that have `factory`. These must have the same
    agent, secrets, environment, runner, worker host and MCP servers. A follow-up has the prompt
    of the automation whose events it has.
    """

    when_busy: WhenBusy | None
    """What an event does while a run works on its subject. `coalesce` by default."""

    quiet: str | None
    """How long no event of the subject must come before a run or follow-up starts. By default a
    first event starts at once, and later ones wait for 30s; with `queue` and `replace` they do
    not wait.
    """

    longest_wait: str | None
    """The most that an event waits for `quiet`. 5m by default."""

    keep: str | None
    """How long after its success later events continue a run. 14d by default."""

    max_followups: int | None
    """How often events may continue a run before a person has to answer. 20 by default."""

    followup_prompt: str | None
    """The prompt for later events. Defaults to `prompt`."""

    continue_on: Sequence[Trigger | InstanceOf[types.Trigger]] | None
    """Events that reach the run which works on their subject, or has succeeded less than `keep`
    ago, and never start one, such as a comment. The event must come to the webhook whose event
    started the run. Not `schedule`.
    """

    closes: Sequence[Trigger | InstanceOf[types.Trigger]] | None
    """Events that end their subject: what waits is skipped, and nothing starts or continues until
    an event of `triggers` with a newer `updated_at` opens it again, with a new run. They come
    before `triggers`. Not `schedule`.
    """

    closes_run: bool | None
    """Whether they also cancel the run on the subject."""

    pause_after_failures: int | None
    """After so many runs in a row that ended `FAILED` or `ERROR`, it is paused until it is enabled
    again. A `CANCELLED` run neither counts nor ends the row. 0, the default, never pauses it.
    """

    expect_every: str | None
    """How often a run is expected to start, or an event to reach one, such as `26h`; at least
    `1m`. If none does for so long, it is `silent`, and endpoints get `automation.silent`. Runs
    that somebody starts by hand do not count. 0, the default, expects none.
    """

    on_hollow: OnHollow | None
    """What happens to a run that is `hollow`. `alert` by default. A run keeps the value that the
    automation had when it started.
    """

    agent: str | None
    """The agent, by its name in the factory. Defaults to the foreman."""

    model: str | None
    """Model of its runs: short for the built-in harness with this model. Not with `harness`."""

    harness: Harness | InstanceOf[types.Harness] | None
    """The harness of its runs. Not with `model`."""

    runner: str | None
    """The runner of its runs."""

    environment_id: str | None
    """The environment of its runs."""

    secrets: Sequence[str] | None
    """Managed secrets for its runs, instead of the agent's."""

    mcp_servers: Mapping[str, MCPServerConfig | InstanceOf[types.MCPServerConfig]] | None
    """MCP servers of its runs by name, instead of the agent's."""

    worker_host: str | None
    """The self-hosted worker of its runs."""

    forge: ForgeSettings | InstanceOf[types.ForgeSettings] | None
    """What its runs may do on the forges of their repositories, in place of what it has set so
    far. An empty value removes it.
    """

    repositories: Sequence[RunRepository | InstanceOf[types.RunRepository]] | None
    """Repositories that its runs work on, in place of the agent's. An empty list means none, and
    null those of the agent. The key of an agent can only remove some.
    """

    credential_strategy: Literal["CREATOR", "EXECUTOR"] | None
    """Whose credentials its runs use."""


@with_config(STRICT)
class TestFilterRequest(TypedDict, total=False):
    """A filter and its input. Set at most one of `payload` and `delivery_id`."""

    provider: Literal["webhook", "github", "linear"]
    """Provider of the filter's trigger. For `webhook` it is a payload filter."""

    event: str
    """The event of the trigger. Required for `github` and `linear`."""

    filter: Required[Mapping[str, Any]]
    """A payload filter, or the filter of a trigger."""

    webhook_uid: str
    """The webhook that received the delivery."""

    delivery_id: str
    """An accepted delivery with a stored payload."""

    payload: Any
    """A payload: any JSON value."""

    github_event: str
    """The `X-GitHub-Event` header of a GitHub payload. Required for it."""


@with_config(STRICT)
class TestDeliveryRequest(TypedDict, total=False):
    """A delivery for the server to send."""

    payload: Any
    """The payload: any JSON value. Default: an example."""

    github_event: str
    """The header `X-GitHub-Event` of a `payload`, for a webhook with the scheme `github`. Default:
    `ping`, which fires no trigger.
    """

    event: str
    """Sends a sample of this event of a `github` or `linear` trigger, such as
    `pull_request_opened`. Only for webhooks with that scheme.
    """

    delivery_id: str
    """Sends the payload of this accepted delivery of the webhook again, with the name of its
    event.
    """


@with_config(STRICT)
class VerifyWebhookRequest(TypedDict, total=False):
    """A captured request of a sender."""

    headers: Required[Mapping[str, str]]
    """The headers, in any case."""

    body: Required[str]
    """The body, byte for byte as it was sent."""

    at: datetime | str
    """When the request arrived. Default: now."""


WhenBusy: TypeAlias = Literal["coalesce", "queue", "replace", "parallel"]
"""What an event does while a run works on its subject. `coalesce`: events are gathered for one
follow-up after the turn. `queue`: each event has a follow-up of its own, in order. `replace`:
the turn is interrupted, and only the newest event follows; at most once in `longest_wait`.
`parallel`: the event starts a run of its own.
"""

OnHollow: TypeAlias = Literal["alert", "fail", "none"]
"""What happens to a run of an automation that is `hollow`. `alert`: it stays SUCCEEDED, and event
endpoints get `run.hollow`. `fail`: it is FAILED with `agent_did_nothing`, which counts for
`pause_after_failures`, and endpoints get `run.failed`. `none`: it stays SUCCEEDED, and
`run.hollow` is not sent. `hollow` and `hollow_reason` of the run are the same in each case.
Other runs are treated as with `alert`.
"""

BudgetScope: TypeAlias = Literal["team", "factory", "agent", "automation", "key"]
"""The runs that share a budget. `team`: all. `factory`, `agent`, `automation`: its runs. `key`:
the runs that an API key has created.
"""

BudgetPeriod: TypeAlias = Literal["day", "week", "month", "total"]
"""When a budget starts again at zero, in its time zone. A week begins on Monday. `total`: never. A
call counts in the period in which it was sent.
"""


@with_config(STRICT)
class CreateBudgetRequest(TypedDict, total=False):
    """A budget."""

    scope: Required[BudgetScope]

    scope_uid: str
    """The factory, agent, automation or key. Required for these scopes, and not allowed for
    `team`.
    """

    period: Required[BudgetPeriod]

    time_zone: str
    """IANA time zone, such as `Europe/Berlin`."""

    max_cost_usd: Required[float]
    """The most that the runs can spend in a period, in US dollars. With 0 they can spend nothing."""

    action: Literal["pause", "refuse"]
    """What happens to a run whose next call has no room."""

    notify_at: Sequence[float]
    """Shares of `max_cost_usd`. When a call takes the budget beyond a share, the timeline of its
    run gets an event.
    """


@with_config(STRICT)
class UpdateBudgetRequest(TypedDict, total=False):
    """The fields to change."""

    period: BudgetPeriod

    time_zone: str | None
    """IANA time zone, such as `Europe/Berlin`. Null means UTC."""

    max_cost_usd: float
    """The most that the runs can spend in a period, in US dollars. With 0 they can spend nothing."""

    action: Literal["pause", "refuse"] | None
    """What happens to a run whose next call has no room. Null means `pause`."""

    notify_at: Sequence[float] | None
    """Shares of `max_cost_usd`. When a call takes the budget beyond a share, the timeline of its
    run gets an event. Null means 0.8.
    """


EventType: TypeAlias = Literal[
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
"""A type of messages to event endpoints."""


@with_config(STRICT)
class RotateForgeSecretRequest(TypedDict, total=False):
    """A new secret of a connection."""

    overlap_seconds: int
    """How long the old secret stays valid, in seconds."""


ForgeProvider: TypeAlias = Literal["github", "gitea", "gitlab"]
"""The software of the forge. Forgejo is `gitea`. `gitlab` is not supported yet: it returns 422."""


@with_config(STRICT)
class CreateForgeRequest(TypedDict, total=False):
    """A connection."""

    name: Required[str]
    """Name, unique in the team. It cannot change."""

    provider: Required[ForgeProvider]

    url: str
    """URL of the forge, with `https://`, also with a path. By default, `https://github.com` for
    `github`.
    """

    token: Required[str]
    """Token of the bot account. Gitea: `write:repository`, `write:issue`, `read:user`. It is
    stored encrypted and never returned.
    """

    read_token: str
    """Token that can only read, for the requests of runs. By default, they are sent with `token`."""

    factories: Sequence[str]
    """Only runs of these factories. With an empty list, all runs of the team."""

    repositories: Sequence[str]
    """Only these repositories, as `owner/name` or `owner/*`. With an empty list, all that the bot
    can read.
    """


@with_config(STRICT)
class UpdateForgeRequest(TypedDict, total=False):
    """Fields to change."""

    token: str
    """A new token."""

    read_token: str | None
    """A new token that can only read. Null removes it."""

    factories: Sequence[str] | None
    """Only runs of these factories. Null: all."""

    repositories: Sequence[str] | None
    """Only these repositories. Null: all."""

    name: str
    """Cannot change: another value returns 400."""

    provider: str
    """Cannot change: another value returns 400."""

    url: str
    """Cannot change: another value returns 400."""


EndpointFormat: TypeAlias = Literal["standard", "slack", "slack_app"]
"""How messages are written: signed as Standard Webhooks describe, as a line of text for an
incoming webhook of Slack, Mattermost or a compatible receiver, or posted by a Slack app, so
that people can answer in Slack.
"""


@with_config(STRICT)
class CreateEventEndpointRequest(TypedDict, total=False):
    """An event endpoint."""

    url: str
    """Where messages are sent: `https://`, or `http://` in a network of `--event-private-network`.
    It can contain a credential, so later only its origin is shown. Required, except for the
    format `slack_app`: there it is the base of Slack's web API, by default
    `https://slack.com/api`.
    """

    events: Sequence[EventType] | None
    """The types of messages. With an empty list, all types, also of later releases."""

    factory_uids: Sequence[str] | None
    """Only events of these factories. With an empty list, all events."""

    description: str | None
    """A note for people."""

    enabled: bool
    """Whether messages are written and sent."""

    format: EndpointFormat

    channel: str
    """For the format `slack_app`, required: the channel to post to, by its id, such as
    `C024BE91L`.
    """

    bot_token: str
    """For the format `slack_app`, required: the bot token of the Slack app, `xoxb-…`, with the
    scope `chat:write`. It is never shown.
    """

    signing_secret: str
    """For the format `slack_app`: the signing secret of the Slack app, which proves that a click
    comes from Slack. Required with `may_answer`. It is never shown.
    """

    may_answer: Sequence[str] | None
    """For the format `slack_app`: the ids of the Slack users who may answer questions of runs, and
    cancel them. With an empty list, nobody.
    """


@with_config(STRICT)
class UpdateEventEndpointRequest(TypedDict, total=False):
    """A change of an event endpoint."""

    url: str
    """Where messages are sent: `https://`, or `http://` in a network of `--event-private-network`.
    It can contain a credential, so later only its origin is shown.
    """

    events: Sequence[EventType] | None
    """The types of messages. With an empty list, all types, also of later releases."""

    factory_uids: Sequence[str] | None
    """Only events of these factories. With an empty list, all events."""

    description: str | None
    """A note for people."""

    enabled: bool
    """Whether messages are written and sent."""

    format: EndpointFormat
    """The format that the endpoint has. It cannot change."""

    channel: str
    """For the format `slack_app`: the channel to post to, by its id, such as `C024BE91L`."""

    bot_token: str
    """For the format `slack_app`: the bot token of the Slack app, `xoxb-…`, with the scope
    `chat:write`. It is never shown.
    """

    signing_secret: str
    """For the format `slack_app`: the signing secret of the Slack app, which proves that a click
    comes from Slack. Required with `may_answer`. It is never shown.
    """

    may_answer: Sequence[str] | None
    """For the format `slack_app`: the ids of the Slack users who may answer questions of runs, and
    cancel them. With an empty list, nobody.
    """


@with_config(STRICT)
class RotateEventEndpointSecretRequest(TypedDict, total=False):
    """How to replace the secret."""

    overlap_seconds: int
    """How long the old secret also signs messages."""


@with_config(STRICT)
class ReplayEventEndpointRequest(TypedDict, total=False):
    """What to send again: exactly one of the two."""

    message_id: str
    """One message."""

    since: datetime | str
    """All messages of events since this time."""


@with_config(STRICT)
class UpdateRunRequest(TypedDict, total=False):
    """The fields to change."""

    config: Required[UpdateRunRequestConfig]
    """Only the budget of the configuration can change."""


@with_config(STRICT)
class UpdateRunRequestConfig(TypedDict, total=False):
    """Only the budget of the configuration can change."""

    budget: Required[UpdateRunRequestConfigBudget | None]
    """The run's own budget. Null removes all its caps."""


@with_config(STRICT)
class UpdateRunRequestConfigBudget(TypedDict, total=False):
    """The run's own budget. Null removes all its caps."""

    max_cost_usd: float | None
    """Cap on the cost in US dollars. Null removes it."""

    max_total_tokens: int | None
    """Cap on tokens. Null removes it."""


@with_config(STRICT)
class CreateKeyRequest(TypedDict, total=False):
    """A key to create."""

    name: Required[str]
    """Purpose."""

    scopes: Sequence[KeyScope]
    """Scopes of the key. Required, unless there is a `role`."""

    role: MemberRole
    """Instead of `scopes`: the scopes of this role."""

    owner_uid: str
    """The user or service account that owns the key; by default, the caller. It needs
    `access:manage`, and at most the scopes that both the caller and the owner have.
    """

    expires_in_seconds: int
    """Lifetime in seconds, at most that of the key that creates it. 0 means the lifetime of that
    key, which can be unlimited.
    """

    agent_uid: str
    """The agent that the key acts as."""


MemberRole: TypeAlias = Literal["viewer", "user", "editor", "admin"]
"""A set of scopes. `viewer`: `runs:read` and `factories:read`. `user`: also `runs:write`.
`editor`: also `factories:manage` and `secrets:use`. `admin`: all.
"""


@with_config(STRICT)
class CreateUserRequest(TypedDict, total=False):
    """A user to create."""

    display_name: Required[str]
    """Name, as others see it."""

    email: str
    """Address. It identifies nobody."""

    issuer: str
    """The identity provider, as its discovery document writes it. Requires `subject`. Absent: the
    user has keys, and no sign-in.
    """

    subject: str
    """The id of the person there (`sub`)."""

    role: MemberRole
    """A role to grant at once."""


@with_config(STRICT)
class CreateServiceAccountRequest(TypedDict, total=False):
    """A service account to create."""

    display_name: Required[str]
    """Name, as others see it."""

    email: str
    """Address of those who look after it."""

    role: MemberRole
    """A role to grant at once."""


@with_config(STRICT)
class UpdateMemberRequest(TypedDict, total=False):
    """Changes to a user or service account. An absent field stays unchanged."""

    display_name: str
    """Name, as others see it."""

    email: str
    """Address, or an empty text for none."""

    disabled: bool
    """Whether it is refused."""


GrantSubjectType: TypeAlias = Literal["user", "group", "service_account"]
"""To whom a role is granted. A group is one of the identity provider."""


@with_config(STRICT)
class CreateGrantRequest(TypedDict, total=False):
    """A role to grant."""

    subject_type: Required[GrantSubjectType]
    """To whom."""

    subject: Required[str]
    """The uid of the user or service account, or the name of the group."""

    role: Required[MemberRole]
    """The role."""


@with_config(STRICT)
class AssignKeyRequest(TypedDict, total=False):
    """The new owner of a key."""

    owner_uid: Required[str]
    """The uid of a user or service account."""


@with_config(STRICT)
class CreateSessionRequest(TypedDict, total=False):
    """A request to sign in."""

    api_key: str
    """A valid API key, except that of an execution."""

    state: str
    """Instead of a key, with `code`: what the identity provider sent the browser back with."""

    code: str
    """The code of the identity provider. It counts once."""

    iss: str
    """The issuer, if the identity provider sent it."""


@with_config(STRICT)
class BeginSignInRequest(TypedDict, total=False):
    """Where a user signs in."""

    provider: Required[str]
    """Name of the identity provider."""

    return_to: str
    """The page of the dashboard to return to, as a path; `/` by default."""


@with_config(STRICT)
class CreateRunParams(RunAgentRequest, PostOptions, total=False):
    """Keywords of `runs.create`."""

    source: Literal["CLI", "WEB_APP", "GITHUB_ACTION"]
    """What kind of client this is; becomes the run's `source`."""


@with_config(STRICT)
class ListRunsParams(Options, total=False):
    """Keywords of `runs.list`."""

    limit: int
    """Maximum number of items."""

    cursor: str
    """`page_info.next_cursor` of the previous page. A cursor from different filters or another
    sort order returns 400.
    """

    sort_by: Literal["updated_at", "created_at", "title", "agent"]
    """Sort key. Ties are sorted by run id."""

    sort_order: Literal["asc", "desc"]
    """Sort direction."""

    q: str
    """Search in title, prompt and skill, case-insensitive. Every word must occur as a substring.
    If all words have fewer than three characters, the title must begin with each of them. A new
    run is found within 2 seconds.
    """

    state: Sequence[RunState]
    """Only runs in one of these states. Repeat the parameter for several."""

    task_status: Sequence[Literal["running", "failed", "blocked", "cancelled", "complete"]]
    """Coarser than `state`. `running` is QUEUED, CLAIMED, PENDING or INPROGRESS. `failed` is
    FAILED or ERROR. `complete` is SUCCEEDED. Repeat the parameter for several.
    """

    name: str
    """Only runs whose configuration has this `name`."""

    model_id: str
    """Only runs whose configuration has this `model_id`."""

    creator: str
    """Only runs created by the user or service account with this uid."""

    executor: str
    """Only runs executed as the user or service account with this uid."""

    source: Sequence[RunSourceFilter]
    """Only runs from one of these sources. Repeat the parameter for several. `CUSTOM_WEBHOOK` is
    an alias of `WEBHOOK`, the value that runs show. Some sources are accepted although no run
    of this server has them: `MCP`, `TEAMS`, `AZURE_DEVOPS_WEBHOOK`, `BENCHMARK_TRIAL`,
    `CREATE_BENCHMARK_TASK`.
    """

    execution_location: ExecutionLocation
    """Only runs executed in this location."""

    created_after: datetime | str
    """Only runs created after this time."""

    created_before: datetime | str
    """Only runs created before this time."""

    updated_after: datetime | str
    """Only runs that changed after this time."""

    environment_id: str
    """Only runs in this environment. Use `empty-environment` for runs without one."""

    skill: str
    """Only runs of this skill: its `id` from `GET /agent`, or the reference that was used to
    create the runs.
    """

    skill_spec: str
    """Alias of `skill`."""

    schedule_id: str
    """Only runs that this schedule started."""

    ancestor_run_id: str
    """Only descendants of this run, at any depth."""

    subject: str
    """Only runs on this subject, such as `acme/shop#7`."""

    automation_id: str
    """Only runs that this automation started."""

    factory_uid: Sequence[str]
    """Only runs of these factories. Repeat the parameter for several."""

    factory_only: bool
    """Only runs that belong to a factory."""

    webhook_uid: str
    """Only runs started by deliveries to this webhook."""

    artifact_type: ArtifactType
    """Only runs that have an artifact of this type."""

    metadata: Mapping[str, str]
    """Only runs with this metadata, written as `metadata[key]=value`. At most five pairs. All must
    match.
    """


@with_config(STRICT)
class UpdateRunParams(UpdateRunRequest, Options, total=False):
    """Keywords of `runs.update`."""


@with_config(STRICT)
class FollowUpRunParams(RunFollowupRequest, PostOptions, total=False):
    """Keywords of `runs.follow_up`."""


@with_config(STRICT)
class ForkRunParams(ForkRunRequest, PostOptions, total=False):
    """Keywords of `runs.fork`."""


@with_config(STRICT)
class RewindRunParams(RewindRunRequest, PostOptions, total=False):
    """Keywords of `runs.rewind`."""


@with_config(STRICT)
class DeclareRunOutputParams(DeclareOutputRequest, PostOptions, total=False):
    """Keywords of `runs.declare_output`."""


@with_config(STRICT)
class PrepareAttachmentsParams(PrepareAttachmentsRequest, PostOptions, total=False):
    """Keywords of `runs.prepare_attachments`."""


@with_config(STRICT)
class CancelRunParams(PostOptions, total=False):
    """Keywords of `runs.cancel`."""

    cascade: bool
    """Also cancel the runs that this run started."""


@with_config(STRICT)
class ListRunCallsParams(Options, total=False):
    """Keywords of `runs.calls`."""

    limit: int
    """Maximum number of items."""

    cursor: str
    """`page_info.next_cursor` of the previous page. A cursor from different filters or another
    sort order returns 400.
    """


@with_config(STRICT)
class StreamRunEventsParams(Options, total=False):
    """Keywords of `runs.events`."""

    after: int
    """Same as `Last-Event-ID`, for clients that cannot set headers."""


@with_config(STRICT)
class CreateRunArtifactParams(CreateArtifactRequest, PostOptions, total=False):
    """Keywords of `runs.add_artifact`."""


@with_config(STRICT)
class CreateRunArtifactUploadParams(UploadArtifactRequest, PostOptions, total=False):
    """Keywords of `runs.add_artifact`."""


@with_config(STRICT)
class FindRunByExternalReferenceParams(Options, total=False):
    """Keywords of `runs.find_by_external_reference`."""

    url: Required[str]
    """The URL of the artifact."""


@with_config(STRICT)
class FollowUpConversationParams(RunFollowupRequest, PostOptions, total=False):
    """Keywords of `conversations.follow_up`."""


@with_config(STRICT)
class PrepareConversationAttachmentsParams(PrepareAttachmentsRequest, PostOptions, total=False):
    """Keywords of `conversations.prepare_attachments`."""


@with_config(STRICT)
class UploadAttachmentParams(Options, total=False):
    """Keywords of `uploads.put`."""

    content: Required[bytes]
    """What is sent, as it is."""


@with_config(STRICT)
class CreateScheduleParams(Schedule, PostOptions, total=False):
    """Keywords of `schedules.create`."""


@with_config(STRICT)
class UpdateScheduleParams(UpdateSchedule, Options, total=False):
    """Keywords of `schedules.update`."""


@with_config(STRICT)
class PreviewScheduleTimesParams(Options, total=False):
    """Keywords of `schedules.preview`."""

    cron: Required[str]
    """Five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, `@every 1h30m`."""

    time_zone: str
    """IANA time zone name."""

    timezone: str
    """Another name of `time_zone`."""


@with_config(STRICT)
class ListOccurrencesParams(Options, total=False):
    """Keywords of `occurrences.list`."""

    limit: int
    """Maximum number of items."""

    cursor: str
    """`page_info.next_cursor` of the previous page. A cursor from different filters or another
    sort order returns 400.
    """

    schedule_id: str
    """Only times of this schedule."""

    automation_uid: str
    """Only what this automation was to start."""

    webhook_uid: str
    """Only deliveries to this webhook."""

    kind: OccurrenceKind
    """Only this kind."""

    fate: Fate
    """Only this fate."""


@with_config(STRICT)
class ListSubjectsParams(Options, total=False):
    """Keywords of `subjects.list`."""

    limit: int
    """Maximum number of items."""

    cursor: str
    """`page_info.next_cursor` of the previous page. A cursor from different filters or another
    sort order returns 400.
    """

    automation_uid: str
    """Only subjects whose latest event was of this automation."""

    factory_uid: str
    """Only subjects of this factory."""

    subject: str
    """Only this subject, such as `acme/shop#7`."""


@with_config(STRICT)
class ListAgentSkillsParams(Options, total=False):
    """Keywords of `skills.list`."""

    repo: str
    """Only skills of this repository, written as `owner/name`."""

    refresh: bool
    """Read the repositories again instead of returning the last result."""

    sort_by: Literal["name", "last_run"]
    """Sort key. `last_run` sorts by the latest run, newest first."""

    include_malformed_skills: bool
    """Also list skills that cannot be used, each with its `error`."""


@with_config(STRICT)
class CreateAgentParams(Agent, PostOptions, total=False):
    """Keywords of `agents.create`."""


@with_config(STRICT)
class ListAgentsParams(Options, total=False):
    """Keywords of `agents.list`."""

    factory_uid: str
    """Only agents of this factory."""


@with_config(STRICT)
class UpdateAgentParams(UpdateAgent, Options, total=False):
    """Keywords of `agents.update`."""


@with_config(STRICT)
class GetNetworkPolicyParams(Options, total=False):
    """Keywords of `network.get`."""

    environment_id: str
    """The environment. By default that of the agent, the factory or the server."""

    factory_uid: str
    """The factory. Not together with `agent_uid`."""

    agent_uid: str
    """The agent."""


@with_config(STRICT)
class ListEnvironmentsParams(Options, total=False):
    """Keywords of `environments.list`."""

    sort_by: Literal["name", "last_updated"]
    """Sort key. `name` sorts from A to Z, `last_updated` from newest to oldest."""


@with_config(STRICT)
class CreateEnvironmentParams(CloudEnvironmentConfig, PostOptions, total=False):
    """Keywords of `environments.create`."""


@with_config(STRICT)
class UpdateEnvironmentParams(CloudEnvironmentConfig, Options, total=False):
    """Keywords of `environments.update`."""


@with_config(STRICT)
class CreateFactoryParams(CreateFactoryRequest, PostOptions, total=False):
    """Keywords of `factories.create`."""


@with_config(STRICT)
class ListFactoriesParams(Options, total=False):
    """Keywords of `factories.list`."""

    search: str
    """Only factories whose name or alias contains this text, case-insensitive."""

    limit: int
    """Maximum number of items."""

    cursor: str
    """`page_info.next_cursor` of the previous page. A cursor from different filters or another
    sort order returns 400.
    """


@with_config(STRICT)
class UpdateFactoryParams(UpdateFactoryRequest, Options, total=False):
    """Keywords of `factories.update`."""


@with_config(STRICT)
class DispatchToFactoryParams(DispatchRequest, PostOptions, total=False):
    """Keywords of `factories.runs.create`."""

    source: Literal["CLI", "WEB_APP", "GITHUB_ACTION"]
    """What kind of client this is; becomes the run's `source`."""


@with_config(STRICT)
class ApplyDefinitionParams(ApplyDefinitionRequest, Options, total=False):
    """Keywords of `factories.definition.apply`."""


@with_config(STRICT)
class ListRevisionsParams(Options, total=False):
    """Keywords of `factories.definition.history`."""

    limit: int
    """Maximum number of items."""

    cursor: str
    """`page_info.next_cursor` of the previous page. A cursor from different filters or another
    sort order returns 400.
    """


@with_config(STRICT)
class ValidateFactoryFilesParams(ValidateFilesRequest, Options, total=False):
    """Keywords of `factory_files.validate`."""


@with_config(STRICT)
class CreateAutomationParams(CreateAutomationRequest, PostOptions, total=False):
    """Keywords of `automations.create`."""


@with_config(STRICT)
class UpdateAutomationParams(UpdateAutomationRequest, Options, total=False):
    """Keywords of `automations.update`."""


@with_config(STRICT)
class RunAutomationParams(PostOptions, total=False):
    """Keywords of `automations.run`."""

    source: Literal["CLI", "WEB_APP", "GITHUB_ACTION"]
    """What kind of client this is; becomes the run's `source`."""


@with_config(STRICT)
class TestFilterParams(TestFilterRequest, PostOptions, total=False):
    """Keywords of `automations.test_filter`."""


@with_config(STRICT)
class CreateWebhookParams(CreateWebhookRequest, PostOptions, total=False):
    """Keywords of `webhooks.create`."""


@with_config(STRICT)
class UpdateWebhookParams(UpdateWebhookRequest, Options, total=False):
    """Keywords of `webhooks.update`."""


@with_config(STRICT)
class RotateWebhookSecretParams(RotateSecretRequest, PostOptions, total=False):
    """Keywords of `webhooks.rotate_secret`."""


@with_config(STRICT)
class SendTestDeliveryParams(TestDeliveryRequest, PostOptions, total=False):
    """Keywords of `webhooks.send_test`."""


@with_config(STRICT)
class VerifyWebhookRequestParams(VerifyWebhookRequest, PostOptions, total=False):
    """Keywords of `webhooks.verify_request`."""


@with_config(STRICT)
class ListDeliveriesParams(Options, total=False):
    """Keywords of `deliveries.list`."""

    limit: int
    """Maximum number of items."""

    cursor: str
    """`page_info.next_cursor` of the previous page. A cursor from different filters or another
    sort order returns 400.
    """

    outcome: Literal[
        "accepted", "duplicate", "rejected_auth", "rejected_json", "rejected_size", "rejected"
    ]
    """Only deliveries with this outcome. `rejected` includes all three kinds of rejection."""

    no_run: bool
    """Only accepted deliveries that started no run. Deliveries that only verified the URL are
    excluded.
    """

    search: str
    """Only accepted deliveries whose payload contains this text, byte for byte. A page of a search
    reads at most 500 payloads. So it can have fewer items than `limit`, or none, although
    `has_next_page` is true.
    """

    received_after: datetime | str
    """Only deliveries received after this time."""

    received_before: datetime | str
    """Only deliveries received before this time."""


@with_config(STRICT)
class CreateSecretParams(CreateSecretRequest, PostOptions, total=False):
    """Keywords of `secrets.create`."""


@with_config(STRICT)
class SetSecretParams(SetSecretRequest, Options, total=False):
    """Keywords of `secrets.set`."""


@with_config(STRICT)
class GetUsageParams(Options, total=False):
    """Keywords of `usage.get`."""

    from_: datetime | str
    """Start of the period. By default 30 days before `to`."""

    to: datetime | str
    """End of the period, not included; at most 400 days after `from`. By default now."""

    group_by: Literal["day", "model", "provider", "automation", "agent", "factory", "key"]
    """How to group the calls into rows."""

    time_zone: str
    """IANA time zone of the days."""

    interval: Literal["hour"]
    """Also returns the costs of each hour, of the first 8 rows and of all others. For at most 31
    days, and not for `group_by=day`.
    """


@with_config(STRICT)
class CreateBudgetParams(CreateBudgetRequest, PostOptions, total=False):
    """Keywords of `budgets.create`."""


@with_config(STRICT)
class UpdateBudgetParams(UpdateBudgetRequest, Options, total=False):
    """Keywords of `budgets.update`."""


@with_config(STRICT)
class CreateForgeParams(CreateForgeRequest, PostOptions, total=False):
    """Keywords of `forges.create`."""


@with_config(STRICT)
class UpdateForgeParams(UpdateForgeRequest, Options, total=False):
    """Keywords of `forges.update`."""


@with_config(STRICT)
class RotateForgeSecretParams(RotateForgeSecretRequest, PostOptions, total=False):
    """Keywords of `forges.rotate_secret`."""


@with_config(STRICT)
class ListForgeDeliveriesParams(Options, total=False):
    """Keywords of `forges.deliveries`."""

    limit: int
    """Maximum number of items."""

    cursor: str
    """`page_info.next_cursor` of the previous page. A cursor from different filters or another
    sort order returns 400.
    """

    outcome: Literal[
        "accepted", "duplicate", "rejected_auth", "rejected_json", "rejected_size", "rejected"
    ]
    """Only deliveries with this outcome. `rejected` includes all three kinds of rejection."""

    no_run: bool
    """Only accepted deliveries that started no run. Deliveries that only verified the URL are
    excluded.
    """

    search: str
    """Only accepted deliveries whose payload contains this text, byte for byte. A page of a search
    reads at most 500 payloads. So it can have fewer items than `limit`, or none, although
    `has_next_page` is true.
    """

    received_after: datetime | str
    """Only deliveries received after this time."""

    received_before: datetime | str
    """Only deliveries received before this time."""


@with_config(STRICT)
class ListOutputsParams(Options, total=False):
    """Keywords of `outputs.list`."""

    state: Required[OutputState]
    """Only outputs in this state."""


@with_config(STRICT)
class CreateEventEndpointParams(CreateEventEndpointRequest, PostOptions, total=False):
    """Keywords of `event_endpoints.create`."""


@with_config(STRICT)
class UpdateEventEndpointParams(UpdateEventEndpointRequest, Options, total=False):
    """Keywords of `event_endpoints.update`."""


@with_config(STRICT)
class RotateEventEndpointSecretParams(RotateEventEndpointSecretRequest, PostOptions, total=False):
    """Keywords of `event_endpoints.rotate_secret`."""


@with_config(STRICT)
class ListEventEndpointAttemptsParams(Options, total=False):
    """Keywords of `event_endpoints.attempts`."""

    limit: int
    """Maximum number of items."""

    cursor: str
    """`page_info.next_cursor` of the previous page. A cursor from different filters or another
    sort order returns 400.
    """

    message_id: str
    """Only attempts of this message."""


@with_config(STRICT)
class ReplayEventEndpointMessagesParams(ReplayEventEndpointRequest, PostOptions, total=False):
    """Keywords of `event_endpoints.replay`."""


@with_config(STRICT)
class CreateKeyParams(CreateKeyRequest, PostOptions, total=False):
    """Keywords of `keys.create`."""


@with_config(STRICT)
class AssignKeyParams(AssignKeyRequest, Options, total=False):
    """Keywords of `keys.assign`."""


@with_config(STRICT)
class CreateUserParams(CreateUserRequest, PostOptions, total=False):
    """Keywords of `users.create`."""


@with_config(STRICT)
class UpdateUserParams(UpdateMemberRequest, Options, total=False):
    """Keywords of `users.update`."""


@with_config(STRICT)
class CreateServiceAccountParams(CreateServiceAccountRequest, PostOptions, total=False):
    """Keywords of `service_accounts.create`."""


@with_config(STRICT)
class UpdateServiceAccountParams(UpdateMemberRequest, Options, total=False):
    """Keywords of `service_accounts.update`."""


@with_config(STRICT)
class CreateGrantParams(CreateGrantRequest, PostOptions, total=False):
    """Keywords of `grants.create`."""


@with_config(STRICT)
class GetStatsParams(Options, total=False):
    """Keywords of `stats.get`."""

    hours: int
    """Number of hours, including the current one."""


@with_config(STRICT)
class CreateSessionParams(CreateSessionRequest, Options, total=False):
    """Keywords of `session.create`."""


@with_config(STRICT)
class BeginSignInParams(BeginSignInRequest, Options, total=False):
    """Keywords of `session.begin`."""
