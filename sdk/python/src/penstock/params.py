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
    "Attachment",
    "CancelRunParams",
    "CloudEnvironmentConfig",
    "CreateAgentParams",
    "CreateArtifactRequest",
    "CreateArtifactRequestData",
    "CreateAutomationParams",
    "CreateAutomationRequest",
    "CreateEnvironmentParams",
    "CreateFactoryParams",
    "CreateFactoryRequest",
    "CreateKeyParams",
    "CreateKeyRequest",
    "CreateRunArtifactParams",
    "CreateRunArtifactUploadParams",
    "CreateRunParams",
    "CreateScheduleParams",
    "CreateSecretParams",
    "CreateSecretRequest",
    "CreateSessionParams",
    "CreateSessionRequest",
    "CreateWebhookParams",
    "CreateWebhookRequest",
    "CronTrigger",
    "DispatchRequest",
    "DispatchToFactoryParams",
    "ExecutionLocation",
    "FactoryRepository",
    "FindRunByExternalReferenceParams",
    "FollowUpConversationParams",
    "FollowUpRunParams",
    "FollowupAttachment",
    "GitHubRepo",
    "GitRepo",
    "Harness",
    "KeyScope",
    "ListAgentSkillsParams",
    "ListAgentsParams",
    "ListDeliveriesParams",
    "ListEnvironmentsParams",
    "ListFactoriesParams",
    "ListRevisionsParams",
    "ListRunsParams",
    "ListedFile",
    "MCPServerConfig",
    "MemoryStoreRef",
    "PrepareAttachment",
    "PrepareAttachmentsParams",
    "PrepareAttachmentsRequest",
    "PrepareConversationAttachmentsParams",
    "PreviewScheduleTimesParams",
    "RotateSecretRequest",
    "RotateWebhookSecretParams",
    "RunAgentRequest",
    "RunFollowupRequest",
    "RunMode",
    "RunSourceFilter",
    "RunState",
    "Schedule",
    "SecretRef",
    "SecretRefresh",
    "SetSecretParams",
    "SetSecretRequest",
    "Signature",
    "SignatureScheme",
    "StreamRunEventsParams",
    "TestFilterParams",
    "TestFilterRequest",
    "Trigger",
    "UpdateAgent",
    "UpdateAgentParams",
    "UpdateAutomationParams",
    "UpdateAutomationRequest",
    "UpdateEnvironmentParams",
    "UpdateFactoryParams",
    "UpdateFactoryRequest",
    "UpdateSchedule",
    "UpdateScheduleParams",
    "UpdateWebhookParams",
    "UpdateWebhookRequest",
    "UploadArtifactRequest",
    "UploadAttachmentParams",
    "ValidateFactoryFilesParams",
    "ValidateFilesRequest",
    "WebhookAuthMode",
]


@with_config(STRICT)
class RunAgentRequest(TypedDict, total=False):
    """Asks for a run. One of `prompt`, `skill`, `config.skill_spec`, `config.skills` and
    `conversation_id` is required.
    """

    prompt: str
    """What the agent is asked to do."""

    title: str
    """Shown in lists. Without it the first line of the prompt, cut at a word, at most 80
    characters.
    """

    config: AmbientAgentConfig | InstanceOf[types.AmbientAgentConfig]

    skill: str
    """The skill to run, as in `config.skill_spec`, which it wins over."""

    mode: RunMode

    conversation_id: str
    """Continue this conversation."""

    attachments: Sequence[Attachment]
    """Files that the agent finds in `.penstock/attachments/` of its workspace. 25 MB in all."""

    agent_identity_uid: str
    """The agent to run as; its configuration fills what `config` leaves open. A foreman's makes
    this a dispatch to its factory.
    """

    on_behalf_of: str
    """The uid of the user to run for. For admins, and for agents with `on_behalf_of_enabled`; else
    403.
    """

    parent_run_id: str
    """The run that this one belongs to. At most 8 levels deep."""

    interactive: bool
    """Keep the session open for follow-ups for `config.idle_timeout_minutes` after each turn."""

    team: bool
    """Whether the team sees the run. A personal one is seen by its creator and admins only."""

    metadata: Mapping[str, str]


RunMode: TypeAlias = Literal["normal", "plan", "orchestrate"]
"""`plan` and `orchestrate` tell the agent to plan first and ask, which leaves the run BLOCKED
until a follow-up answers.
"""


@with_config(STRICT)
class Attachment(TypedDict, total=False):
    """A file sent along."""

    file_name: Required[str]
    """Its name, without folders."""

    mime_type: Required[str]
    """Its media type."""

    data: Required[Base64]
    """Its content in base64."""


