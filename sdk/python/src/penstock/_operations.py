# Made from api/openapi.yaml by generate/ (make generate). Do not edit.
"""Each operation of the contract, described once. `Penstock` and `AsyncPenstock` carry them out."""

from __future__ import annotations

from typing import Any

from . import params, types
from ._operation import EventOperation, Operation, PageOperation

create_run: Operation[types.RunAgentResponse] = Operation(
    "createRun",
    "runs.create",
    "POST",
    "/agent/runs",
    response_type=types.RunAgentResponse,
    headers={"source": "X-Penstock-Source"},
    body=params.RunAgentRequest,
    params=params.CreateRunParams,
    takes_key=True,
)

list_runs: PageOperation[types.RunItem] = PageOperation(
    "listRuns",
    "runs.list",
    "GET",
    "/agent/runs",
    response_type=types.ListRunsResponse,
    items="runs",
    query=(
        "limit",
        "cursor",
        "sort_by",
        "sort_order",
        "q",
        "state",
        "task_status",
        "name",
        "model_id",
        "creator",
        "executor",
        "source",
        "execution_location",
        "created_after",
        "created_before",
        "updated_after",
        "environment_id",
        "skill",
        "skill_spec",
        "schedule_id",
        "ancestor_run_id",
        "subject",
        "automation_id",
        "factory_uid",
        "factory_only",
        "webhook_uid",
        "artifact_type",
        "metadata",
    ),
    params=params.ListRunsParams,
)

get_run: Operation[types.RunItem] = Operation(
    "getRun",
    "runs.get",
    "GET",
    "/agent/runs/{runId}",
    response_type=types.RunItem,
    path_names=("run_id",),
)

update_run: Operation[types.RunItem] = Operation(
    "updateRun",
    "runs.update",
    "PATCH",
    "/agent/runs/{runId}",
    response_type=types.RunItem,
    path_names=("run_id",),
    body=params.UpdateRunRequest,
    params=params.UpdateRunParams,
)

follow_up_run: Operation[types.FollowupResponse] = Operation(
    "followUpRun",
    "runs.follow_up",
    "POST",
    "/agent/runs/{runId}/followups",
    response_type=types.FollowupResponse,
    path_names=("run_id",),
    body=params.RunFollowupRequest,
    params=params.FollowUpRunParams,
    takes_key=True,
)

interrupt_run: Operation[types.InterruptResponse] = Operation(
    "interruptRun",
    "runs.interrupt",
    "POST",
    "/agent/runs/{runId}/interrupt",
    response_type=types.InterruptResponse,
    path_names=("run_id",),
    takes_key=True,
)

list_run_checkpoints: Operation[types.Checkpoints] = Operation(
    "listRunCheckpoints",
    "runs.checkpoints",
    "GET",
    "/agent/runs/{runId}/checkpoints",
    response_type=types.Checkpoints,
    path_names=("run_id",),
)

fork_run: Operation[types.ForkRunResponse] = Operation(
    "forkRun",
    "runs.fork",
    "POST",
    "/agent/runs/{runId}/fork",
    response_type=types.ForkRunResponse,
    path_names=("run_id",),
    body=params.ForkRunRequest,
    params=params.ForkRunParams,
    takes_key=True,
)

rewind_run: Operation[types.RewindRunResponse] = Operation(
    "rewindRun",
    "runs.rewind",
    "POST",
    "/agent/runs/{runId}/rewind",
    response_type=types.RewindRunResponse,
    path_names=("run_id",),
    body=params.RewindRunRequest,
    params=params.RewindRunParams,
    takes_key=True,
)

declare_run_output: Operation[types.Output] = Operation(
    "declareRunOutput",
    "runs.declare_output",
    "POST",
    "/agent/runs/{runId}/outputs",
    response_type=types.Output,
    path_names=("run_id",),
    body=params.DeclareOutputRequest,
    params=params.DeclareRunOutputParams,
    takes_key=True,
)

list_run_outputs: Operation[types.OutputList] = Operation(
    "listRunOutputs",
    "runs.outputs",
    "GET",
    "/agent/runs/{runId}/outputs",
    response_type=types.OutputList,
    path_names=("run_id",),
)

get_fork_group: Operation[types.ForkGroup] = Operation(
    "getForkGroup",
    "runs.compare",
    "GET",
    "/agent/fork-groups/{forkGroup}",
    response_type=types.ForkGroup,
    path_names=("fork_group",),
)

prepare_attachments: Operation[types.PrepareAttachmentsResponse] = Operation(
    "prepareAttachments",
    "runs.prepare_attachments",
    "POST",
    "/agent/runs/{runId}/attachments/prepare",
    response_type=types.PrepareAttachmentsResponse,
    path_names=("run_id",),
    body=params.PrepareAttachmentsRequest,
    params=params.PrepareAttachmentsParams,
    takes_key=True,
)

cancel_run: Operation[str] = Operation(
    "cancelRun",
    "runs.cancel",
    "POST",
    "/agent/runs/{runId}/cancel",
    response_type=str,
    path_names=("run_id",),
    query=("cascade",),
    params=params.CancelRunParams,
    takes_key=True,
)

get_run_timeline: Operation[types.TimelineResponse] = Operation(
    "getRunTimeline",
    "runs.timeline",
    "GET",
    "/agent/runs/{runId}/timeline",
    response_type=types.TimelineResponse,
    path_names=("run_id",),
)

get_run_network: Operation[types.RunNetwork] = Operation(
    "getRunNetwork",
    "runs.network",
    "GET",
    "/agent/runs/{runId}/network",
    response_type=types.RunNetwork,
    path_names=("run_id",),
)

get_run_changes: Operation[types.RunChanges] = Operation(
    "getRunChanges",
    "runs.changes",
    "GET",
    "/agent/runs/{runId}/changes",
    response_type=types.RunChanges,
    path_names=("run_id",),
)

