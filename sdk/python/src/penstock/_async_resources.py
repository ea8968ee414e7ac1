# Made from api/openapi.yaml by generate/ (make generate). Do not edit.
"""The methods of `AsyncPenstock`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from typing_extensions import Unpack, overload

from . import _operations as operations
from . import params, types
from ._events import AsyncEventStream
from ._options import Options, PostOptions
from ._pages import AsyncPages
from ._resource import AsyncResource
from ._wait import AsyncRunsBase


class AsyncRuns(AsyncRunsBase):
    """`client.runs`: create, list, get, follow_up, interrupt, prepare_attachments, cancel,
    timeline, conversation, transcript, events, handoff_attachments, add_artifact,
    find_by_external_reference.
    """

    async def create(self, **arguments: Unpack[params.CreateRunParams]) -> types.RunAgentResponse:
        """Create a run.

        Queues a run and answers as soon as it is durable. Give a `prompt`, a `skill` (or
        `config.skill_spec` or `config.skills`), or a `conversation_id` to go on with. The
        configuration is resolved now, in the order request, automation, agent, factory, server,
        and never changes afterwards; `agent_config` of the run shows the result.

        A request that names managed secrets itself (`config.secrets`,
        `config.harness_auth_secrets`, `${{ secrets.NAME }}` in `config.mcp_servers`) needs the
        scope `secrets:use` too, else it is a 403; so does a follow-up to such a run. Runs never
        get a secret that the server made for a webhook. Only a caller with `secrets:manage`
        learns from an error whether a secret exists.

        A harness or worker host that is known but that no connected worker can honour is not an
        error: the run stays QUEUED and its `status_message` names what is missing.
        """
        return await self._call(operations.create_run, arguments)

    def list(self, **arguments: Unpack[params.ListRunsParams]) -> AsyncPages[types.RunItem]:
        """List runs.

        Runs of the team that the caller may see, newest change first unless asked otherwise.
        All filters combine with AND. A cursor never shows a run twice. Sorted by `created_at`
        none is missed; sorted by `updated_at` one that changes between two pages may be. A page
        ends early where it would have more than 4 MiB, with one run at least: `has_next_page`
        alone says whether there are more. A prompt of more than 16 KiB is shortened here, with
        `prompt_truncated: true`.
        """
        return self._pages(operations.list_runs, arguments)

    async def get(self, run_id: str, **arguments: Unpack[Options]) -> types.RunItem:
        """Read a run.

        Everything that is known about a run, with its resolved configuration, cost and
        artifacts.
        """
        return await self._call(operations.get_run, arguments, run_id)

    async def follow_up(
        self, run_id: str, **arguments: Unpack[params.FollowUpRunParams]
    ) -> types.FollowupResponse:
        """Send a follow-up.

        Steers a run, whatever its state. A run that still waits gets the message after its
        prompt, a working one at its next turn, a BLOCKED one as the answer, and an ended one
        starts a new execution that continues the conversation. Messages keep their order and
        none is lost. An empty message is refused unless it continues a saved conversation or
        has attachments. While another run of the conversation is not over, a message to one
        that has ended is a conflict: send it to the other.

        A message that the agent has not been given when its run ends FAILED, ERROR or CANCELLED
        is recorded as undelivered: the timeline has `followup_undelivered`, and the message
        stands in the conversation with an event block of that name. Send it again to start a
        new execution.

        The agent finds `attachments` in `.penstock/attachments/` of its workspace when it gets
        the message, which names them. A file comes with its content, or was uploaded before
        (`POST /agent/runs/{runId}/attachments/prepare`). One that is not known, or not uploaded
        yet, is a 422 `operation_not_supported`. A run and its follow-ups have at most 100 files
        with 256 MiB in all, and at most 1,000 messages with 16 MiB in all may wait: more is a
        conflict.
        """
        return await self._call(operations.follow_up_run, arguments, run_id)

    async def interrupt(
        self, run_id: str, **arguments: Unpack[PostOptions]
    ) -> types.InterruptResponse:
        """Interrupt the agent.

        Ends the agent's turn. The run and the agent's session stay: the agent goes on with the
        next follow-up. Without one the run stays INPROGRESS for `idle_timeout_minutes` (10),
        and is then BLOCKED until a follow-up comes. The interrupt takes effect even if the
        server or the worker is lost meanwhile; a turn that ends by itself first has simply
        ended. Sent again for the same turn, it does nothing. A run that is over is a 400. An
        agent that has not started yet, or waits, has no turn to interrupt: that is a 409. To
        end the run, cancel it.
        """
        return await self._call(operations.interrupt_run, arguments, run_id)

    async def prepare_attachments(
        self, run_id: str, **arguments: Unpack[params.PrepareAttachmentsParams]
    ) -> types.PrepareAttachmentsResponse:
        """Prepare attachments of a follow-up.

        Prepares up to 25 files, and returns a signed link for each. `PUT` the file to its link
        within 15 minutes; no key is needed. It has at most 25 MiB, and may be sent again. A
        follow-up to the same run then names it by `attachment_id`. A file that no follow-up
        names within 24 hours is removed.
        """
        return await self._call(operations.prepare_attachments, arguments, run_id)

    async def cancel(self, run_id: str, **arguments: Unpack[params.CancelRunParams]) -> str:
        """Cancel a run.

        Answers once the state is CANCELLED; the agent and its sandbox are gone within 10
        seconds where the worker can be reached. A run that is over already is a 400, and so is
        one that ends while the cancel is on its way: a 200 always means cancelled. Follow-ups
        that still wait are recorded as undelivered, and can be sent again.
        """
        return await self._call(operations.cancel_run, arguments, run_id)

    async def timeline(self, run_id: str, **arguments: Unpack[Options]) -> types.TimelineResponse:
        """Read a run's timeline.

        What happened to a run from outside the agent, oldest first, over all its executions.
        """
        return await self._call(operations.get_run_timeline, arguments, run_id)

    async def conversation(self, run_id: str, **arguments: Unpack[Options]) -> types.Conversation:
        """Read a run's conversation.

        The conversation of a run in a form that is the same for every harness. 404 while there
        is none yet.
        """
        return await self._call(operations.get_run_conversation, arguments, run_id)

    async def transcript(self, run_id: str, **arguments: Unpack[Options]) -> bytes:
        """Download a run's transcript.

        Redirects to a signed link to the raw transcript: the run's whole log as JSON Lines,
        known secrets masked. The link needs no key and ends after 15 minutes. 404 while there
        is none yet.
        """
        return await self._call(operations.get_run_transcript, arguments, run_id)

    def events(
        self, run_id: str, **arguments: Unpack[params.StreamRunEventsParams]
    ) -> AsyncEventStream[types.RunEvent]:
        """Watch a run live.

        Server-sent events. The stream first replays everything after `Last-Event-ID` (or from
        the beginning), then follows the run, and ends with `done` when the run is over. Each
        event's `id` is a sequence number of the run: hand the last one back to go on without a
        gap or a repeat, on any replica of the server. A comment line every 15 seconds keeps the
        connection open. The schema below is that of the events in a list, each with its `id`,
        its `event` and its `data` parsed.

        `message_delta` events carry text while it is being written, at most 20 a second. Once
        their `message` is in the log they are dropped from it, so ids may have gaps. A
        reconnect at the end of a run that is over is a 204, which tells an `EventSource` to
        stop.
        """
        return self._events(operations.stream_run_events, arguments, run_id)

    async def handoff_attachments(
        self, run_id: str, **arguments: Unpack[Options]
    ) -> types.HandoffAttachmentsResponse:
        """List what to hand over.

        The attachments of a run with signed links, for a session elsewhere that goes on with
        its work. The links end after 15 minutes.
        """
        return await self._call(operations.list_handoff_attachments, arguments, run_id)

    @overload
    async def add_artifact(
        self, run_id: str, **arguments: Unpack[params.CreateRunArtifactParams]
    ) -> types.ArtifactItem: ...

    @overload
    async def add_artifact(
        self, run_id: str, **arguments: Unpack[params.CreateRunArtifactUploadParams]
    ) -> types.ArtifactItem: ...

    async def add_artifact(self, run_id: str, **arguments: Any) -> types.ArtifactItem:
        """Add an artifact to a run.

        Above all for agents: the key that an execution is given may add to its own run. Files
        and screenshots come as `multipart/form-data`; plans, pull requests and references as
        JSON. A run has at most 500 artifacts, a URL at most 2,048 bytes, and metadata, a JSON
        object without equal keys, at most 64 KB. The values of the run's secrets are masked.
        """
        return await self._call(operations.create_run_artifact, arguments, run_id)

    async def find_by_external_reference(
        self, **arguments: Unpack[params.FindRunByExternalReferenceParams]
    ) -> types.RunReference:
        """Find a run by a reference.

        The newest run that has made an artifact with exactly this URL, such as a pull request
        or a reference.
        """
        return await self._call(operations.find_run_by_external_reference, arguments)


class AsyncConversations(AsyncResource):
    """`client.conversations`: get, follow_up, interrupt, prepare_attachments, transcript,
    download_screenshot, redirect.
    """

    async def get(self, conversation_id: str, **arguments: Unpack[Options]) -> types.Conversation:
        """Read a conversation.

        The conversation in a form that is the same for every harness.
        """
        return await self._call(operations.get_conversation, arguments, conversation_id)

    async def follow_up(
        self, conversation_id: str, **arguments: Unpack[params.FollowUpConversationParams]
    ) -> types.FollowupResponse:
        """Send a follow-up to a conversation.

        The same as `POST /agent/runs/{runId}/followups` for the run of the conversation that is
        not over, else for its newest one; `run_id` of the answer names it.
        """
        return await self._call(operations.follow_up_conversation, arguments, conversation_id)

    async def interrupt(
        self, conversation_id: str, **arguments: Unpack[PostOptions]
    ) -> types.InterruptResponse:
        """Interrupt the agent of a conversation.

        The same as `POST /agent/runs/{runId}/interrupt` for the run of the conversation that is
        not over, else for its newest one; `run_id` of the answer names it.
        """
        return await self._call(operations.interrupt_conversation, arguments, conversation_id)

    async def prepare_attachments(
        self, conversation_id: str, **arguments: Unpack[params.PrepareConversationAttachmentsParams]
    ) -> types.PrepareAttachmentsResponse:
        """Prepare attachments of a follow-up to a conversation.

        The same as `POST /agent/runs/{runId}/attachments/prepare` for the run of the
        conversation that is not over, else for its newest one.
        """
        return await self._call(
            operations.prepare_conversation_attachments, arguments, conversation_id
        )

    async def transcript(self, conversation_id: str, **arguments: Unpack[Options]) -> bytes:
        """Download a conversation's transcript.

        Redirects to a signed link to the raw transcript (JSON Lines). The link needs no key and
        ends after 15 minutes.
        """
        return await self._call(operations.get_conversation_transcript, arguments, conversation_id)

    async def download_screenshot(
        self, conversation_id: str, artifact_uid: str, **arguments: Unpack[Options]
    ) -> bytes:
        """Download a screenshot of a conversation.

        Redirects to a signed link to a SCREENSHOT artifact that a run of this conversation
        made. The link needs no key and ends after 15 minutes.
        """
        return await self._call(
            operations.download_screenshot, arguments, conversation_id, artifact_uid
        )

    async def redirect(
        self, conversation_id: str, **arguments: Unpack[Options]
    ) -> types.ConversationRedirect:
        """Find the live session of a conversation.

        Needs no key, so that a saved link can decide where to lead. `session_id` while a run of
        the conversation is live, and an empty object otherwise, for a conversation that does
        not exist too. An id that is no UUID is a 404.
        """
        return await self._call(operations.redirect_conversation, arguments, conversation_id)


class AsyncSessions(AsyncResource):
    """`client.sessions`: redirect."""

    async def redirect(
        self, session_id: str, **arguments: Unpack[Options]
    ) -> types.SessionRedirect:
        """Find the conversation of a session.

        Needs no key, so that a saved link can decide where to lead. `conversation_id` once the
        sandbox is gone, and an empty object otherwise, for a session that does not exist too.
        An id that is no UUID is a 404.
        """
        return await self._call(operations.redirect_session, arguments, session_id)


class AsyncArtifacts(AsyncResource):
    """`client.artifacts`: get, download."""

    async def get(self, artifact_uid: str, **arguments: Unpack[Options]) -> types.ArtifactResponse:
        """Read an artifact.

        An artifact with a signed link to its bytes, which ends at `expires_at`. A plan's text
        comes inline.
        """
        return await self._call(operations.get_artifact, arguments, artifact_uid)

    async def download(self, artifact_uid: str, **arguments: Unpack[Options]) -> bytes:
        """Download an artifact.

        Redirects to a signed link to the artifact's bytes, which needs no key and ends after 15
        minutes. An artifact without bytes, such as a pull request, is a 422.
        """
        return await self._call(operations.download_artifact, arguments, artifact_uid)


class AsyncDownloads(AsyncResource):
    """`client.downloads`: get."""

    async def get(self, token: str, **arguments: Unpack[Options]) -> bytes:
        """Follow a signed link.

        Where signed links of this server lead; nobody builds one by hand. The token is the
        permission, so no key is looked at. A link that is not valid or has ended is a 404: ask
        for a new one. With an object store, signed links may lead there instead.
        """
        return await self._call(operations.download, arguments, token)


class AsyncUploads(AsyncResource):
    """`client.uploads`: put."""

    async def put(
        self, token: str, **arguments: Unpack[params.UploadAttachmentParams]
    ) -> types.UploadedAttachment:
        """Upload an attachment.

        The target of the links that `attachments/prepare` returns. The body is the file, at
        most 25 MiB. The link is the permission, so no key is needed. A link that is not valid
        or has expired is a 404. Once a follow-up has named the attachment, another upload is a
        409.
        """
        return await self._call(operations.upload_attachment, arguments, token)


class AsyncSchedules(AsyncResource):
    """`client.schedules`: create, list, get, update, delete, pause, resume, preview."""

    async def create(
        self, **arguments: Unpack[params.CreateScheduleParams]
    ) -> types.ScheduledAgentItem:
        """Create a schedule.

        Starts a run at each time that `cron_schedule` names, with source SCHEDULED_AGENT. Needs
        a `prompt`, or a skill in `agent_config`. A server that was down at the time fires once
        when it is back. If `agent_config` names managed secrets, the scope `secrets:use` is
        needed too.
        """
        return await self._call(operations.create_schedule, arguments)

    async def list(self, **arguments: Unpack[Options]) -> types.ListSchedulesResponse:
        """List schedules.

        Every schedule of the team that the caller may see, by name.
        """
        return await self._call(operations.list_schedules, arguments)

    async def get(self, schedule_id: str, **arguments: Unpack[Options]) -> types.ScheduledAgentItem:
        """Read a schedule.

        A schedule with when it last ran and the next five times it will.
        """
        return await self._call(operations.get_schedule, arguments, schedule_id)

    async def update(
        self, schedule_id: str, **arguments: Unpack[params.UpdateScheduleParams]
    ) -> types.ScheduledAgentItem:
        """Replace a schedule.

        Replaces everything that a caller sets. A field that is left out is cleared. If
        `agent_config` names managed secrets, the scope `secrets:use` is needed too.
        """
        return await self._call(operations.update_schedule, arguments, schedule_id)

    async def delete(self, schedule_id: str, **arguments: Unpack[Options]) -> types.Success:
        """Delete a schedule.

        It fires no more. Runs that it started go on.
        """
        return await self._call(operations.delete_schedule, arguments, schedule_id)

    async def pause(
        self, schedule_id: str, **arguments: Unpack[PostOptions]
    ) -> types.ScheduledAgentItem:
        """Pause a schedule.

        It fires no more until it is resumed. Pausing one that is paused changes nothing.
        """
        return await self._call(operations.pause_schedule, arguments, schedule_id)

    async def resume(
        self, schedule_id: str, **arguments: Unpack[PostOptions]
    ) -> types.ScheduledAgentItem:
        """Resume a schedule.

        It fires again from its next time on; times that passed while it was paused are not made
        up for.
        """
        return await self._call(operations.resume_schedule, arguments, schedule_id)

    async def preview(
        self, **arguments: Unpack[params.PreviewScheduleTimesParams]
    ) -> types.ScheduleTimes:
        """Tell when a clock fires.

        The next five times of a cron expression, by the rules of schedules and of the clocks of
        triggers. Any key will do, except that of an execution.
        """
        return await self._call(operations.preview_schedule_times, arguments)


class AsyncSkills(AsyncResource):
    """`client.skills`: list, list_bundled."""

    async def list(
        self, **arguments: Unpack[params.ListAgentSkillsParams]
    ) -> types.ListAgentSkillsResponse:
        """List skills.

        The skills that runs can be made from, found in the repositories of the team's
        environments. A skill of one name in several places has a variant for each. Those of
        factories are in their definitions, and those that come with the server are listed by
        `GET /agent/bundled-skills`.
        """
        return await self._call(operations.list_agent_skills, arguments)

    async def list_bundled(self, **arguments: Unpack[Options]) -> types.ListBundledSkillsResponse:
        """List bundled skills.

        The catalogue of skills that a server may come with, by id. Ids are stable: usage is
        grouped by them. An id says nothing about what is there: `shipped` does, and where this
        release does not have the skill, `reason` says why. One that is shipped is used by
        giving its id as `skill`, `config.skill_spec` or in `config.skills`; a skill of the same
        name of the run's agent or factory comes first, one in a repository does not.
        """
        return await self._call(operations.list_bundled_skills, arguments)


class AsyncAgents(AsyncResource):
    """`client.agents`: create, list, get, update, delete."""

    async def create(self, **arguments: Unpack[params.CreateAgentParams]) -> types.AgentResponse:
        """Create an agent.

        A named agent that runs can be executed as, with defaults for their configuration.
        """
        return await self._call(operations.create_agent, arguments)

    async def list(self, **arguments: Unpack[params.ListAgentsParams]) -> types.ListAgentsResponse:
        """List agents.

        Every agent of the team, by name.
        """
        return await self._call(operations.list_agents, arguments)

    async def get(self, agent_uid: str, **arguments: Unpack[Options]) -> types.AgentResponse:
        """Read an agent.

        An agent with everything that its runs get by default.
        """
        return await self._call(operations.get_agent, arguments, agent_uid)

    async def update(
        self, agent_uid: str, **arguments: Unpack[params.UpdateAgentParams]
    ) -> types.AgentResponse:
        """Change an agent.

        A partial update. A field that is absent or null stays as it is; an empty value clears
        it. Runs that exist keep the configuration that they were created with. `secrets_append`
        adds secrets and replaces none. It is the only field of its request, and cannot be null.
        """
        return await self._call(operations.update_agent, arguments, agent_uid)

    async def delete(self, agent_uid: str, **arguments: Unpack[Options]) -> None:
        """Delete an agent.

        Keys of the agent stop working at once. Its runs stay. The foreman of a factory is a
        409, since it goes with its factory, and so is an agent that an automation of its
        factory names.
        """
        return await self._call(operations.delete_agent, arguments, agent_uid)


class AsyncModels(AsyncResource):
    """`client.models`: list."""

    async def list(self, **arguments: Unpack[Options]) -> types.ListModelsResponse:
        """List models.

        The models that a run can name in `config.model_id`. One that cannot be used now says
        why.
        """
        return await self._call(operations.list_models, arguments)


class AsyncWorkers(AsyncResource):
    """`client.workers`: list."""

    async def list(self, **arguments: Unpack[Options]) -> types.ListConnectedWorkersResponse:
        """List connected workers.

        The workers outside the server that are connected now, by host. A run asks for one with
        `config.worker_host`.
        """
        return await self._call(operations.list_connected_workers, arguments)


class AsyncEnvironments(AsyncResource):
    """`client.environments`: list, create, get, update, delete."""

    async def list(
        self, **arguments: Unpack[params.ListEnvironmentsParams]
    ) -> types.ListEnvironmentsResponse:
        """List environments.

        Every environment of the team, latest change first unless asked otherwise.
        """
        return await self._call(operations.list_environments, arguments)

    async def create(
        self, **arguments: Unpack[params.CreateEnvironmentParams]
    ) -> types.CloudEnvironment:
        """Create an environment.

        Runs name it in `config.environment_id`. Nothing is cloned until a run needs it.
        """
        return await self._call(operations.create_environment, arguments)

    async def get(
        self, environment_uid: str, **arguments: Unpack[Options]
    ) -> types.CloudEnvironment:
        """Read an environment.

        An environment with its latest run and whether that run failed while setting it up.
        """
        return await self._call(operations.get_environment, arguments, environment_uid)

    async def update(
        self, environment_uid: str, **arguments: Unpack[params.UpdateEnvironmentParams]
    ) -> types.CloudEnvironment:
        """Replace an environment.

        Replaces the whole configuration. A field that is left out is cleared. Executions that
        have begun keep what they began with.
        """
        return await self._call(operations.update_environment, arguments, environment_uid)

    async def delete(self, environment_uid: str, **arguments: Unpack[Options]) -> None:
        """Delete an environment.

        New runs cannot use it. Runs that did stay.
        """
        return await self._call(operations.delete_environment, arguments, environment_uid)


class AsyncFactories(AsyncResource):
    """`client.factories`: create, list, get, update, delete, sync."""

    @cached_property
    def runs(self) -> AsyncFactoriesRuns:
        """Methods: create."""
        return AsyncFactoriesRuns(self._connection)

    @cached_property
    def definition(self) -> AsyncFactoriesDefinition:
        """Methods: get, apply, history."""
        return AsyncFactoriesDefinition(self._connection)

    async def create(self, **arguments: Unpack[params.CreateFactoryParams]) -> types.Factory:
        """Create a factory.

        Makes a factory that is edited here: of `files`, or by its name, with a foreman (the
        agent that its work comes to first) and without repositories. A name or an alias by
        which another factory of the team is known, in whatever case, is a 409.

        With `repository` it is defined by the files of a Git repository instead: by the newest
        commit of the production branch, and every one that comes after it. The answer does not
        wait for the first one: `definition.status` is `syncing` until then, and the factory has
        no agents. Everything that the files define is read-only in the API (409, which says
        where to edit). A repository that needs a credential names a managed secret, which needs
        the scope `secrets:manage` as well. Webhooks of a repository may name any secret if the
        key that connected it has `secrets:manage`; a key with that scope allows it later by a
        PATCH with the same `repository`.
        """
        return await self._call(operations.create_factory, arguments)

    def list(self, **arguments: Unpack[params.ListFactoriesParams]) -> AsyncPages[types.Factory]:
        """List factories.

        One page of the team's factories, by name.
        """
        return self._pages(operations.list_factories, arguments)

    async def get(self, factory_uid: str, **arguments: Unpack[Options]) -> types.Factory:
        """Read a factory.

        A factory with its agents, and how many webhooks and automations it has.
        """
        return await self._call(operations.get_factory, arguments, factory_uid)

    async def update(
        self, factory_uid: str, **arguments: Unpack[params.UpdateFactoryParams]
    ) -> types.Factory:
        """Change a factory.

        A field that is left out stays, and null clears it. A name or an alias that is taken is
        a 409.

        Of a factory that comes from a repository, `repository` alone can be changed: it
        replaces url, branch, path and secret as a whole, and the newest commit that is found
        there is applied.
        """
        return await self._call(operations.update_factory, arguments, factory_uid)

    async def delete(self, factory_uid: str, **arguments: Unpack[Options]) -> None:
        """Delete a factory.

        Ends the factory with everything in it. Its webhooks answer 404 and its automations fire
        no more from the next request on, its agents are gone and their keys are revoked. Runs
        that there are go on to their end and stay in the lists. Managed secrets are the team's
        and stay. It cannot be undone.
        """
        return await self._call(operations.delete_factory, arguments, factory_uid)

    async def sync(self, factory_uid: str, **arguments: Unpack[PostOptions]) -> types.Factory:
        """Sync a factory with its repository.

        Looks at the repository now instead of at the next poll, and applies the newest commit
        of the production branch; a commit that was rejected is tried again. The answer comes
        when that is done: `definition` says which commit is in force, and, where the newest one
        is not, why: its `diagnostics`, or the `problem` with the repository. After 30 seconds
        it comes anyway, with the status `syncing`, and the work goes on. A factory that is
        edited here has no repository: 409.
        """
        return await self._call(operations.sync_factory, arguments, factory_uid)


class AsyncFactoriesRuns(AsyncResource):
    """`client.factories.runs`: create."""

    async def create(
        self, factory_uid: str, **arguments: Unpack[params.DispatchToFactoryParams]
    ) -> types.DispatchResponse:
        """Dispatch work to a factory.

        Starts a run of the factory's foreman. `ticket_ref` becomes the run's metadata
        `ticket_source` and `ticket_id`; without one they are `adhoc` and the run's id.
        `ticket_url` becomes its `trigger_url`. The run is durable when it is answered. A
        factory of which no commit was applied yet has no foreman: 409.
        """
        return await self._call(operations.dispatch_to_factory, arguments, factory_uid)


class AsyncFactoriesDefinition(AsyncResource):
    """`client.factories.definition`: get, apply, history."""

    async def get(self, factory_uid: str, **arguments: Unpack[Options]) -> types.FactoryFiles:
        """Read the files of a factory.

        The files that define a factory: `factory.yaml`, and what there is of agents,
        automations, webhooks, runners, skills, scorers and benchmarks. They are what applying
        them would leave as it is. No file holds a secret's value.
        """
        return await self._call(operations.get_definition, arguments, factory_uid)

    async def apply(
        self, factory_uid: str, **arguments: Unpack[params.ApplyDefinitionParams]
    ) -> types.DefinitionPlan:
        """Apply files to a factory.

        Defines the factory by other files, wholly or not at all: a 422 has every finding, and
        the factory goes on as it is. Agents, automations and webhooks keep their uids as long
        as their names are there. A webhook whose file is gone answers 404 at once; the others
        read their secrets again. The same files change nothing. A dry run answers the plan and
        changes nothing.

        Without the scope `secrets:manage`, the file of a webhook may only name the secret that
        the webhook has, or that the server made for it. Agents, automations and runners cannot
        name a secret that was made for a webhook.

        A factory that comes from a repository is a 409, which says where to edit; a dry run is
        answered.
        """
        return await self._call(operations.apply_definition, arguments, factory_uid)

    def history(
        self, factory_uid: str, **arguments: Unpack[params.ListRevisionsParams]
    ) -> AsyncPages[types.Revision]:
        """List the revisions of a factory.

        Who changed the files of a factory when, and what, the newest first. Edits in the API
        and applied files are revisions alike. Of a factory that comes from a repository, every
        commit that was looked at is in the list, with what became of it: one that was rejected
        or has changed nothing leaves the revision before it in force.
        """
        return self._pages(operations.list_revisions, arguments, factory_uid)


class AsyncFactoryFiles(AsyncResource):
    """`client.factory_files`: list_schemas, get_schemas, get_schema, validate."""

    async def list_schemas(self, **arguments: Unpack[Options]) -> types.FactorySchemaVersions:
        """List the versions of factory files.

        Which versions of a factory's files this server reads, and the kinds of documents. Needs
        no key.
        """
        return await self._call(operations.list_factory_schemas, arguments)

    async def get_schemas(self, **arguments: Unpack[Options]) -> types.FactorySchemas:
        """Read the schemas of factory files.

        A JSON Schema (draft 2020-12) for each kind of document, of Markdown for its
        frontmatter, made of the types that the server reads. Needs no key.
        """
        return await self._call(operations.get_factory_schemas, arguments)

    async def get_schema(
        self, version: str, document: str, **arguments: Unpack[Options]
    ) -> dict[str, Any]:
        """Read the schema of one kind of file.

        The JSON Schema of one kind of document alone, so that an editor can use its address: `#
        yaml-language-server: $schema=https://penstock.example.com/api/v1/factory-
        files/schemas/v1alpha1/webhook.schema.json`. A 404 lists the documents. Needs no key.
        """
        return await self._call(operations.get_factory_schema, arguments, version, document)

    async def validate(
        self, **arguments: Unpack[params.ValidateFactoryFilesParams]
    ) -> types.FilesVerdict:
        """Validate files of a factory.

        What is wrong with files. Nothing is changed, and no key is needed: without one only the
        files are looked at, and the address may ask `validations_per_minute` times a minute.
        With a key that has the scope `factories:manage` the files are also checked against what
        the server and the team have, as for a new factory. `state_dependent_checks_not_run`
        lists what only applying checks.
        """
        return await self._call(operations.validate_factory_files, arguments)


class AsyncAutomations(AsyncResource):
    """`client.automations`: create, list, get, update, delete, test_filter."""

    async def create(
        self, factory_uid: str, **arguments: Unpack[params.CreateAutomationParams]
    ) -> types.Automation:
        """Create an automation.

        Starts a run of one of the factory's agents each time that one of its triggers fires; it
        does from the next delivery on. Whatever is wrong with it is told at once, each finding
        with its JSON pointer, also into a payload filter. A webhook or schedule that does not
        exist is no error: the trigger stays silent, `problems` say so, and it works once there
        is one. A name that the factory uses already is a 409.
        """
        return await self._call(operations.create_automation, arguments, factory_uid)

    async def list(
        self, factory_uid: str, **arguments: Unpack[Options]
    ) -> types.ListAutomationsResponse:
        """List automations.

        Every automation of the factory, by name.
        """
        return await self._call(operations.list_automations, arguments, factory_uid)

    async def get(
        self, factory_uid: str, automation_uid: str, **arguments: Unpack[Options]
    ) -> types.Automation:
        """Read an automation.

        An automation, with the reasons why it stays silent if there are any.
        """
        return await self._call(operations.get_automation, arguments, factory_uid, automation_uid)

    async def update(
        self,
        factory_uid: str,
        automation_uid: str,
        **arguments: Unpack[params.UpdateAutomationParams],
    ) -> types.Automation:
        """Change an automation.

        A field that is left out stays, and null clears it; `triggers` are replaced as a whole.
        `enabled` switches it: what passes while it is off is not made up for. It holds from the
        next delivery on; runs that there are keep what they began with. A name that is taken is
        a 409.
        """
        return await self._call(
            operations.update_automation, arguments, factory_uid, automation_uid
        )

    async def delete(
        self, factory_uid: str, automation_uid: str, **arguments: Unpack[Options]
    ) -> None:
        """Delete an automation.

        It fires no more from the next delivery on. Runs that it started go on.
        """
        return await self._call(
            operations.delete_automation, arguments, factory_uid, automation_uid
        )

    async def test_filter(
        self, factory_uid: str, **arguments: Unpack[params.TestFilterParams]
    ) -> types.FilterVerdict:
        """Test a filter.

        Tells what a payload filter makes of a `payload`, or of a stored delivery, and where it
        fails. With a `webhook_uid` and neither of them it is tried on the webhook's last
        accepted deliveries, at most 50: `sample` says how many match. With `provider` and
        `event` it is the filter of a trigger of GitHub or Linear. Nothing is started.
        """
        return await self._call(operations.test_filter, arguments, factory_uid)


class AsyncWebhooks(AsyncResource):
    """`client.webhooks`: list, create, get, update, delete, rotate_secret, list_signature_schemes."""

    async def list(
        self, factory_uid: str, **arguments: Unpack[Options]
    ) -> types.ListWebhooksResponse:
        """List webhooks.

        Every webhook of the factory, by name. No answer shows a secret again.
        """
        return await self._call(operations.list_webhooks, arguments, factory_uid)

    async def create(
        self, factory_uid: str, **arguments: Unpack[params.CreateWebhookParams]
    ) -> types.Webhook:
        """Create a webhook.

        Makes a URL to which another system can POST JSON, and the managed secret by which it
        shows that a delivery is its own. The answer alone shows the secret and, for
        `url_token`, the whole URL.

        For `token` and `url_token` the secret is made here. For `signature` give the sender's
        secret, or leave it out: for `standard_webhooks` and `svix` one is made; for every other
        scheme the webhook is disabled with `pending_secret` and a ready URL, until the secret
        is given with a PATCH.

        The secret is kept as a managed secret of the team under `secret_name`. A name that is
        given and exists already is used as it is: that needs the scope `secrets:manage` and
        excludes `secret`, and its value is not shown. A name of a webhook that is taken is a
        409, and so is one webhook more than the server's limit. Runs never get a secret that
        was made here.
        """
        return await self._call(operations.create_webhook, arguments, factory_uid)

    async def get(
        self, factory_uid: str, webhook_uid: str, **arguments: Unpack[Options]
    ) -> types.Webhook:
        """Read a webhook.

        A webhook with which of its secrets are valid and still used, and the deliveries of the
        last 24 hours. No answer shows a secret again.
        """
        return await self._call(operations.get_webhook, arguments, factory_uid, webhook_uid)

    async def update(
        self, factory_uid: str, webhook_uid: str, **arguments: Unpack[params.UpdateWebhookParams]
    ) -> types.Webhook:
        """Change a webhook.

        What is left out stays as it is. `secret` finishes a webhook that is pending, and
        enables it. `enabled: false` answers its sender with 404 from the next request on. A
        change, and `enabled: true`, make it take the present value of its managed secret.
        `name`, `auth_mode`, `signature_scheme` and `secret_name` cannot be changed (400): the
        sender was told of them. Enabling a webhook that still waits for its secret is a 409,
        and so is a `secret` for one that has it.

        `suspended: true` answers its sender with 404 from the next request on, until it is
        cleared, without a change of the factory's files. Of a factory that comes from a
        repository, `suspended` and the `secret` of a pending webhook alone can be changed:
        everything else is a 409, which says where to edit.
        """
        return await self._call(operations.update_webhook, arguments, factory_uid, webhook_uid)

    async def delete(
        self, factory_uid: str, webhook_uid: str, **arguments: Unpack[Options]
    ) -> None:
        """Delete a webhook.

        Its sender gets 404 from the next request on, on every replica. Automations that select
        it stay, and so does its managed secret.
        """
        return await self._call(operations.delete_webhook, arguments, factory_uid, webhook_uid)

    async def rotate_secret(
        self,
        factory_uid: str,
        webhook_uid: str,
        **arguments: Unpack[params.RotateWebhookSecretParams],
    ) -> types.Webhook:
        """Replace a webhook's secret.

        The new secret, made here unless it is given, becomes the managed secret's value, is
        shown this once, and holds from the next request on. The old one stops at once, or is
        valid for `overlap_seconds` still; `secrets` tells whether it is used. A secret that
        something else uses as well is not replaced: 409, which names who does. A secret that
        the server did not make for this webhook needs the scope `secrets:manage`, here and as
        the `secret` of a PATCH. Senders that make their secrets themselves need `secret`.
        """
        return await self._call(
            operations.rotate_webhook_secret, arguments, factory_uid, webhook_uid
        )

    async def list_signature_schemes(
        self, **arguments: Unpack[Options]
    ) -> types.ListSignatureSchemesResponse:
        """List signature schemes.

        What is known of each sender's way to sign, in the order in which to show them: where
        its secret is found, and how its signatures are laid out, so that a delivery can be
        signed by it. Any key will do, except that of an execution.
        """
        return await self._call(operations.list_signature_schemes, arguments)


class AsyncDeliveries(AsyncResource):
    """`client.deliveries`: list, get, payload, replay."""

    def list(
        self, factory_uid: str, webhook_uid: str, **arguments: Unpack[params.ListDeliveriesParams]
    ) -> AsyncPages[types.Delivery]:
        """List deliveries.

        The log of a webhook, newest first: every delivery that was accepted or a duplicate, and
        rejected ones, of which at most 60 a minute and outcome are logged. At least the newest
        50 of each outcome and all of the last 7 days are kept.
        """
        return self._pages(operations.list_deliveries, arguments, factory_uid, webhook_uid)

    async def get(
        self, factory_uid: str, webhook_uid: str, delivery_id: str, **arguments: Unpack[Options]
    ) -> types.Delivery:
        """Read a delivery.

        One entry of the log, with what the delivery meant to each automation that selects the
        webhook.
        """
        return await self._call(
            operations.get_delivery, arguments, factory_uid, webhook_uid, delivery_id
        )

    async def payload(
        self, factory_uid: str, webhook_uid: str, delivery_id: str, **arguments: Unpack[Options]
    ) -> bytes:
        """Read a delivery's payload.

        The body of an accepted delivery, byte for byte, as a file to be saved. What was
        rejected, and a duplicate, has none: 404.
        """
        return await self._call(
            operations.get_delivery_payload, arguments, factory_uid, webhook_uid, delivery_id
        )

    async def replay(
        self, factory_uid: str, webhook_uid: str, delivery_id: str, **arguments: Unpack[PostOptions]
    ) -> types.Delivery:
        """Replay a delivery.

        Records an accepted delivery once more, with `replay_of`, and starts what today's
        automations and filters make of it, whether the webhook is enabled or not. It claims no
        identity and counts against no rate. A delivery that was not accepted, or that only
        checked the URL, is a 409.
        """
        return await self._call(
            operations.replay_delivery, arguments, factory_uid, webhook_uid, delivery_id
        )


class AsyncSecrets(AsyncResource):
    """`client.secrets`: list, create, get, set, delete."""

    async def list(self, **arguments: Unpack[Options]) -> types.ListSecretsResponse:
        """List secrets.

        Every managed secret of the team, by name. No answer shows a value.
        """
        return await self._call(operations.list_secrets, arguments)

    async def create(self, **arguments: Unpack[params.CreateSecretParams]) -> types.Secret:
        """Create a secret.

        Keeps a value for the team's runs and webhooks; no answer ever shows it. Without a
        `value` the secret is declared: it can be named from now on, and is `pending` until it
        is given one. A name that is taken is a 409, and so is one secret more than the server's
        limit.
        """
        return await self._call(operations.create_secret, arguments)

    async def get(self, secret_name: str, **arguments: Unpack[Options]) -> types.Secret:
        """Read a secret.

        What is known about a secret, who uses it, and never its value.
        """
        return await self._call(operations.get_secret, arguments, secret_name)

    async def set(
        self, secret_name: str, **arguments: Unpack[params.SetSecretParams]
    ) -> types.Secret:
        """Give a secret a value.

        The value becomes the secret's next version; the one before is not kept. Runs get it
        from their next execution on, and an execution that has begun goes on with what it was
        given. A webhook takes it when its definition next applies, or at once where its
        `secret_refresh` is `immediate`.
        """
        return await self._call(operations.set_secret, arguments, secret_name)

    async def delete(self, secret_name: str, **arguments: Unpack[Options]) -> None:
        """Delete a secret.

        Deletes the secret with its value. While an agent, an automation, a webhook, or a
        schedule that is not paused names it, that is a 409 which lists them. A run that waits
        and names it ends FAILED when its turn comes.
        """
        return await self._call(operations.delete_secret, arguments, secret_name)


class AsyncKeys(AsyncResource):
    """`client.keys`: create, list, delete."""

    async def create(self, **arguments: Unpack[params.CreateKeyParams]) -> types.Key:
        """Create a key.

        The answer alone shows the key; the server keeps only its hash. A key cannot be given a
        scope that its maker lacks.
        """
        return await self._call(operations.create_key, arguments)

    async def list(self, **arguments: Unpack[Options]) -> types.ListKeysResponse:
        """List keys.

        Every key of the team that has not been deleted, newest first. No answer shows a key
        again.
        """
        return await self._call(operations.list_keys, arguments)

    async def delete(self, key_uid: str, **arguments: Unpack[Options]) -> None:
        """Delete a key.

        It is refused from the next request on, on every replica. The team's last key with the
        scope `admin` is kept (409).
        """
        return await self._call(operations.delete_key, arguments, key_uid)


class AsyncMe(AsyncResource):
    """`client.me`: get."""

    async def get(self, **arguments: Unpack[Options]) -> types.Me:
        """Who am I.

        The person or service account behind the request, its team, and what its key may do. Any
        valid key will do.
        """
        return await self._call(operations.get_me, arguments)


class AsyncLimits(AsyncResource):
    """`client.limits`: get."""

    async def get(self, **arguments: Unpack[Options]) -> types.Limits:
        """Read the limits.

        The limits in force on this server. 0 means no limit. Any key will do, except that of an
        execution.
        """
        return await self._call(operations.get_limits, arguments)


class AsyncStats(AsyncResource):
    """`client.stats`: get."""

    async def get(self, **arguments: Unpack[Options]) -> types.Stats:
        """Read sums of the last 24 hours.

        Sums by the hour, for charts, over the present hour and the 23 before it. Runs count in
        the hour in which they were created. Personal runs of others count only for admins,
        deliveries are there for who has `factories:read`.
        """
        return await self._call(operations.get_stats, arguments)


class AsyncSession(AsyncResource):
    """`client.session`: create, get, delete."""

    async def create(self, **arguments: Unpack[params.CreateSessionParams]) -> types.Session:
        """Sign in.

        Begins a session of the dashboard with an API key. The answer sets a cookie that no
        script can read and that other sites cannot make the browser send, and shows `secret`
        once. Every request needs both: the cookie, and the secret in the header `X-Penstock-
        Session-Secret`. Cookies are shared by all ports of a host; a page keeps the secret in
        its localStorage, which is not. With both, the browser may do what the key may do, until
        the session is ended, has not been used for a while, is too old, or the key is revoked.
        The session that the request itself belongs to is ended. Programs do not need a session:
        they send the key.
        """
        return await self._call(operations.create_session, arguments)

    async def get(self, **arguments: Unpack[Options]) -> types.Session:
        """Read the session.

        Who has signed in and what they may do. With an API key instead of a cookie there is no
        session, and the answer is a 404.
        """
        return await self._call(operations.get_session, arguments)

    async def delete(self, **arguments: Unpack[Options]) -> None:
        """Sign out.

        Ends the session from the next request on, on every replica, and takes the cookie away.
        """
        return await self._call(operations.delete_session, arguments)


class AsyncResources(AsyncResource):
    """All resources, as fields of the client."""

    @cached_property
    def runs(self) -> AsyncRuns:
        """Methods: create, list, get, follow_up, interrupt, prepare_attachments, cancel, timeline,
        conversation, transcript, events, handoff_attachments, add_artifact,
        find_by_external_reference.
        """
        return AsyncRuns(self._connection)

    @cached_property
    def conversations(self) -> AsyncConversations:
        """Methods: get, follow_up, interrupt, prepare_attachments, transcript,
        download_screenshot, redirect.
        """
        return AsyncConversations(self._connection)

    @cached_property
    def sessions(self) -> AsyncSessions:
        """Methods: redirect."""
        return AsyncSessions(self._connection)

    @cached_property
    def artifacts(self) -> AsyncArtifacts:
        """Methods: get, download."""
        return AsyncArtifacts(self._connection)

    @cached_property
    def downloads(self) -> AsyncDownloads:
        """Methods: get."""
        return AsyncDownloads(self._connection)

    @cached_property
    def uploads(self) -> AsyncUploads:
        """Methods: put."""
        return AsyncUploads(self._connection)

    @cached_property
    def schedules(self) -> AsyncSchedules:
        """Methods: create, list, get, update, delete, pause, resume, preview."""
        return AsyncSchedules(self._connection)

    @cached_property
    def skills(self) -> AsyncSkills:
        """Methods: list, list_bundled."""
        return AsyncSkills(self._connection)

    @cached_property
    def agents(self) -> AsyncAgents:
        """Methods: create, list, get, update, delete."""
        return AsyncAgents(self._connection)

    @cached_property
    def models(self) -> AsyncModels:
        """Methods: list."""
        return AsyncModels(self._connection)

    @cached_property
    def workers(self) -> AsyncWorkers:
        """Methods: list."""
        return AsyncWorkers(self._connection)

    @cached_property
    def environments(self) -> AsyncEnvironments:
        """Methods: list, create, get, update, delete."""
        return AsyncEnvironments(self._connection)

    @cached_property
    def factories(self) -> AsyncFactories:
        """Methods: create, list, get, update, delete, sync."""
        return AsyncFactories(self._connection)

    @cached_property
    def factory_files(self) -> AsyncFactoryFiles:
        """Methods: list_schemas, get_schemas, get_schema, validate."""
        return AsyncFactoryFiles(self._connection)

    @cached_property
    def automations(self) -> AsyncAutomations:
        """Methods: create, list, get, update, delete, test_filter."""
        return AsyncAutomations(self._connection)

    @cached_property
    def webhooks(self) -> AsyncWebhooks:
        """Methods: list, create, get, update, delete, rotate_secret, list_signature_schemes."""
        return AsyncWebhooks(self._connection)

    @cached_property
    def deliveries(self) -> AsyncDeliveries:
        """Methods: list, get, payload, replay."""
        return AsyncDeliveries(self._connection)

    @cached_property
    def secrets(self) -> AsyncSecrets:
        """Methods: list, create, get, set, delete."""
        return AsyncSecrets(self._connection)

    @cached_property
    def keys(self) -> AsyncKeys:
        """Methods: create, list, delete."""
        return AsyncKeys(self._connection)

    @cached_property
    def me(self) -> AsyncMe:
        """Methods: get."""
        return AsyncMe(self._connection)

    @cached_property
    def limits(self) -> AsyncLimits:
        """Methods: get."""
        return AsyncLimits(self._connection)

    @cached_property
    def stats(self) -> AsyncStats:
        """Methods: get."""
        return AsyncStats(self._connection)

    @cached_property
    def session(self) -> AsyncSession:
        """Methods: create, get, delete."""
        return AsyncSession(self._connection)