@with_config(STRICT)
class RunFollowupRequest(TypedDict, total=False):
    """A message to the agent of a run."""

    message: str
    """What to tell it. May be empty only with attachments, or to continue a saved conversation."""

    mode: RunMode

    attachments: Sequence[FollowupAttachment]
    """Files for the agent, at most 25, of them at most 5 with their content, of 25 MiB together."""


@with_config(STRICT)
class FollowupAttachment(TypedDict, total=False):
    """A file that goes with a follow-up. Either `attachment_id`, or `file_name`, `mime_type` and
    `data`.
    """

    attachment_id: str
    """Of a file that was prepared for this run and uploaded, or that came with another of its
    follow-ups.
    """

    file_name: str
    """Its name, without folders; with `attachment_id`, a name to use instead of its own."""

    mime_type: str
    """Its media type."""

    data: Base64
    """Its content in base64."""


@with_config(STRICT)
class PrepareAttachmentsRequest(TypedDict, total=False):
    """Files to be uploaded."""

    files: Required[Sequence[PrepareAttachment]]
    """The files."""


@with_config(STRICT)
class PrepareAttachment(TypedDict, total=False):
    """A file to be uploaded."""

    filename: Required[str]
    """Its name, without folders."""

    mime_type: Required[str]
    """Its media type."""


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
"""`QUEUED` waits. `CLAIMED` is taken by a worker. `PENDING` is being prepared. `INPROGRESS` means
the agent works. `BLOCKED` waits for a person; a follow-up answers it. `SUCCEEDED` is done.
`FAILED` ended for a cause that its owner can mend, `ERROR` for a cause of the server's.
`CANCELLED` was cancelled.
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
"""What made a run, as a filter takes it."""

ExecutionLocation: TypeAlias = Literal["LOCAL", "REMOTE"]
"""`REMOTE` is a worker, the one inside the server among them. No run of this server is `LOCAL`, on
a user's own machine.
"""


@with_config(STRICT)
class AmbientAgentConfig(TypedDict, total=False):
    """How a run is executed. What is left out is decided by the automation, the agent, the factory
    or the server, in this order.
    """

    name: str
    """A label to group and filter runs by. A run from a skill, or from the only entry of `skills`,
    gets the skill's name unless one is given.
    """

    model_id: str
    """The model, see `GET /agent/models`, or an alias that the server gives one. `auto`, and
    `auto-*` without an alias, is the server's own.
    """

    base_prompt: str
    """What the agent is told before any prompt."""

    environment_id: str
    """The environment to work in."""

    runner_id: str
    """The runner to work on, a name of `runners` in the files of the agent's factory. Its set-up
    commands come before the environment's, its image replaces the environment's, and where no
    worker has its platform the run waits and says so.
    """

    skill_spec: str
    """The skill to run. Not together with `skills`. A bare name means a skill of the run's agent,
    else of its factory, else the bundled skill with that id, else one in the environment's
    repositories; the other forms (`owner/repo:path/SKILL.md`, `owner/repo:name`, `repo:name`)
    are in a repository. The name is the one in the frontmatter of the SKILL.md, else that of
    its folder. At most 1,024 bytes. In answers it is also the entry of `skills` where there is
    only one.
    """

    skills: Sequence[str]
    """Skills to have at hand, beside all those of the agent and its factory. Named as in
    `skill_spec`, and not together with it.
    """

    mcp_servers: Mapping[str, MCPServerConfig | InstanceOf[types.MCPServerConfig]]
    """MCP servers for the agent, by name."""

    harness: Harness | InstanceOf[types.Harness]

    harness_auth_secrets: Mapping[str, str]
    """Names of managed secrets that hold a harness's credentials, such as
    `claude_auth_secret_name`.
    """

    idle_timeout_minutes: int
    """How long an interactive session stays open after a turn. 0 ends it with the turn."""

    worker_host: str
    """The self-hosted worker to run on. While it is not connected, the run waits. `warp`, hosted
    execution, means any worker; the timeline notes it as `any_worker`.
    """

    session_sharing: AmbientAgentConfigSessionSharing
    """What anybody with the run's link may do."""

    memory_stores: Sequence[MemoryStoreRef | InstanceOf[types.MemoryStoreRef]]
    """Memory stores for the agent, each once. Kept and shown; this server has none."""

    inference_providers: AmbientAgentConfigInferenceProviders
    """Settings of model providers. Kept and shown; the server's own are used."""

    credential_strategy: Literal["CREATOR", "EXECUTOR"] | None
    """Whose credentials the run uses. The executor's unless set."""

    computer_use_enabled: bool
    """Whether the agent may use a screen."""

    computer_use_model_id: str
    """The model for that."""

    max_duration_minutes: int
    """How long one execution may work before it is ended, FAILED."""

    budget: AmbientAgentConfigBudget
    """What the run may use before it is ended, FAILED."""

    env: Mapping[str, str]
    """Environment variables of the sandbox. The built-in agent gives them to commands and MCP
    servers. A harness to which the server gives keys takes no variables that can decide where
    they are sent or what code runs beside them, such as `HTTPS_PROXY`, `SSL_CERT_FILE`,
    `NODE_OPTIONS` or `LD_PRELOAD`.
    """

    secrets: Sequence[str | SecretRef | InstanceOf[types.SecretRef]]
    """Managed secrets to give to the run, by name. Each becomes an environment variable and is
    masked in everything recorded. A request may also give an object with the `name`; it needs
    the scope `secrets:use`.
    """