get_run_patch: Operation[bytes] = Operation(
    "getRunPatch",
    "runs.patch",
    "GET",
    "/agent/runs/{runId}/changes/{repository}/patch",
    response_type=bytes,
    path_names=(
        "run_id",
        "repository",
    ),
)

get_run_usage: Operation[types.RunUsage] = Operation(
    "getRunUsage",
    "runs.usage",
    "GET",
    "/agent/runs/{runId}/usage",
    response_type=types.RunUsage,
    path_names=("run_id",),
)

get_run_harness_usage: Operation[types.HarnessUsage] = Operation(
    "getRunHarnessUsage",
    "runs.harness_usage",
    "GET",
    "/agent/runs/{runId}/harness-usage",
    response_type=types.HarnessUsage,
    path_names=("run_id",),
)

list_run_calls: PageOperation[types.ModelCall] = PageOperation(
    "listRunCalls",
    "runs.calls",
    "GET",
    "/agent/runs/{runId}/calls",
    response_type=types.ListRunCallsResponse,
    items="calls",
    path_names=("run_id",),
    query=(
        "limit",
        "cursor",
    ),
    params=params.ListRunCallsParams,
)

get_run_conversation: Operation[types.Conversation] = Operation(
    "getRunConversation",
    "runs.conversation",
    "GET",
    "/agent/runs/{runId}/conversation",
    response_type=types.Conversation,
    path_names=("run_id",),
)

get_run_transcript: Operation[bytes] = Operation(
    "getRunTranscript",
    "runs.transcript",
    "GET",
    "/agent/runs/{runId}/transcript",
    response_type=bytes,
    path_names=("run_id",),
    link=True,
)

stream_run_events: EventOperation[types.RunEvent] = EventOperation(
    "streamRunEvents",
    "runs.events",
    "GET",
    "/agent/runs/{runId}/events",
    response_type=types.RunEvent,
    path_names=("run_id",),
    query=("after",),
    params=params.StreamRunEventsParams,
)

list_handoff_attachments: Operation[types.HandoffAttachmentsResponse] = Operation(
    "listHandoffAttachments",
    "runs.handoff_attachments",
    "GET",
    "/agent/runs/{runId}/handoff/attachments",
    response_type=types.HandoffAttachmentsResponse,
    path_names=("run_id",),
)

create_run_artifact: Operation[types.ArtifactItem] = Operation(
    "createRunArtifact",
    "runs.add_artifact",
    "POST",
    "/agent/runs/{runId}/artifacts",
    response_type=types.ArtifactItem,
    path_names=("run_id",),
    body=params.CreateArtifactRequest,
    form=params.UploadArtifactRequest,
    params=params.CreateRunArtifactParams,
    takes_key=True,
)

find_run_by_external_reference: Operation[types.RunReference] = Operation(
    "findRunByExternalReference",
    "runs.find_by_external_reference",
    "GET",
    "/agent/run-by-external-reference",
    response_type=types.RunReference,
    query=("url",),
    params=params.FindRunByExternalReferenceParams,
)

get_conversation: Operation[types.Conversation] = Operation(
    "getConversation",
    "conversations.get",
    "GET",
    "/agent/conversations/{id}",
    response_type=types.Conversation,
    path_names=("conversation_id",),
)

follow_up_conversation: Operation[types.FollowupResponse] = Operation(
    "followUpConversation",
    "conversations.follow_up",
    "POST",
    "/agent/conversations/{id}/followups",
    response_type=types.FollowupResponse,
    path_names=("conversation_id",),
    body=params.RunFollowupRequest,
    params=params.FollowUpConversationParams,
    takes_key=True,
)

interrupt_conversation: Operation[types.InterruptResponse] = Operation(
    "interruptConversation",
    "conversations.interrupt",
    "POST",
    "/agent/conversations/{id}/interrupt",
    response_type=types.InterruptResponse,
    path_names=("conversation_id",),
    takes_key=True,
)

prepare_conversation_attachments: Operation[types.PrepareAttachmentsResponse] = Operation(
    "prepareConversationAttachments",
    "conversations.prepare_attachments",
    "POST",
    "/agent/conversations/{id}/attachments/prepare",
    response_type=types.PrepareAttachmentsResponse,
    path_names=("conversation_id",),
    body=params.PrepareAttachmentsRequest,
    params=params.PrepareConversationAttachmentsParams,
    takes_key=True,
)

get_conversation_transcript: Operation[bytes] = Operation(
    "getConversationTranscript",
    "conversations.transcript",
    "GET",
    "/agent/conversations/{id}/transcript",
    response_type=bytes,
    path_names=("conversation_id",),
    link=True,
)

download_screenshot: Operation[bytes] = Operation(
    "downloadScreenshot",
    "conversations.download_screenshot",
    "GET",
    "/agent/conversations/{id}/screenshots/{uid}/download",
    response_type=bytes,
    path_names=(
        "conversation_id",
        "artifact_uid",
    ),
    link=True,
)

redirect_conversation: Operation[types.ConversationRedirect] = Operation(
    "redirectConversation",
    "conversations.redirect",
    "GET",
    "/agent/conversations/{id}/redirect",
    response_type=types.ConversationRedirect,
    path_names=("conversation_id",),
)

redirect_session: Operation[types.SessionRedirect] = Operation(
    "redirectSession",
    "sessions.redirect",
    "GET",
    "/agent/sessions/{uuid}/redirect",
    response_type=types.SessionRedirect,
    path_names=("session_id",),
)

get_artifact: Operation[types.ArtifactResponse] = Operation(
    "getArtifact",
    "artifacts.get",
    "GET",
    "/agent/artifacts/{uid}",
    response_type=types.ArtifactResponse,
    path_names=("artifact_uid",),
)

download_artifact: Operation[bytes] = Operation(
    "downloadArtifact",
    "artifacts.download",
    "GET",
    "/agent/artifacts/{uid}/download",
    response_type=bytes,
    path_names=("artifact_uid",),
    link=True,
)