@with_config(STRICT)
class AmbientAgentConfigSessionSharing(TypedDict, total=False):
    """What anybody with the run's link may do."""

    public_access: Literal["VIEWER", "EDITOR"]
    """Watch or also steer."""


@with_config(STRICT)
class AmbientAgentConfigInferenceProviders(TypedDict, total=False):
    """Settings of model providers. Kept and shown; the server's own are used."""

    aws: AmbientAgentConfigInferenceProvidersAws
    """How AWS Bedrock is reached."""


@with_config(STRICT)
class AmbientAgentConfigBudget(TypedDict, total=False):
    """What the run may use before it is ended, FAILED."""

    max_total_tokens: int
    """Tokens in and out. 0 means no bound."""

    max_cost_usd: float
    """Cost of the model. 0 means no bound."""


@with_config(STRICT)
class AmbientAgentConfigInferenceProvidersAws(TypedDict, total=False):
    """How AWS Bedrock is reached."""

    disabled: bool
    """Whether to go without it."""

    region: str
    """Its region."""

    role_arn: str
    """The role to assume."""


@with_config(STRICT)
class Harness(TypedDict, total=False):
    """The agent program."""

    type: str
    """`builtin` (the default; `oz` is read as the same), `claude`, `codex`, `gemini`, `opencode`,
    `command`, or one that the server's configuration names. An unknown one is a 400.
    """

    model_id: str
    """The model for it."""

    reasoning_level: str
    """How hard it should think, for programs that have such a setting."""


@with_config(STRICT)
class MCPServerConfig(TypedDict, total=False):
    """An MCP server. Exactly one of `id`, `command` and `url`. Values of `env` and `headers` may
    name a managed secret as `${{ secrets.NAME }}`. This server manages no MCP servers: a run
    goes without one that is named by `id`, and notes it on the timeline as
    `mcp_server_not_used`.
    """

    id: str
    """A managed server."""

    warp_id: str
    """The same as `id`. Never in answers."""

    command: str
    """A program to start inside the sandbox."""

    args: Sequence[str]
    """Its arguments."""

    env: Mapping[str, str]
    """Its environment variables."""

    url: str
    """The address of a remote server."""

    headers: Mapping[str, str]
    """Headers to send to it."""


ArtifactType: TypeAlias = Literal[
    "PLAN", "PULL_REQUEST", "SCREENSHOT", "FILE", "EXTERNAL_REFERENCE"
]
"""A kind of artifact."""


@with_config(STRICT)
class CreateArtifactRequest(TypedDict, total=False):
    """A plan, a pull request or a reference."""

    artifact_type: Required[Literal["PLAN", "PULL_REQUEST", "EXTERNAL_REFERENCE"]]
    """Which of them."""

    data: Required[CreateArtifactRequestData]
    """For PLAN `content` (Markdown) and perhaps `title` and `url`; for PULL_REQUEST `branch`,
    `url` and perhaps `status`; for EXTERNAL_REFERENCE `reference_type` and `url` and perhaps
    `title` and `metadata`.
    """


@with_config(STRICT)
class CreateArtifactRequestData(TypedDict, total=False):
    """For PLAN `content` (Markdown) and perhaps `title` and `url`; for PULL_REQUEST `branch`,
    `url` and perhaps `status`; for EXTERNAL_REFERENCE `reference_type` and `url` and perhaps
    `title` and `metadata`.
    """

    title: str
    """A line about it."""

    url: str
    """Where it is."""

    content: str
    """The plan."""

    branch: str
    """The branch."""

    reference_type: str
    """What is referred to, in a word of yours."""

    metadata: Mapping[str, Any]
    """More about it."""