download: Operation[bytes] = Operation(
    "download",
    "downloads.get",
    "GET",
    "/downloads/{token}",
    response_type=bytes,
    path_names=("token",),
    link=True,
)

upload_attachment: Operation[types.UploadedAttachment] = Operation(
    "uploadAttachment",
    "uploads.put",
    "PUT",
    "/uploads/{token}",
    response_type=types.UploadedAttachment,
    path_names=("token",),
    params=params.UploadAttachmentParams,
    raw=True,
)

create_schedule: Operation[types.ScheduledAgentItem] = Operation(
    "createSchedule",
    "schedules.create",
    "POST",
    "/agent/schedules",
    response_type=types.ScheduledAgentItem,
    body=params.Schedule,
    params=params.CreateScheduleParams,
    takes_key=True,
)

list_schedules: Operation[types.ListSchedulesResponse] = Operation(
    "listSchedules",
    "schedules.list",
    "GET",
    "/agent/schedules",
    response_type=types.ListSchedulesResponse,
)

get_schedule: Operation[types.ScheduledAgentItem] = Operation(
    "getSchedule",
    "schedules.get",
    "GET",
    "/agent/schedules/{id}",
    response_type=types.ScheduledAgentItem,
    path_names=("schedule_id",),
)

update_schedule: Operation[types.ScheduledAgentItem] = Operation(
    "updateSchedule",
    "schedules.update",
    "PUT",
    "/agent/schedules/{id}",
    response_type=types.ScheduledAgentItem,
    path_names=("schedule_id",),
    body=params.UpdateSchedule,
    params=params.UpdateScheduleParams,
)

delete_schedule: Operation[types.Success] = Operation(
    "deleteSchedule",
    "schedules.delete",
    "DELETE",
    "/agent/schedules/{id}",
    response_type=types.Success,
    path_names=("schedule_id",),
)

pause_schedule: Operation[types.ScheduledAgentItem] = Operation(
    "pauseSchedule",
    "schedules.pause",
    "POST",
    "/agent/schedules/{id}/pause",
    response_type=types.ScheduledAgentItem,
    path_names=("schedule_id",),
    takes_key=True,
)

resume_schedule: Operation[types.ScheduledAgentItem] = Operation(
    "resumeSchedule",
    "schedules.resume",
    "POST",
    "/agent/schedules/{id}/resume",
    response_type=types.ScheduledAgentItem,
    path_names=("schedule_id",),
    takes_key=True,
)

preview_schedule_times: Operation[types.ScheduleTimes] = Operation(
    "previewScheduleTimes",
    "schedules.preview",
    "GET",
    "/schedule-times",
    response_type=types.ScheduleTimes,
    query=(
        "cron",
        "time_zone",
        "timezone",
    ),
    params=params.PreviewScheduleTimesParams,
)

list_occurrences: PageOperation[types.Occurrence] = PageOperation(
    "listOccurrences",
    "occurrences.list",
    "GET",
    "/occurrences",
    response_type=types.ListOccurrencesResponse,
    items="occurrences",
    query=(
        "limit",
        "cursor",
        "schedule_id",
        "automation_uid",
        "webhook_uid",
        "kind",
        "fate",
    ),
    params=params.ListOccurrencesParams,
)

list_subjects: PageOperation[types.Subject] = PageOperation(
    "listSubjects",
    "subjects.list",
    "GET",
    "/subjects",
    response_type=types.ListSubjectsResponse,
    items="subjects",
    query=(
        "limit",
        "cursor",
        "automation_uid",
        "factory_uid",
        "subject",
    ),
    params=params.ListSubjectsParams,
)

get_subject: Operation[types.Subject] = Operation(
    "getSubject",
    "subjects.get",
    "GET",
    "/subjects/{uid}",
    response_type=types.Subject,
    path_names=("uid",),
)

list_agent_skills: Operation[types.ListAgentSkillsResponse] = Operation(
    "listAgentSkills",
    "skills.list",
    "GET",
    "/agent",
    response_type=types.ListAgentSkillsResponse,
    query=(
        "repo",
        "refresh",
        "sort_by",
        "include_malformed_skills",
    ),
    params=params.ListAgentSkillsParams,
)

list_bundled_skills: Operation[types.ListBundledSkillsResponse] = Operation(
    "listBundledSkills",
    "skills.list_bundled",
    "GET",
    "/agent/bundled-skills",
    response_type=types.ListBundledSkillsResponse,
)

create_agent: Operation[types.AgentResponse] = Operation(
    "createAgent",
    "agents.create",
    "POST",
    "/agent/identities",
    response_type=types.AgentResponse,
    body=params.Agent,
    params=params.CreateAgentParams,
    takes_key=True,
)

list_agents: Operation[types.ListAgentsResponse] = Operation(
    "listAgents",
    "agents.list",
    "GET",
    "/agent/identities",
    response_type=types.ListAgentsResponse,
    query=("factory_uid",),
    params=params.ListAgentsParams,
)

get_agent: Operation[types.AgentResponse] = Operation(
    "getAgent",
    "agents.get",
    "GET",
    "/agent/identities/{uid}",
    response_type=types.AgentResponse,
    path_names=("agent_uid",),
)

update_agent: Operation[types.AgentResponse] = Operation(
    "updateAgent",
    "agents.update",
    "PUT",
    "/agent/identities/{uid}",
    response_type=types.AgentResponse,
    path_names=("agent_uid",),
    body=params.UpdateAgent,
    params=params.UpdateAgentParams,
)

delete_agent: Operation[None] = Operation(
    "deleteAgent",
    "agents.delete",
    "DELETE",
    "/agent/identities/{uid}",
    response_type=None,
    path_names=("agent_uid",),
)

list_models: Operation[types.ListModelsResponse] = Operation(
    "listModels", "models.list", "GET", "/agent/models", response_type=types.ListModelsResponse
)

get_network_policy: Operation[types.NetworkPolicy] = Operation(
    "getNetworkPolicy",
    "network.get",
    "GET",
    "/agent/network",
    response_type=types.NetworkPolicy,
    query=(
        "environment_id",
        "factory_uid",
        "agent_uid",
    ),
    params=params.GetNetworkPolicyParams,
)

list_connected_workers: Operation[types.ListConnectedWorkersResponse] = Operation(
    "listConnectedWorkers",
    "workers.list",
    "GET",
    "/agent/connected-self-hosted-workers",
    response_type=types.ListConnectedWorkersResponse,
)

list_harnesses: Operation[types.ListHarnessesResponse] = Operation(
    "listHarnesses",
    "harnesses.list",
    "GET",
    "/agent/harnesses",
    response_type=types.ListHarnessesResponse,
)

list_environments: Operation[types.ListEnvironmentsResponse] = Operation(
    "listEnvironments",
    "environments.list",
    "GET",
    "/agent/environments",
    response_type=types.ListEnvironmentsResponse,
    query=("sort_by",),
    params=params.ListEnvironmentsParams,
)

create_environment: Operation[types.CloudEnvironment] = Operation(
    "createEnvironment",
    "environments.create",
    "POST",
    "/agent/environments",
    response_type=types.CloudEnvironment,
    body=params.CloudEnvironmentConfig,
    params=params.CreateEnvironmentParams,
    takes_key=True,
)

get_environment: Operation[types.CloudEnvironment] = Operation(
    "getEnvironment",
    "environments.get",
    "GET",
    "/agent/environments/{uid}",
    response_type=types.CloudEnvironment,
    path_names=("environment_uid",),
)

update_environment: Operation[types.CloudEnvironment] = Operation(
    "updateEnvironment",
    "environments.update",
    "PUT",
    "/agent/environments/{uid}",
    response_type=types.CloudEnvironment,
    path_names=("environment_uid",),
    body=params.CloudEnvironmentConfig,
    params=params.UpdateEnvironmentParams,
)

delete_environment: Operation[None] = Operation(
    "deleteEnvironment",
    "environments.delete",
    "DELETE",
    "/agent/environments/{uid}",
    response_type=None,
    path_names=("environment_uid",),
)

list_prebuilds: Operation[types.ListPrebuildsResponse] = Operation(
    "listPrebuilds",
    "environments.list_prebuilds",
    "GET",
    "/agent/environments/{uid}/prebuilds",
    response_type=types.ListPrebuildsResponse,
    path_names=("environment_uid",),
)

delete_prebuild: Operation[None] = Operation(
    "deletePrebuild",
    "environments.delete_prebuild",
    "DELETE",
    "/agent/environments/{uid}/prebuilds/{puid}",
    response_type=None,
    path_names=(
        "environment_uid",
        "puid",
    ),
)

create_factory: Operation[types.Factory] = Operation(
    "createFactory",
    "factories.create",
    "POST",
    "/factory",
    response_type=types.Factory,
    body=params.CreateFactoryRequest,
    params=params.CreateFactoryParams,
    takes_key=True,
)

list_factories: PageOperation[types.Factory] = PageOperation(
    "listFactories",
    "factories.list",
    "GET",
    "/factory",
    response_type=types.ListFactoriesResponse,
    items="factories",
    query=(
        "search",
        "limit",
        "cursor",
    ),
    params=params.ListFactoriesParams,
)

get_factory: Operation[types.Factory] = Operation(
    "getFactory",
    "factories.get",
    "GET",
    "/factory/{uid}",
    response_type=types.Factory,
    path_names=("factory_uid",),
)

update_factory: Operation[types.Factory] = Operation(
    "updateFactory",
    "factories.update",
    "PATCH",
    "/factory/{uid}",
    response_type=types.Factory,
    path_names=("factory_uid",),
    body=params.UpdateFactoryRequest,
    params=params.UpdateFactoryParams,
)

delete_factory: Operation[None] = Operation(
    "deleteFactory",
    "factories.delete",
    "DELETE",
    "/factory/{uid}",
    response_type=None,
    path_names=("factory_uid",),
)

sync_factory: Operation[types.Factory] = Operation(
    "syncFactory",
    "factories.sync",
    "POST",
    "/factory/{uid}/sync",
    response_type=types.Factory,
    path_names=("factory_uid",),
    takes_key=True,
)

dispatch_to_factory: Operation[types.DispatchResponse] = Operation(
    "dispatchToFactory",
    "factories.runs.create",
    "POST",
    "/factory/{uid}/runs",
    response_type=types.DispatchResponse,
    path_names=("factory_uid",),
    headers={"source": "X-Penstock-Source"},
    body=params.DispatchRequest,
    params=params.DispatchToFactoryParams,
    takes_key=True,
)

get_definition: Operation[types.FactoryFiles] = Operation(
    "getDefinition",
    "factories.definition.get",
    "GET",
    "/factory/{uid}/definition",
    response_type=types.FactoryFiles,
    path_names=("factory_uid",),
)

apply_definition: Operation[types.DefinitionPlan] = Operation(
    "applyDefinition",
    "factories.definition.apply",
    "PUT",
    "/factory/{uid}/definition",
    response_type=types.DefinitionPlan,
    path_names=("factory_uid",),
    body=params.ApplyDefinitionRequest,
    params=params.ApplyDefinitionParams,
)

list_revisions: PageOperation[types.Revision] = PageOperation(
    "listRevisions",
    "factories.definition.history",
    "GET",
    "/factory/{uid}/definition/history",
    response_type=types.ListRevisionsResponse,
    items="revisions",
    path_names=("factory_uid",),
    query=(
        "limit",
        "cursor",
    ),
    params=params.ListRevisionsParams,
)

get_revision: Operation[types.FactoryFiles] = Operation(
    "getRevision",
    "factories.definition.revision",
    "GET",
    "/factory/{uid}/definition/history/{revision}",
    response_type=types.FactoryFiles,
    path_names=(
        "factory_uid",
        "revision",
    ),
)