@with_config(STRICT)
class UploadArtifactRequest(TypedDict, total=False):
    """A file or a screenshot."""

    file: Required[bytes]
    """The content. Its `filename` and media type are taken from the part unless given below."""

    artifact_type: Literal["FILE", "SCREENSHOT"]
    """Which of them."""

    filename: str
    """Its name, without folders."""

    filepath: str
    """Its path in the workspace."""

    mime_type: str
    """Its media type."""

    title: str
    """A line about it."""

    description: str
    """What it shows."""


@with_config(STRICT)
class CloudEnvironmentConfig(TypedDict, total=False):
    """What an environment is made of."""

    name: str
    """Its name."""

    description: str
    """What it is for."""

    docker_image: str
    """The image for workers that use containers. Others run on the host's tools and say so on the
    timeline.
    """

    github_repos: Sequence[GitHubRepo | InstanceOf[types.GitHubRepo]]
    """Repositories on GitHub to clone."""

    repos: Sequence[GitRepo | InstanceOf[types.GitRepo]]
    """Repositories anywhere to clone."""

    setup_commands: Sequence[str]
    """Shell commands that prepare the workspace, in order. One that fails ends the run FAILED."""

    providers: Mapping[str, Any]
    """Settings of cloud providers. Kept and handed on as given."""

    failure_session_retention_minutes: int | None
    """How long the sandbox of a failed run is kept. Not at all without it."""


@with_config(STRICT)
class GitHubRepo(TypedDict, total=False):
    """A repository on GitHub."""

    owner: Required[str]
    """Its owner."""

    repo: Required[str]
    """Its name."""


@with_config(STRICT)
class GitRepo(TypedDict, total=False):
    """A Git repository."""

    url: Required[str]
    """Its address, `https://` or `ssh://`."""

    ref: str
    """A branch, tag or commit. Without it the default branch."""


@with_config(STRICT)
class Agent(TypedDict, total=False):
    """An agent to be created."""

    name: Required[str]
    """Its name."""

    description: str
    """What it is for."""

    prompt: str
    """What it is told before any prompt."""

    base_model: str
    """The model of its runs."""

    harness: Harness | InstanceOf[types.Harness]
    """The agent program of its runs."""

    base_harness: str
    """The type of `harness` alone. `harness` wins; one of another type is a 400."""

    environment_id: str
    """The environment of its runs."""

    default_runner_uid: str
    """The runner of its runs: a name of `runners` in the files of its factory."""

    worker_host: str
    """The self-hosted worker of its runs."""

    secrets: Sequence[SecretRef | InstanceOf[types.SecretRef]]
    """Managed secrets that its runs get."""

    skills: Sequence[str]
    """Skills that its runs have at hand."""

    mcp_servers: Mapping[str, MCPServerConfig | InstanceOf[types.MCPServerConfig]]
    """MCP servers of its runs, by name."""

    memory: AgentMemory | InstanceOf[types.AgentMemory]
    """What it remembers between runs."""

    harness_auth_secrets: Mapping[str, str]
    """Names of managed secrets that hold a harness's credentials."""

    credential_strategy: Literal["CREATOR", "EXECUTOR"]
    """Whose credentials its runs use."""

    on_behalf_of_enabled: bool
    """Whether it may start runs on behalf of users."""

    agent_type: Literal["FOREMAN", "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY", "CUSTOM"]
    """Its part in a factory."""


@with_config(STRICT)
class UpdateAgent(TypedDict, total=False):
    """Changes to an agent. Absent or null leaves a field, an empty value clears it."""

    name: str | None
    """Its name. It cannot be cleared."""

    description: str | None
    """What it is for."""

    prompt: str | None
    """What it is told before any prompt."""

    base_model: str | None
    """The model of its runs."""

    harness: Harness | InstanceOf[types.Harness] | None
    """The agent program of its runs."""

    base_harness: str | None
    """The type of `harness` alone. `harness` wins; one of another type is a 400. Empty clears
    `harness`.
    """

    environment_id: str | None
    """The environment of its runs."""

    default_runner_uid: str | None
    """The runner of its runs: a name of `runners` in the files of its factory."""

    worker_host: str | None
    """The self-hosted worker of its runs."""

    secrets: Sequence[SecretRef | InstanceOf[types.SecretRef]] | None
    """Managed secrets that its runs get."""

    secrets_append: Sequence[SecretRef | InstanceOf[types.SecretRef]]
    """Secrets that its runs get beside those that they get now. The only field of its request. One
    that the agent has is skipped.
    """

    skills: Sequence[str] | None
    """Skills that its runs have at hand."""

    mcp_servers: Mapping[str, MCPServerConfig | InstanceOf[types.MCPServerConfig]] | None
    """MCP servers of its runs, by name."""

    memory: AgentMemory | InstanceOf[types.AgentMemory] | None
    """What it remembers between runs."""

    harness_auth_secrets: Mapping[str, str] | None
    """Names of managed secrets that hold a harness's credentials."""

    credential_strategy: Literal["CREATOR", "EXECUTOR", ""] | None
    """Whose credentials its runs use."""

    on_behalf_of_enabled: bool | None
    """Whether it may start runs on behalf of users."""

    agent_type: (
        Literal["FOREMAN", "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY", "CUSTOM", ""] | None
    )
    """Its part in a factory."""