list_factory_schemas: Operation[types.FactorySchemaVersions] = Operation(
    "listFactorySchemas",
    "factory_files.list_schemas",
    "GET",
    "/factory-files/schemas",
    response_type=types.FactorySchemaVersions,
)

get_factory_schemas: Operation[types.FactorySchemas] = Operation(
    "getFactorySchemas",
    "factory_files.get_schemas",
    "GET",
    "/factory-files/schemas/v1alpha1",
    response_type=types.FactorySchemas,
)

get_factory_schema: Operation[dict[str, Any]] = Operation(
    "getFactorySchema",
    "factory_files.get_schema",
    "GET",
    "/factory-files/schemas/{version}/{document}",
    response_type=dict[str, Any],
    path_names=(
        "version",
        "document",
    ),
)

validate_factory_files: Operation[types.FilesValidation] = Operation(
    "validateFactoryFiles",
    "factory_files.validate",
    "POST",
    "/factory-files/validate",
    response_type=types.FilesValidation,
    body=params.ValidateFilesRequest,
    params=params.ValidateFactoryFilesParams,
)

create_automation: Operation[types.Automation] = Operation(
    "createAutomation",
    "automations.create",
    "POST",
    "/factory/{uid}/automations",
    response_type=types.Automation,
    path_names=("factory_uid",),
    body=params.CreateAutomationRequest,
    params=params.CreateAutomationParams,
    takes_key=True,
)

list_automations: Operation[types.ListAutomationsResponse] = Operation(
    "listAutomations",
    "automations.list",
    "GET",
    "/factory/{uid}/automations",
    response_type=types.ListAutomationsResponse,
    path_names=("factory_uid",),
)

get_automation: Operation[types.Automation] = Operation(
    "getAutomation",
    "automations.get",
    "GET",
    "/factory/{uid}/automations/{auid}",
    response_type=types.Automation,
    path_names=(
        "factory_uid",
        "automation_uid",
    ),
)

update_automation: Operation[types.Automation] = Operation(
    "updateAutomation",
    "automations.update",
    "PATCH",
    "/factory/{uid}/automations/{auid}",
    response_type=types.Automation,
    path_names=(
        "factory_uid",
        "automation_uid",
    ),
    body=params.UpdateAutomationRequest,
    params=params.UpdateAutomationParams,
)

delete_automation: Operation[None] = Operation(
    "deleteAutomation",
    "automations.delete",
    "DELETE",
    "/factory/{uid}/automations/{auid}",
    response_type=None,
    path_names=(
        "factory_uid",
        "automation_uid",
    ),
)

run_automation: Operation[types.RunAgentResponse] = Operation(
    "runAutomation",
    "automations.run",
    "POST",
    "/factory/{uid}/automations/{auid}/run",
    response_type=types.RunAgentResponse,
    path_names=(
        "factory_uid",
        "automation_uid",
    ),
    headers={"source": "X-Penstock-Source"},
    params=params.RunAutomationParams,
    takes_key=True,
)

test_filter: Operation[types.FilterTestResult] = Operation(
    "testFilter",
    "automations.test_filter",
    "POST",
    "/factory/{uid}/test-filter",
    response_type=types.FilterTestResult,
    path_names=("factory_uid",),
    body=params.TestFilterRequest,
    params=params.TestFilterParams,
    takes_key=True,
)

list_webhooks: Operation[types.ListWebhooksResponse] = Operation(
    "listWebhooks",
    "webhooks.list",
    "GET",
    "/factory/{uid}/webhooks",
    response_type=types.ListWebhooksResponse,
    path_names=("factory_uid",),
)

create_webhook: Operation[types.Webhook] = Operation(
    "createWebhook",
    "webhooks.create",
    "POST",
    "/factory/{uid}/webhooks",
    response_type=types.Webhook,
    path_names=("factory_uid",),
    body=params.CreateWebhookRequest,
    params=params.CreateWebhookParams,
    takes_key=True,
)

get_webhook: Operation[types.Webhook] = Operation(
    "getWebhook",
    "webhooks.get",
    "GET",
    "/factory/{uid}/webhooks/{wuid}",
    response_type=types.Webhook,
    path_names=(
        "factory_uid",
        "webhook_uid",
    ),
)

update_webhook: Operation[types.Webhook] = Operation(
    "updateWebhook",
    "webhooks.update",
    "PATCH",
    "/factory/{uid}/webhooks/{wuid}",
    response_type=types.Webhook,
    path_names=(
        "factory_uid",
        "webhook_uid",
    ),
    body=params.UpdateWebhookRequest,
    params=params.UpdateWebhookParams,
)

delete_webhook: Operation[None] = Operation(
    "deleteWebhook",
    "webhooks.delete",
    "DELETE",
    "/factory/{uid}/webhooks/{wuid}",
    response_type=None,
    path_names=(
        "factory_uid",
        "webhook_uid",
    ),
)

rotate_webhook_secret: Operation[types.Webhook] = Operation(
    "rotateWebhookSecret",
    "webhooks.rotate_secret",
    "POST",
    "/factory/{uid}/webhooks/{wuid}/rotate-secret",
    response_type=types.Webhook,
    path_names=(
        "factory_uid",
        "webhook_uid",
    ),
    body=params.RotateSecretRequest,
    params=params.RotateWebhookSecretParams,
    takes_key=True,
)

list_signature_schemes: Operation[types.ListSignatureSchemesResponse] = Operation(
    "listSignatureSchemes",
    "webhooks.list_signature_schemes",
    "GET",
    "/signature-schemes",
    response_type=types.ListSignatureSchemesResponse,
)

send_test_delivery: Operation[types.Delivery] = Operation(
    "sendTestDelivery",
    "webhooks.send_test",
    "POST",
    "/factory/{uid}/webhooks/{wuid}/test-delivery",
    response_type=types.Delivery,
    path_names=(
        "factory_uid",
        "webhook_uid",
    ),
    body=params.TestDeliveryRequest,
    params=params.SendTestDeliveryParams,
    takes_key=True,
)