@with_config(STRICT)
class SecretRef(TypedDict, total=False):
    """A managed secret by name."""

    name: Required[str]
    """Its name."""


@with_config(STRICT)
class AgentMemory(TypedDict, total=False):
    """What an agent remembers between runs."""

    auto_memory: Required[AgentMemoryAutoMemory]
    """Memory that it keeps by itself."""

    attached_stores: Required[Sequence[MemoryStoreRef | InstanceOf[types.MemoryStoreRef]]]
    """Memory stores that it is given, each once. Kept and shown; this server has none."""


@with_config(STRICT)
class AgentMemoryAutoMemory(TypedDict, total=False):
    """Memory that it keeps by itself."""

    enabled: Required[bool]
    """Whether it does."""


@with_config(STRICT)
class MemoryStoreRef(TypedDict, total=False):
    """A memory store for an agent."""

    uid: Required[str]
    """Its uid."""

    access: Required[Literal["read_write", "read_only"]]
    """What the agent may do with it."""

    instructions: Required[str]
    """How the agent should use it."""


@with_config(STRICT)
class Schedule(TypedDict, total=False):
    """A schedule to be created. Needs a `prompt` or a skill."""

    name: Required[str]
    """Its name."""

    cron_schedule: Required[str]

    enabled: bool
    """Whether it fires."""

    prompt: str
    """What the agent is asked."""

    mode: RunMode
    """How its runs go about the prompt."""

    skill: str
    """The skill to run, as in `agent_config.skill_spec`, which it wins over."""

    agent_config: AmbientAgentConfig | InstanceOf[types.AmbientAgentConfig]
    """How its runs are executed."""

    agent_uid: str
    """The agent that its runs are executed as."""

    metadata: Mapping[str, str]
    """Labels that its runs get."""

    team: bool
    """Whether the team sees it and its runs, which is the default."""


@with_config(STRICT)
class UpdateSchedule(TypedDict, total=False):
    """A whole schedule. Needs a `prompt` or a skill."""

    name: Required[str]
    """Its name."""

    cron_schedule: Required[str]

    enabled: Required[bool]
    """Whether it fires."""

    prompt: str
    """What the agent is asked."""

    mode: RunMode
    """How its runs go about the prompt."""

    skill: str
    """The skill to run, as in `agent_config.skill_spec`, which it wins over."""

    agent_config: AmbientAgentConfig | InstanceOf[types.AmbientAgentConfig]
    """How its runs are executed."""

    agent_uid: str
    """The agent that its runs are executed as."""

    metadata: Mapping[str, str]
    """Labels that its runs get."""

    team: bool
    """Whether the team sees it and its runs, which is the default."""