verify_webhook_request: Operation[types.WebhookVerification] = Operation(
    "verifyWebhookRequest",
    "webhooks.verify_request",
    "POST",
    "/factory/{uid}/webhooks/{wuid}/verify-request",
    response_type=types.WebhookVerification,
    path_names=(
        "factory_uid",
        "webhook_uid",
    ),
    body=params.VerifyWebhookRequest,
    params=params.VerifyWebhookRequestParams,
    takes_key=True,
)

list_deliveries: PageOperation[types.Delivery] = PageOperation(
    "listDeliveries",
    "deliveries.list",
    "GET",
    "/factory/{uid}/webhooks/{wuid}/deliveries",
    response_type=types.ListDeliveriesResponse,
    items="deliveries",
    path_names=(
        "factory_uid",
        "webhook_uid",
    ),
    query=(
        "limit",
        "cursor",
        "outcome",
        "no_run",
        "search",
        "received_after",
        "received_before",
    ),
    params=params.ListDeliveriesParams,
)

get_delivery: Operation[types.Delivery] = Operation(
    "getDelivery",
    "deliveries.get",
    "GET",
    "/factory/{uid}/webhooks/{wuid}/deliveries/{did}",
    response_type=types.Delivery,
    path_names=(
        "factory_uid",
        "webhook_uid",
        "delivery_id",
    ),
)

get_delivery_payload: Operation[bytes] = Operation(
    "getDeliveryPayload",
    "deliveries.payload",
    "GET",
    "/factory/{uid}/webhooks/{wuid}/deliveries/{did}/payload",
    response_type=bytes,
    path_names=(
        "factory_uid",
        "webhook_uid",
        "delivery_id",
    ),
)

replay_delivery: Operation[types.Delivery] = Operation(
    "replayDelivery",
    "deliveries.replay",
    "POST",
    "/factory/{uid}/webhooks/{wuid}/deliveries/{did}/replay",
    response_type=types.Delivery,
    path_names=(
        "factory_uid",
        "webhook_uid",
        "delivery_id",
    ),
    takes_key=True,
)

list_secrets: Operation[types.ListSecretsResponse] = Operation(
    "listSecrets", "secrets.list", "GET", "/secrets", response_type=types.ListSecretsResponse
)

create_secret: Operation[types.Secret] = Operation(
    "createSecret",
    "secrets.create",
    "POST",
    "/secrets",
    response_type=types.Secret,
    body=params.CreateSecretRequest,
    params=params.CreateSecretParams,
    takes_key=True,
)

get_secret: Operation[types.Secret] = Operation(
    "getSecret",
    "secrets.get",
    "GET",
    "/secrets/{name}",
    response_type=types.Secret,
    path_names=("secret_name",),
)

set_secret: Operation[types.Secret] = Operation(
    "setSecret",
    "secrets.set",
    "PUT",
    "/secrets/{name}",
    response_type=types.Secret,
    path_names=("secret_name",),
    body=params.SetSecretRequest,
    params=params.SetSecretParams,
)

delete_secret: Operation[None] = Operation(
    "deleteSecret",
    "secrets.delete",
    "DELETE",
    "/secrets/{name}",
    response_type=None,
    path_names=("secret_name",),
)

get_usage: Operation[types.UsageReport] = Operation(
    "getUsage",
    "usage.get",
    "GET",
    "/usage",
    response_type=types.UsageReport,
    query=(
        "from_",
        "to",
        "group_by",
        "time_zone",
        "interval",
    ),
    params=params.GetUsageParams,
)

create_budget: Operation[types.Budget] = Operation(
    "createBudget",
    "budgets.create",
    "POST",
    "/budgets",
    response_type=types.Budget,
    body=params.CreateBudgetRequest,
    params=params.CreateBudgetParams,
    takes_key=True,
)

list_budgets: Operation[types.ListBudgetsResponse] = Operation(
    "listBudgets", "budgets.list", "GET", "/budgets", response_type=types.ListBudgetsResponse
)

get_budget: Operation[types.Budget] = Operation(
    "getBudget",
    "budgets.get",
    "GET",
    "/budgets/{uid}",
    response_type=types.Budget,
    path_names=("budget_uid",),
)

update_budget: Operation[types.Budget] = Operation(
    "updateBudget",
    "budgets.update",
    "PATCH",
    "/budgets/{uid}",
    response_type=types.Budget,
    path_names=("budget_uid",),
    body=params.UpdateBudgetRequest,
    params=params.UpdateBudgetParams,
)

delete_budget: Operation[None] = Operation(
    "deleteBudget",
    "budgets.delete",
    "DELETE",
    "/budgets/{uid}",
    response_type=None,
    path_names=("budget_uid",),
)

list_forges: Operation[types.ListForgesResponse] = Operation(
    "listForges", "forges.list", "GET", "/forges", response_type=types.ListForgesResponse
)

create_forge: Operation[types.Forge] = Operation(
    "createForge",
    "forges.create",
    "POST",
    "/forges",
    response_type=types.Forge,
    body=params.CreateForgeRequest,
    params=params.CreateForgeParams,
    takes_key=True,
)

get_forge: Operation[types.Forge] = Operation(
    "getForge",
    "forges.get",
    "GET",
    "/forges/{uid}",
    response_type=types.Forge,
    path_names=("forge_uid",),
)

update_forge: Operation[types.Forge] = Operation(
    "updateForge",
    "forges.update",
    "PATCH",
    "/forges/{uid}",
    response_type=types.Forge,
    path_names=("forge_uid",),
    body=params.UpdateForgeRequest,
    params=params.UpdateForgeParams,
)

delete_forge: Operation[None] = Operation(
    "deleteForge",
    "forges.delete",
    "DELETE",
    "/forges/{uid}",
    response_type=None,
    path_names=("forge_uid",),
)