KeyScope: TypeAlias = Literal[
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
"""What a key may do. `admin` includes all others, `worker` lets a key serve as a worker. With
`secrets:use` a request for a run, or a schedule, may name managed secrets, which the agent can
read, and a follow-up may go to such a run. What agents, automations and factories name needs no
such scope of the caller, nor of whoever writes it: with `factories:manage` any secret can be
given to the runs of an agent. `metrics:read` lets Prometheus read `/metrics`. `own_run` is what
the key of an execution has: it reads its own run and adds artifacts to it. No key can be
created with it.
"""


@with_config(STRICT)
class CreateSecretRequest(TypedDict, total=False):
    """A secret to be created."""

    name: Required[str]
    """Its name, which is that of the environment variable in which runs find it."""

    value: str
    """Its value, at most 65,536 bytes of UTF-8 without NUL. One of fewer than four characters
    cannot be masked in what runs print. When absent, the secret is pending.
    """


@with_config(STRICT)
class SetSecretRequest(TypedDict, total=False):
    """A secret's next value."""

    value: Required[str]
    """The value, at most 65,536 bytes of UTF-8 without NUL."""


WebhookAuthMode: TypeAlias = Literal["token", "url_token", "signature"]
"""How a delivery shows that it is the sender's: `token` in `Authorization: Bearer`, `url_token` as
the last segment of the URL, `signature` over the body by a scheme.
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
"""How a sender signs. `custom_hmac` is described by the webhook's `signature`."""


@with_config(STRICT)
class Signature(TypedDict, total=False):
    """A `custom_hmac` scheme, or the `timestamp_header` of a Grafana contact point."""

    header: str
    """The header that holds the signature."""

    prefix: str
    """What stands before the signature, such as `sha256=`."""

    hash: Literal["sha1", "sha256", "sha512"]
    """The hash of the HMAC."""

    encoding: Literal["hex", "base64"]
    """How the signature is written."""

    key_form: Literal["text", "base64", "hex", "whsec"]
    """How the secret is turned into the key: as it stands, or decoded."""

    template: str
    """The text that is signed: literal text with `{body}` once, and `{timestamp}`, `{method}`,
    `{url}`, `{path}`, `{header:Name}`.
    """

    timestamp_header: str
    """The header that holds `{timestamp}`, in unix seconds or milliseconds or RFC 3339."""


SecretRefresh: TypeAlias = Literal["apply", "immediate"]
"""When a webhook takes a new value of its managed secret: when it is changed or switched on, or at
once.
"""


@with_config(STRICT)
class CreateWebhookRequest(TypedDict, total=False):
    """A webhook to be created."""

    name: Required[str]
    """What it is called. In lower case and with - for spaces it is the webhook's `name`: 1 to 63
    letters, digits and -.
    """

    auth_mode: WebhookAuthMode
    """How a delivery shows that it is the sender's."""

    signature_scheme: SignatureScheme
    """How the sender signs, for `signature` only."""

    signature: Signature | InstanceOf[types.Signature]
    """For `custom_hmac` and `grafana` only."""

    secret: str
    """The secret, where it is not made here."""

    secret_name: str
    """The managed secret; `<NAME>_WEBHOOK_SECRET` unless it is given."""

    delivery_id_header: str
    """A header whose value tells deliveries apart, instead of the sender's own. Headers that carry
    credentials (such as `Authorization`, `Cookie`, `X-Api-Key` and every signature) or belong
    to the connection are refused.
    """

    replay_guard: bool
    """Whether the same signed bytes, their signed time included, are a duplicate under another id
    that is not signed: the value of `delivery_id_header`, a header of the sender's, or
    `X-Penstock-Delivery-Id`.
    """

    secret_refresh: SecretRefresh
    """When it takes a new value of its managed secret."""

    enabled: bool
    """Whether it takes deliveries as soon as it has its secret."""


@with_config(STRICT)
class UpdateWebhookRequest(TypedDict, total=False):
    """What is to change of a webhook."""

    signature: Signature | InstanceOf[types.Signature]
    """For `custom_hmac` and `grafana` only."""

    secret: str
    """The secret of a webhook that is pending."""

    delivery_id_header: str
    """A header whose value tells deliveries apart; empty for the sender's own."""

    replay_guard: bool
    """Whether the same signed bytes are a duplicate under another id that is not signed."""

    secret_refresh: SecretRefresh
    """When it takes a new value of its managed secret."""

    enabled: bool
    """Whether it takes deliveries."""

    suspended: bool
    """Whether it takes none although it is enabled, until that is cleared."""


@with_config(STRICT)
class RotateSecretRequest(TypedDict, total=False):
    """How a secret is replaced."""

    secret: str
    """The new secret; one is made where this is left out."""

    overlap_seconds: int
    """How long the old one stays valid. At most 5 are at a time."""


@with_config(STRICT)
class FactoryRepository(TypedDict, total=False):
    """A Git repository that defines a factory."""

    url: Required[str]
    """An `https://` or `ssh://` URL, or `user@host:path`, without credentials; `file://` where the
    server allows it.
    """

    branch: str
    """The production branch; the default branch of the repository where it is absent."""

    path: str
    """The folder that holds factory.yaml; the top of the repository where it is absent."""

    secret: str
    """The managed secret with the credential for an `https://` URL: a token, or `user:token`."""


@with_config(STRICT)
class ApplyDefinitionRequest(TypedDict, total=False):
    """Files for a factory."""

    files: Required[Mapping[str, str]]

    dry_run: bool
    """Whether only the plan is wanted."""

    base_revision: int
    """The revision that was edited; a 409 where the factory has another one by now."""


@with_config(STRICT)
class ValidateFilesRequest(TypedDict, total=False):
    """Files to be checked."""

    files: Required[Mapping[str, str] | Sequence[ListedFile]]
    """The files, by path or as a list."""


@with_config(STRICT)
class ListedFile(TypedDict, total=False):
    """A file in a list."""

    path: Required[str]
    """Its path, such as `agents/triage/agent.md`."""

    content: Required[str]
    """Its content."""


@with_config(STRICT)
class CreateFactoryRequest(TypedDict, total=False):
    """A factory to be made."""

    name: str
    """Its name; required without `files` and `repository`. With a repository it holds until the
    first commit is applied, whose factory.yaml has the name, and is that of the repository
    where it is absent.
    """

    alias: str
    """A short name for it: letters and digits of any script, spaces and `. _ -`. Not with files or
    a repository.
    """

    description: str
    """What it is for; not with files or a repository."""

    files: Mapping[str, str]

    repository: FactoryRepository | InstanceOf[types.FactoryRepository]
    """The repository that defines it; not with files."""


@with_config(STRICT)
class UpdateFactoryRequest(TypedDict, total=False):
    """What of a factory is to change."""

    name: str
    """Its name."""

    alias: str | None
    """A short name for it."""

    description: str | None
    """What it is for."""

    repository: FactoryRepository | InstanceOf[types.FactoryRepository]
    """Where it comes from, of a factory of a repository."""


@with_config(STRICT)
class DispatchRequest(TypedDict, total=False):
    """Work for a factory."""

    prompt: Required[str]
    """What is to be done."""

    title: str
    """The run's title; made from the prompt where it is absent."""

    ticket_ref: str
    """The ticket that the work is for, as `<source>:<id>`."""

    ticket_url: str
    """Where the ticket can be read."""


@with_config(STRICT)
class Trigger(TypedDict, total=False):
    """An event that an automation waits for. `webhook` / `received` waits for deliveries to
    webhooks of the factory, `schedule` / `cron_fired` for a clock of its own or for schedules
    of the team. The events of `github` and `linear` are told by deliveries to every enabled
    webhook of the factory whose `signature_scheme` has the same name; a delivery may tell
    several, and starts one run of an automation, however many of its triggers match. Triggers
    of other providers are valid and kept, and `problems` say that they are not connected, as of
    those of GitHub and Linear where the factory has no such webhook.
    """

    provider: Required[
        Literal["webhook", "schedule", "github", "gitlab", "linear", "jira", "slack", "factory"]
    ]
    """Where the event comes from."""

    event: Required[str]
    """What happened there."""

    filter: Mapping[str, Any] | None
    """What the event has to be like. Of `webhook`: `webhook_ids`, UIDs or names of the factory's
    webhooks, and `payload`, a payload filter. Of `schedule`: `schedule_ids`, where there is no
    `schedule`; both name at least one. Of the others: values for each key; all keys must match,
    and one that is absent or empty matches everything. Each key but `payload` has a list, or an
    object with `in` and `not_in`. What an event does not tell is in no list. Case does not
    count but in `branches`, `base_branches` and `paths`, which, like `repos`, may be patterns:
    `*` and `?` within a folder, `**` across folders. `paths` are files that a push changes, of
    which one must match.
    """

    schedule: CronTrigger | InstanceOf[types.CronTrigger] | None
    """Of `schedule`: a clock of its own."""


@with_config(STRICT)
class CronTrigger(TypedDict, total=False):
    """A clock. A time that the clocks show twice, in the night in which they go back, fires once,
    unless the hour of `cron` is `*`; one that they leave out fires when they go forward. A
    server that was down fires once when it is back.
    """

    cron: Required[str]
    """When to fire: five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, `@every
    1h30m`.
    """

    name: str
    """The name that its runs show."""

    timezone: str
    """IANA time zone name."""

    last_run: datetime | str
    """When it started a run last. Only in answers."""

    next_run: datetime | str
    """When it will fire. Only in answers."""

    last_error: str
    """Why its last time started no run. Only in answers."""


@with_config(STRICT)
class CreateAutomationRequest(TypedDict, total=False):
    """An automation to be made."""

    name: Required[str]
    """Its name. It is folded: lower case, with - for spaces."""

    enabled: bool
    """Whether it fires."""

    prompt: Required[str]
    """What each of its runs starts with."""

    triggers: Required[Sequence[Trigger | InstanceOf[types.Trigger]]]
    """What it waits for."""

    agent: str
    """The agent that works, by its name in the factory; the foreman where it is absent."""

    model: str
    """Model of its runs: short for the built-in harness with this model. Not with `harness`."""

    harness: Harness | InstanceOf[types.Harness]
    """The agent program of its runs. Not with `model`."""

    runner: str
    """The runner of its runs."""

    environment_id: str
    """The environment of its runs."""

    secrets: Sequence[str]
    """Managed secrets that its runs get, in place of the agent's."""

    mcp_servers: Mapping[str, MCPServerConfig | InstanceOf[types.MCPServerConfig]]
    """MCP servers of its runs by name, in place of the agent's."""

    worker_host: str
    """The self-hosted worker of its runs."""

    credential_strategy: Literal["CREATOR", "EXECUTOR"]
    """Whose credentials its runs use."""


@with_config(STRICT)
class UpdateAutomationRequest(TypedDict, total=False):
    """What of an automation is to change. Null clears."""

    name: str
    """Its name."""

    enabled: bool
    """Whether it fires."""

    prompt: str
    """What each of its runs starts with."""

    triggers: Sequence[Trigger | InstanceOf[types.Trigger]]
    """What it waits for."""

    agent: str | None
    """The agent that works, by its name in the factory; the foreman where it is absent."""

    model: str | None
    """Model of its runs: short for the built-in harness with this model. Not with `harness`."""

    harness: Harness | InstanceOf[types.Harness] | None
    """The agent program of its runs. Not with `model`."""

    runner: str | None
    """The runner of its runs."""

    environment_id: str | None
    """The environment of its runs."""

    secrets: Sequence[str] | None
    """Managed secrets that its runs get, in place of the agent's."""

    mcp_servers: Mapping[str, MCPServerConfig | InstanceOf[types.MCPServerConfig]] | None
    """MCP servers of its runs by name, in place of the agent's."""

    worker_host: str | None
    """The self-hosted worker of its runs."""

    credential_strategy: Literal["CREATOR", "EXECUTOR"] | None
    """Whose credentials its runs use."""


@with_config(STRICT)
class TestFilterRequest(TypedDict, total=False):
    """A filter, and what it is tried on. Of `payload` and `delivery_id` at most one."""

    provider: Literal["webhook", "github", "linear"]
    """Of which triggers the filter is; those of `webhook` have payload filters."""

    event: str
    """The event of a trigger of `github` or `linear`, for which it is required."""

    filter: Required[Mapping[str, Any]]
    """A payload filter, or the filter of such a trigger."""

    webhook_uid: str
    """The webhook that the delivery came to."""

    delivery_id: str
    """An accepted delivery whose payload is kept."""

    payload: Any
    """A payload, any JSON value."""

    github_event: str
    """What the header `X-GitHub-Event` of a payload of GitHub says, for which it is required."""


@with_config(STRICT)
class CreateKeyRequest(TypedDict, total=False):
    """A key to be created."""

    name: Required[str]
    """What it is for."""

    scopes: Required[Sequence[KeyScope]]
    """What it may do."""

    expires_in_seconds: int
    """How long it holds, at most as long as the key that makes it. 0 means as long as that key,
    which may be for ever.
    """

    agent_uid: str
    """The agent that its bearer acts as."""


@with_config(STRICT)
class CreateSessionRequest(TypedDict, total=False):
    """A sign-in."""

    api_key: Required[str]
    """An API key in force. That of an execution cannot sign in."""


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
class FollowUpRunParams(RunFollowupRequest, PostOptions, total=False):
    """Keywords of `runs.follow_up`."""


@with_config(STRICT)
class PrepareAttachmentsParams(PrepareAttachmentsRequest, PostOptions, total=False):
    """Keywords of `runs.prepare_attachments`."""


@with_config(STRICT)
class CancelRunParams(PostOptions, total=False):
    """Keywords of `runs.cancel`."""

    cascade: bool
    """Also cancel the runs that this run started."""


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

    timezone: str
    """IANA time zone name."""


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


@with_config(STRICT)
class CreateSecretParams(CreateSecretRequest, PostOptions, total=False):
    """Keywords of `secrets.create`."""


@with_config(STRICT)
class SetSecretParams(SetSecretRequest, Options, total=False):
    """Keywords of `secrets.set`."""


@with_config(STRICT)
class CreateKeyParams(CreateKeyRequest, PostOptions, total=False):
    """Keywords of `keys.create`."""


@with_config(STRICT)
class CreateSessionParams(CreateSessionRequest, Options, total=False):
    """Keywords of `session.create`."""