check_forge: Operation[types.ForgeChecked] = Operation(
    "checkForge",
    "forges.check",
    "POST",
    "/forges/{uid}/check",
    response_type=types.ForgeChecked,
    path_names=("forge_uid",),
    takes_key=True,
)

list_forge_repositories: Operation[types.ListForgeRepositoriesResponse] = Operation(
    "listForgeRepositories",
    "forges.repositories",
    "GET",
    "/forges/{uid}/repositories",
    response_type=types.ListForgeRepositoriesResponse,
    path_names=("forge_uid",),
)

rotate_forge_secret: Operation[types.Forge] = Operation(
    "rotateForgeSecret",
    "forges.rotate_secret",
    "POST",
    "/forges/{uid}/rotate-secret",
    response_type=types.Forge,
    path_names=("forge_uid",),
    body=params.RotateForgeSecretRequest,
    params=params.RotateForgeSecretParams,
    takes_key=True,
)

list_forge_deliveries: PageOperation[types.Delivery] = PageOperation(
    "listForgeDeliveries",
    "forges.deliveries",
    "GET",
    "/forges/{uid}/deliveries",
    response_type=types.ListDeliveriesResponse,
    items="deliveries",
    path_names=("forge_uid",),
    query=(
        "limit",
        "cursor",
        "outcome",
        "no_run",
        "search",
        "received_after",
        "received_before",
    ),
    params=params.ListForgeDeliveriesParams,
)

get_forge_delivery: Operation[types.Delivery] = Operation(
    "getForgeDelivery",
    "forges.delivery",
    "GET",
    "/forges/{uid}/deliveries/{did}",
    response_type=types.Delivery,
    path_names=(
        "forge_uid",
        "delivery_id",
    ),
)

get_forge_delivery_payload: Operation[bytes] = Operation(
    "getForgeDeliveryPayload",
    "forges.delivery_payload",
    "GET",
    "/forges/{uid}/deliveries/{did}/payload",
    response_type=bytes,
    path_names=(
        "forge_uid",
        "delivery_id",
    ),
)

replay_forge_delivery: Operation[types.Delivery] = Operation(
    "replayForgeDelivery",
    "forges.replay",
    "POST",
    "/forges/{uid}/deliveries/{did}/replay",
    response_type=types.Delivery,
    path_names=(
        "forge_uid",
        "delivery_id",
    ),
    takes_key=True,
)

list_outputs: Operation[types.OutputList] = Operation(
    "listOutputs",
    "outputs.list",
    "GET",
    "/outputs",
    response_type=types.OutputList,
    query=("state",),
    params=params.ListOutputsParams,
)

approve_output: Operation[types.Output] = Operation(
    "approveOutput",
    "outputs.approve",
    "POST",
    "/outputs/{uid}/approve",
    response_type=types.Output,
    path_names=("output_uid",),
    takes_key=True,
)

reject_output: Operation[types.Output] = Operation(
    "rejectOutput",
    "outputs.reject",
    "POST",
    "/outputs/{uid}/reject",
    response_type=types.Output,
    path_names=("output_uid",),
    takes_key=True,
)

create_event_endpoint: Operation[types.EventEndpoint] = Operation(
    "createEventEndpoint",
    "event_endpoints.create",
    "POST",
    "/event-endpoints",
    response_type=types.EventEndpoint,
    body=params.CreateEventEndpointRequest,
    params=params.CreateEventEndpointParams,
    takes_key=True,
)

list_event_endpoints: Operation[types.ListEventEndpointsResponse] = Operation(
    "listEventEndpoints",
    "event_endpoints.list",
    "GET",
    "/event-endpoints",
    response_type=types.ListEventEndpointsResponse,
)

get_event_endpoint: Operation[types.EventEndpoint] = Operation(
    "getEventEndpoint",
    "event_endpoints.get",
    "GET",
    "/event-endpoints/{uid}",
    response_type=types.EventEndpoint,
    path_names=("endpoint_uid",),
)

update_event_endpoint: Operation[types.EventEndpoint] = Operation(
    "updateEventEndpoint",
    "event_endpoints.update",
    "PATCH",
    "/event-endpoints/{uid}",
    response_type=types.EventEndpoint,
    path_names=("endpoint_uid",),
    body=params.UpdateEventEndpointRequest,
    params=params.UpdateEventEndpointParams,
)

delete_event_endpoint: Operation[None] = Operation(
    "deleteEventEndpoint",
    "event_endpoints.delete",
    "DELETE",
    "/event-endpoints/{uid}",
    response_type=None,
    path_names=("endpoint_uid",),
)

ping_event_endpoint: Operation[types.EndpointMessageSent] = Operation(
    "pingEventEndpoint",
    "event_endpoints.ping",
    "POST",
    "/event-endpoints/{uid}/ping",
    response_type=types.EndpointMessageSent,
    path_names=("endpoint_uid",),
    takes_key=True,
)

rotate_event_endpoint_secret: Operation[types.EventEndpoint] = Operation(
    "rotateEventEndpointSecret",
    "event_endpoints.rotate_secret",
    "POST",
    "/event-endpoints/{uid}/rotate-secret",
    response_type=types.EventEndpoint,
    path_names=("endpoint_uid",),
    body=params.RotateEventEndpointSecretRequest,
    params=params.RotateEventEndpointSecretParams,
    takes_key=True,
)

list_event_endpoint_attempts: PageOperation[types.EndpointAttempt] = PageOperation(
    "listEventEndpointAttempts",
    "event_endpoints.attempts",
    "GET",
    "/event-endpoints/{uid}/attempts",
    response_type=types.ListEndpointAttemptsResponse,
    items="attempts",
    path_names=("endpoint_uid",),
    query=(
        "limit",
        "cursor",
        "message_id",
    ),
    params=params.ListEventEndpointAttemptsParams,
)

replay_event_endpoint_messages: Operation[types.EndpointMessagesReplayed] = Operation(
    "replayEventEndpointMessages",
    "event_endpoints.replay",
    "POST",
    "/event-endpoints/{uid}/replay",
    response_type=types.EndpointMessagesReplayed,
    path_names=("endpoint_uid",),
    body=params.ReplayEventEndpointRequest,
    params=params.ReplayEventEndpointMessagesParams,
    takes_key=True,
)

list_event_types: Operation[types.ListEventTypesResponse] = Operation(
    "listEventTypes",
    "event_types.list",
    "GET",
    "/event-types",
    response_type=types.ListEventTypesResponse,
)

create_key: Operation[types.Key] = Operation(
    "createKey",
    "keys.create",
    "POST",
    "/keys",
    response_type=types.Key,
    body=params.CreateKeyRequest,
    params=params.CreateKeyParams,
    takes_key=True,
)

list_keys: Operation[types.ListKeysResponse] = Operation(
    "listKeys", "keys.list", "GET", "/keys", response_type=types.ListKeysResponse
)

delete_key: Operation[None] = Operation(
    "deleteKey", "keys.delete", "DELETE", "/keys/{uid}", response_type=None, path_names=("key_uid",)
)

assign_key: Operation[types.Key] = Operation(
    "assignKey",
    "keys.assign",
    "PATCH",
    "/keys/{uid}",
    response_type=types.Key,
    path_names=("key_uid",),
    body=params.AssignKeyRequest,
    params=params.AssignKeyParams,
)

create_user: Operation[types.Member] = Operation(
    "createUser",
    "users.create",
    "POST",
    "/users",
    response_type=types.Member,
    body=params.CreateUserRequest,
    params=params.CreateUserParams,
    takes_key=True,
)

list_users: Operation[types.ListUsersResponse] = Operation(
    "listUsers", "users.list", "GET", "/users", response_type=types.ListUsersResponse
)

get_user: Operation[types.Member] = Operation(
    "getUser",
    "users.get",
    "GET",
    "/users/{uid}",
    response_type=types.Member,
    path_names=("user_uid",),
)

update_user: Operation[types.Member] = Operation(
    "updateUser",
    "users.update",
    "PATCH",
    "/users/{uid}",
    response_type=types.Member,
    path_names=("user_uid",),
    body=params.UpdateMemberRequest,
    params=params.UpdateUserParams,
)

delete_user: Operation[None] = Operation(
    "deleteUser",
    "users.delete",
    "DELETE",
    "/users/{uid}",
    response_type=None,
    path_names=("user_uid",),
)

create_service_account: Operation[types.Member] = Operation(
    "createServiceAccount",
    "service_accounts.create",
    "POST",
    "/service-accounts",
    response_type=types.Member,
    body=params.CreateServiceAccountRequest,
    params=params.CreateServiceAccountParams,
    takes_key=True,
)

list_service_accounts: Operation[types.ListServiceAccountsResponse] = Operation(
    "listServiceAccounts",
    "service_accounts.list",
    "GET",
    "/service-accounts",
    response_type=types.ListServiceAccountsResponse,
)

get_service_account: Operation[types.Member] = Operation(
    "getServiceAccount",
    "service_accounts.get",
    "GET",
    "/service-accounts/{uid}",
    response_type=types.Member,
    path_names=("service_account_uid",),
)

update_service_account: Operation[types.Member] = Operation(
    "updateServiceAccount",
    "service_accounts.update",
    "PATCH",
    "/service-accounts/{uid}",
    response_type=types.Member,
    path_names=("service_account_uid",),
    body=params.UpdateMemberRequest,
    params=params.UpdateServiceAccountParams,
)

delete_service_account: Operation[None] = Operation(
    "deleteServiceAccount",
    "service_accounts.delete",
    "DELETE",
    "/service-accounts/{uid}",
    response_type=None,
    path_names=("service_account_uid",),
)

create_grant: Operation[types.Grant] = Operation(
    "createGrant",
    "grants.create",
    "POST",
    "/grants",
    response_type=types.Grant,
    body=params.CreateGrantRequest,
    params=params.CreateGrantParams,
    takes_key=True,
)

list_grants: Operation[types.ListGrantsResponse] = Operation(
    "listGrants", "grants.list", "GET", "/grants", response_type=types.ListGrantsResponse
)

delete_grant: Operation[None] = Operation(
    "deleteGrant",
    "grants.delete",
    "DELETE",
    "/grants/{uid}",
    response_type=None,
    path_names=("grant_uid",),
)

get_me: Operation[types.Me] = Operation("getMe", "me.get", "GET", "/me", response_type=types.Me)

get_limits: Operation[types.Limits] = Operation(
    "getLimits", "limits.get", "GET", "/limits", response_type=types.Limits
)

get_stats: Operation[types.Stats] = Operation(
    "getStats",
    "stats.get",
    "GET",
    "/stats",
    response_type=types.Stats,
    query=("hours",),
    params=params.GetStatsParams,
)

create_session: Operation[types.Session] = Operation(
    "createSession",
    "session.create",
    "POST",
    "/session",
    response_type=types.Session,
    body=params.CreateSessionRequest,
    params=params.CreateSessionParams,
)

get_session: Operation[types.Session] = Operation(
    "getSession", "session.get", "GET", "/session", response_type=types.Session
)

delete_session: Operation[None] = Operation(
    "deleteSession", "session.delete", "DELETE", "/session", response_type=None
)

list_sign_in_providers: Operation[types.ListSignInProvidersResponse] = Operation(
    "listSignInProviders",
    "session.providers",
    "GET",
    "/session/providers",
    response_type=types.ListSignInProvidersResponse,
)

begin_sign_in: Operation[types.SignInStart] = Operation(
    "beginSignIn",
    "session.begin",
    "POST",
    "/session/providers",
    response_type=types.SignInStart,
    body=params.BeginSignInRequest,
    params=params.BeginSignInParams,
)
