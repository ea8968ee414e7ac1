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
    """`client.runs`: create, list, get, update, follow_up, interrupt, checkpoints, fork, rewind,
    declare_output, outputs, compare, prepare_attachments, cancel, timeline, network, changes,
    patch, usage, harness_usage, calls, conversation, transcript, events, handoff_attachments,
    add_artifact, find_by_external_reference.
    """

    async def create(self, **arguments: Unpack[params.CreateRunParams]) -> types.RunAgentResponse:
        """Create a run.

        Queues a run. The response is sent once the run is durably stored. Set a `prompt`, a
        `skill` (or `config.skill_spec` or `config.skills`), or the `conversation_id` of a
        conversation to continue. `config.repositories` names what the run works on. The
        configuration is resolved when the run is created, in this order: request, automation,
        agent, factory, server. It never changes afterwards. The run's `agent_config` shows the
        result.

        A request that names managed secrets (`config.secrets`, `config.harness_auth_secrets`,
        or `${{ secrets.NAME }}` in `config.mcp_servers`) also requires the scope `secrets:use`,
        or it returns 403. So does everything that brings text to the conversation of such a
        run, also after later runs without secrets: `conversation_id`, follow-ups and their
        attachments. Only its creator and admins can continue a conversation with a personal
        run. Runs never receive a secret that the server generated for a webhook. Errors reveal
        whether a secret exists only to callers with `secrets:manage`.

        If a harness or worker host is known but no connected worker supports it, the request
        still succeeds. The run stays QUEUED, and its `status_message` names what is missing.

        `attempts` and `configs` create several runs with the same prompt, all of them or none,
        in one fork group: `GET /agent/fork-groups/{forkGroup}` compares them. Each is checked,
        pays and ends as if it was requested alone: `config.budget` caps each of them, and the
        budgets of the team and of the key cap their sum.
        """
        return await self._call(operations.create_run, arguments)

    def list(self, **arguments: Unpack[params.ListRunsParams]) -> AsyncPages[types.RunItem]:
        """List runs.

        Lists the team's runs that the caller may see, most recently changed first by default.
        All filters are combined with AND. Pagination never returns a run twice. When sorted by
        `created_at` it skips no run. When sorted by `updated_at` it can skip a run that changes
        between two requests. A page has at most 4 MiB, or one run if that run is larger, so it
        can hold fewer runs than `limit`: check `has_next_page`. A prompt of more than 16 KiB is
        shortened, with `prompt_truncated: true`.
        """
        return self._pages(operations.list_runs, arguments)

    async def get(self, run_id: str, **arguments: Unpack[Options]) -> types.RunItem:
        """Get a run.

        Returns a run with its resolved configuration, cost and artifacts.
        """
        return await self._call(operations.get_run, arguments, run_id)

    async def update(
        self, run_id: str, **arguments: Unpack[params.UpdateRunParams]
    ) -> types.RunItem:
        """Change the budget of a run.

        Raises, lowers or removes the run's own budget, and leaves absent fields as they are.
        Null removes a cap. A run that its own budget blocks continues within a second if it now
        has room for its next call. The rest of the configuration cannot change. The key of an
        agent or of an execution cannot do this.
        """
        return await self._call(operations.update_run, arguments, run_id)

    async def follow_up(
        self, run_id: str, **arguments: Unpack[params.FollowUpRunParams]
    ) -> types.FollowupResponse:
        """Send a follow-up.

        Sends a message to the agent of a run, in any state. A run that has not started receives
        it after its prompt. A running agent receives it at its next turn. A BLOCKED run
        receives it as the reply. An ended run starts a new execution that continues the
        conversation. Messages are delivered in order, and none is lost. An empty message is
        rejected unless it continues a saved conversation or has attachments. If the run has
        ended and another run of the conversation has not, the request returns 409: send the
        message to the other run.

        If a run ends FAILED, ERROR or CANCELLED before the agent receives a message, the
        message is recorded as undelivered. The timeline shows `followup_undelivered`, and the
        message appears in the conversation with an event block of that name. Send it again to
        start a new execution.

        The agent finds `attachments` in `.penstock/attachments/` of its workspace when it
        receives the message, which lists them. Include the content of a file, or upload it
        first with `POST /agent/runs/{runId}/attachments/prepare`. A file that is unknown or not
        uploaded yet returns 422 `operation_not_supported`. A run and its follow-ups can have at
        most 100 files with 256 MiB in total. At most 1,000 messages with 16 MiB in total can be
        waiting. Beyond these limits the request returns 409.
        """
        return await self._call(operations.follow_up_run, arguments, run_id)

    async def interrupt(
        self, run_id: str, **arguments: Unpack[PostOptions]
    ) -> types.InterruptResponse:
        """Interrupt the agent.

        Ends the agent's current turn. The run and the agent's session stay open: the agent
        continues with the next follow-up. Without a follow-up, the run stays INPROGRESS for
        `idle_timeout_minutes` (default 10) and then becomes BLOCKED until a follow-up arrives.
        The interrupt takes effect even if the server or the worker is lost in the meantime. If
        the turn ends first, or was already interrupted, the request has no effect. An ended run
        returns 400. A run whose agent has not started, or is waiting, has no turn to interrupt
        and returns 409. To end the run, cancel it.
        """
        return await self._call(operations.interrupt_run, arguments, run_id)

    async def checkpoints(self, run_id: str, **arguments: Unpack[Options]) -> types.Checkpoints:
        """List the saved turns of a run.

        Returns the turns of a run whose files are kept, in order: the last 20, and every tenth
        one before. Turns are numbered by their message, from 1; turn 0 is what the run was
        forked from. `POST /agent/runs/{runId}/fork` begins other runs with the files and the
        conversation of such a turn, and `POST /agent/runs/{runId}/rewind` takes this run back
        to it. They are removed with the run. A turn that could not be saved has
        `checkpoint_skipped` on the timeline.
        """
        return await self._call(operations.list_run_checkpoints, arguments, run_id)

    async def fork(
        self, run_id: str, **arguments: Unpack[params.ForkRunParams]
    ) -> types.ForkRunResponse:
        """Begin other runs from a turn.

        Begins new runs with the files and the conversation of a turn of this run, which itself
        goes on unchanged. The new runs have the configuration of this one, with the values of
        `config` instead of its own, resolved for the caller: a key that may not use managed
        secrets cannot fork a run that has some (403), because its files may hold them. With
        another harness, the agent gets the conversation as text. A turn whose files are not
        kept returns 409.
        """
        return await self._call(operations.fork_run, arguments, run_id)

    async def rewind(
        self, run_id: str, **arguments: Unpack[params.RewindRunParams]
    ) -> types.RewindRunResponse:
        """Go back to a turn.

        Ends the agent's current turn and takes the run back to the end of an earlier one. The
        next turn has the files and the conversation of that time: it begins at once with
        `prompt`, or with the next follow-up. Messages that wait are not delivered. Later
        messages stay in the conversation as `superseded`. What the run has done elsewhere, such
        as a push or a pull request, is not undone: `reached` lists the hosts that it sent
        requests to in the executions that ended after the turn. A turn whose files are not kept
        returns 409.
        """
        return await self._call(operations.rewind_run, arguments, run_id)

    async def declare_output(
        self, run_id: str, **arguments: Unpack[params.DeclareRunOutputParams]
    ) -> types.Output:
        """Declare an output of a run.

        Declares something that is done on a forge after the turn: a pull request of a branch
        that the run has pushed, or a comment on that pull request. Only the agent of a run can
        do this, with the key of its execution, while a turn is in progress. If the turn fails
        or is stopped, its outputs are discarded, and with a run that is cancelled, all that
        were not done yet. A turn can declare one pull request and three comments. A thread has
        one open pull request for each repository and base branch: to declare it again changes
        its text. Mentions and closing keywords in texts have no effect; the values of the run's
        secrets are masked, and a text with a credential of a known issuer returns 400.
        """
        return await self._call(operations.declare_run_output, arguments, run_id)

    async def outputs(self, run_id: str, **arguments: Unpack[Options]) -> types.OutputList:
        """List the outputs of a run.

        Returns what the agent of a run has declared, in order. Outputs are removed with the
        run.
        """
        return await self._call(operations.list_run_outputs, arguments, run_id)

    async def compare(self, fork_group: str, **arguments: Unpack[Options]) -> types.ForkGroup:
        """Compare the runs of a fork.

        Returns the runs that one request has forked, or created as attempts, in the order of
        their creation, with what each has changed and consumed so far. Runs that the caller may
        not see are left out.
        """
        return await self._call(operations.get_fork_group, arguments, fork_group)

    async def prepare_attachments(
        self, run_id: str, **arguments: Unpack[params.PrepareAttachmentsParams]
    ) -> types.PrepareAttachmentsResponse:
        """Prepare attachments for a follow-up.

        Prepares up to 25 files and returns a signed upload link for each. `PUT` each file to
        its link within 15 minutes, without a key. A file has at most 25 MiB and can be uploaded
        again. Then refer to it by `attachment_id` in a follow-up to the same run. A file that
        no follow-up uses within 24 hours is removed.
        """
        return await self._call(operations.prepare_attachments, arguments, run_id)

    async def cancel(self, run_id: str, **arguments: Unpack[params.CancelRunParams]) -> str:
        """Cancel a run.

        Cancels a run. The response is sent once the state is CANCELLED. The agent and its
        sandbox are stopped within 10 seconds if the worker is reachable. A run that has already
        ended, or that ends before the cancellation takes effect, returns 400, so a 200 always
        means that the run was cancelled. Pending follow-ups are recorded as undelivered and can
        be sent again.
        """
        return await self._call(operations.cancel_run, arguments, run_id)

    async def timeline(self, run_id: str, **arguments: Unpack[Options]) -> types.TimelineResponse:
        """Get a run's timeline.

        Lists what happened to the run outside the agent, oldest first, across all its
        executions.
        """
        return await self._call(operations.get_run_timeline, arguments, run_id)

    async def network(self, run_id: str, **arguments: Unpack[Options]) -> types.RunNetwork:
        """Get a run's network.

        Returns the layers that decide what the run may reach now, and the traffic of its
        executions with each host so far. Counts lag a live run by a few seconds.
        """
        return await self._call(operations.get_run_network, arguments, run_id)

    async def changes(self, run_id: str, **arguments: Unpack[Options]) -> types.RunChanges:
        """Get what a run has changed.

        Returns what the run has changed in each repository that was checked out, as of the end
        of its latest turn. The files are compared with the commit that was checked out, so the
        changes include commits of the agent and uncommitted files. Files that `.gitignore`
        excludes do not count. `repositories` is empty for a run without repositories, and until
        its first turn has ended.
        """
        return await self._call(operations.get_run_changes, arguments, run_id)

    async def patch(self, run_id: str, repository: str, **arguments: Unpack[Options]) -> bytes:
        """Download the patch of a repository.

        Returns the changes of one repository as a unified diff, which `git apply` can read, of
        at most 1 MiB. The diff leaves out files that do not fit. Secrets of the run are masked.
        A repository without changes returns 404.
        """
        return await self._call(operations.get_run_patch, arguments, run_id, repository)

    async def usage(self, run_id: str, **arguments: Unpack[Options]) -> types.RunUsage:
        """Get the usage of a run.

        Returns what the run has used in all its executions, by model, and how much of its own
        budget is spent. The budget also counts the runs below it.
        """
        return await self._call(operations.get_run_usage, arguments, run_id)

    async def harness_usage(self, run_id: str, **arguments: Unpack[Options]) -> types.HarnessUsage:
        """Get the usage of Claude Code or Codex.

        Returns the tokens that a run of Claude Code or Codex has used in all its executions, by
        the names that its provider uses. The numbers come from the ledger. `available` is false
        for other agents, and until a call of the run has ended. `GET /agent/runs/{runId}/usage`
        has the cost, and serves every agent.
        """
        return await self._call(operations.get_run_harness_usage, arguments, run_id)

    def calls(
        self, run_id: str, **arguments: Unpack[params.ListRunCallsParams]
    ) -> AsyncPages[types.ModelCall]:
        """List the model calls of a run.

        Lists the run's calls to models from the ledger, newest first. `limit` is 100 by
        default.
        """
        return self._pages(operations.list_run_calls, arguments, run_id)

    async def conversation(self, run_id: str, **arguments: Unpack[Options]) -> types.Conversation:
        """Get a run's conversation.

        Returns the run's conversation in a format that is the same for every harness. Returns
        404 until the run has a conversation.
        """
        return await self._call(operations.get_run_conversation, arguments, run_id)

    async def transcript(self, run_id: str, **arguments: Unpack[Options]) -> bytes:
        """Download a run's transcript.

        Redirects to a signed link to the raw transcript: the run's whole log as JSON Lines,
        with known secrets masked. The link needs no key and expires after 15 minutes. Returns
        404 until the run has a transcript.
        """
        return await self._call(operations.get_run_transcript, arguments, run_id)

    def events(
        self, run_id: str, **arguments: Unpack[params.StreamRunEventsParams]
    ) -> AsyncEventStream[types.RunEvent]:
        """Stream a run's events.

        Streams server-sent events. The stream first replays every event after `Last-Event-ID`
        (or from the beginning), then follows the run, and sends `done` when the run ends. Each
        event's `id` is a sequence number within the run. To resume without gaps or repeats, on
        any replica of the server, send the last `id` that you received. A comment line every 15
        seconds keeps the connection open. The schema below shows the events as a list, each
        with its `id`, `event` and parsed `data`.

        `message_delta` events carry text as it is generated, at most 20 a second. Once the
        complete `message` is in the log, its deltas are removed, so ids can have gaps. If you
        reconnect to the end of an ended run, the response is 204, which tells an `EventSource`
        to stop.
        """
        return self._events(operations.stream_run_events, arguments, run_id)

    async def handoff_attachments(
        self, run_id: str, **arguments: Unpack[Options]
    ) -> types.HandoffAttachmentsResponse:
        """List attachments for a handoff.

        Lists the run's attachments with signed links, for a session elsewhere that continues
        its work. The links expire after 15 minutes.
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

        Adds an artifact to a run. Mostly used by agents: the key of an execution can add
        artifacts to its own run. Send files and screenshots as `multipart/form-data`; send
        plans, pull requests and references as JSON. A run can have at most 500 artifacts. A URL
        has at most 2,048 bytes. `metadata` is a JSON object without duplicate keys, of at most
        64 KB. The values of the run's secrets are masked.
        """
        return await self._call(operations.create_run_artifact, arguments, run_id)

    async def find_by_external_reference(
        self, **arguments: Unpack[params.FindRunByExternalReferenceParams]
    ) -> types.RunReference:
        """Find a run by external reference.

        Returns the newest run that has an artifact with exactly this URL, such as a pull
        request or a reference.
        """
        return await self._call(operations.find_run_by_external_reference, arguments)


class AsyncConversations(AsyncResource):
    """`client.conversations`: get, follow_up, interrupt, prepare_attachments, transcript,
    download_screenshot, redirect.
    """

    async def get(self, conversation_id: str, **arguments: Unpack[Options]) -> types.Conversation:
        """Get a conversation.

        Returns the conversation in a format that is the same for every harness.
        """
        return await self._call(operations.get_conversation, arguments, conversation_id)

    async def follow_up(
        self, conversation_id: str, **arguments: Unpack[params.FollowUpConversationParams]
    ) -> types.FollowupResponse:
        """Send a follow-up to a conversation.

        Same as `POST /agent/runs/{runId}/followups`, for the conversation's active run, or else
        its newest run. `run_id` in the response is the id of that run.
        """
        return await self._call(operations.follow_up_conversation, arguments, conversation_id)

    async def interrupt(
        self, conversation_id: str, **arguments: Unpack[PostOptions]
    ) -> types.InterruptResponse:
        """Interrupt the agent of a conversation.

        Same as `POST /agent/runs/{runId}/interrupt`, for the conversation's active run, or else
        its newest run. `run_id` in the response is the id of that run.
        """
        return await self._call(operations.interrupt_conversation, arguments, conversation_id)

    async def prepare_attachments(
        self, conversation_id: str, **arguments: Unpack[params.PrepareConversationAttachmentsParams]
    ) -> types.PrepareAttachmentsResponse:
        """Prepare attachments for a conversation.

        Same as `POST /agent/runs/{runId}/attachments/prepare`, for the conversation's active
        run, or else its newest run.
        """
        return await self._call(
            operations.prepare_conversation_attachments, arguments, conversation_id
        )

    async def transcript(self, conversation_id: str, **arguments: Unpack[Options]) -> bytes:
        """Download a conversation's transcript.

        Redirects to a signed link to the raw transcript (JSON Lines). The link needs no key and
        expires after 15 minutes.
        """
        return await self._call(operations.get_conversation_transcript, arguments, conversation_id)

    async def download_screenshot(
        self, conversation_id: str, artifact_uid: str, **arguments: Unpack[Options]
    ) -> bytes:
        """Download a screenshot of a conversation.

        Redirects to a signed link to a SCREENSHOT artifact of a run of this conversation. The
        link needs no key and expires after 15 minutes.
        """
        return await self._call(
            operations.download_screenshot, arguments, conversation_id, artifact_uid
        )

    async def redirect(
        self, conversation_id: str, **arguments: Unpack[Options]
    ) -> types.ConversationRedirect:
        """Find the live session of a conversation.

        Returns `session_id` while a run of the conversation is active, so that a saved link can
        choose its target. Otherwise returns an empty object, also for a conversation that does
        not exist. Needs no key. An id that is not a UUID returns 404.
        """
        return await self._call(operations.redirect_conversation, arguments, conversation_id)


class AsyncSessions(AsyncResource):
    """`client.sessions`: redirect."""

    async def redirect(
        self, session_id: str, **arguments: Unpack[Options]
    ) -> types.SessionRedirect:
        """Find the conversation of a session.

        Returns `conversation_id` once the sandbox is stopped, so that a saved link can choose
        its target. Otherwise returns an empty object, also for a session that does not exist.
        Needs no key. An id that is not a UUID returns 404.
        """
        return await self._call(operations.redirect_session, arguments, session_id)


class AsyncArtifacts(AsyncResource):
    """`client.artifacts`: get, download."""

    async def get(self, artifact_uid: str, **arguments: Unpack[Options]) -> types.ArtifactResponse:
        """Get an artifact.

        Returns an artifact with a signed link to its content. The link expires at `expires_at`.
        The text of a plan is included.
        """
        return await self._call(operations.get_artifact, arguments, artifact_uid)

    async def download(self, artifact_uid: str, **arguments: Unpack[Options]) -> bytes:
        """Download an artifact.

        Redirects to a signed link to the artifact's content. The link needs no key and expires
        after 15 minutes. An artifact without content, such as a pull request, returns 422.
        """
        return await self._call(operations.download_artifact, arguments, artifact_uid)


class AsyncDownloads(AsyncResource):
    """`client.downloads`: get."""

    async def get(self, token: str, **arguments: Unpack[Options]) -> bytes:
        """Follow a signed link.

        The target of signed links. Do not build these URLs yourself. The token grants access,
        so no key is needed. An invalid or expired link returns 404: request a new one. If the
        server uses an object store, it can redirect there (`--blob-downloads presigned`). That
        link works for 5 minutes.
        """
        return await self._call(operations.download, arguments, token)


class AsyncUploads(AsyncResource):
    """`client.uploads`: put."""

    async def put(
        self, token: str, **arguments: Unpack[params.UploadAttachmentParams]
    ) -> types.UploadedAttachment:
        """Upload an attachment.

        The target of the links from `attachments/prepare`. The body is the file, at most 25
        MiB. The link grants access, so no key is needed. An invalid or expired link returns
        404. Once a follow-up uses the attachment, another upload returns 409.
        """
        return await self._call(operations.upload_attachment, arguments, token)


class AsyncSchedules(AsyncResource):
    """`client.schedules`: create, list, get, update, delete, pause, resume, preview."""

    async def create(
        self, **arguments: Unpack[params.CreateScheduleParams]
    ) -> types.ScheduledAgentItem:
        """Create a schedule.

        Creates a schedule that starts a run, with source SCHEDULED_AGENT, at each time that
        matches `cron_schedule`. Requires a `prompt`, or a skill in `agent_config`. If the
        server was down at a scheduled time, the schedule fires once when the server is back. If
        `agent_config` names managed secrets, the scope `secrets:use` is also required.
        """
        return await self._call(operations.create_schedule, arguments)

    async def list(self, **arguments: Unpack[Options]) -> types.ListSchedulesResponse:
        """List schedules.

        Lists the team's schedules that the caller may see, by name.
        """
        return await self._call(operations.list_schedules, arguments)

    async def get(self, schedule_id: str, **arguments: Unpack[Options]) -> types.ScheduledAgentItem:
        """Get a schedule.

        Returns a schedule with its last run time and its next five run times.
        """
        return await self._call(operations.get_schedule, arguments, schedule_id)

    async def update(
        self, schedule_id: str, **arguments: Unpack[params.UpdateScheduleParams]
    ) -> types.ScheduledAgentItem:
        """Replace a schedule.

        Replaces all settings of a schedule. An omitted field is cleared. If `agent_config`
        names managed secrets, the scope `secrets:use` is also required.
        """
        return await self._call(operations.update_schedule, arguments, schedule_id)

    async def delete(self, schedule_id: str, **arguments: Unpack[Options]) -> types.Success:
        """Delete a schedule.

        Deletes a schedule. Runs that it started continue.
        """
        return await self._call(operations.delete_schedule, arguments, schedule_id)

    async def pause(
        self, schedule_id: str, **arguments: Unpack[PostOptions]
    ) -> types.ScheduledAgentItem:
        """Pause a schedule.

        Stops a schedule from firing until it is resumed. Has no effect on a paused schedule.
        """
        return await self._call(operations.pause_schedule, arguments, schedule_id)

    async def resume(
        self, schedule_id: str, **arguments: Unpack[PostOptions]
    ) -> types.ScheduledAgentItem:
        """Resume a schedule.

        Resumes a schedule from its next scheduled time. Times that passed while it was paused
        are skipped.
        """
        return await self._call(operations.resume_schedule, arguments, schedule_id)

    async def preview(
        self, **arguments: Unpack[params.PreviewScheduleTimesParams]
    ) -> types.ScheduleTimes:
        """Preview a schedule.

        Returns the next five times of a cron expression, by the same rules as schedules and
        triggers. Accepts any key except that of an execution.
        """
        return await self._call(operations.preview_schedule_times, arguments)


class AsyncOccurrences(AsyncResource):
    """`client.occurrences`: list."""

    def list(
        self, **arguments: Unpack[params.ListOccurrencesParams]
    ) -> AsyncPages[types.Occurrence]:
        """List occurrences.

        Lists what was due to start work, and what became of it, newest first: the times of
        schedules and of automations with clocks of their own, deliveries to webhooks, requests
        for runs, and work that was dispatched to factories. An event has one occurrence for
        each automation that it concerns.

        Deliveries are those in the logs of webhooks. They need `factories:manage`: without it,
        they are left out, and `kind=delivery` and `webhook_uid` return 403. With `webhook_uid`,
        they come in the order of that log. What became of a delivery about a subject is listed
        as long as the subject is kept.

        Times are kept as long as deliveries, and the newest 50 of a schedule or automation as
        long as it exists. Requests and dispatches are kept as long as their subject, or,
        without one, their run. A page looks at no more than 1,000 entries of each log, so with
        a filter it may have few items, or none, and a next page.
        """
        return self._pages(operations.list_occurrences, arguments)


class AsyncSubjects(AsyncResource):
    """`client.subjects`: list, get."""

    def list(self, **arguments: Unpack[params.ListSubjectsParams]) -> AsyncPages[types.Subject]:
        """List subjects.

        Lists what events were about, newest first, with the run that works on each. Only events
        of automations with a `subject` have one. A subject is kept as long as its run and as
        its events.
        """
        return self._pages(operations.list_subjects, arguments)

    async def get(self, uid: str, **arguments: Unpack[Options]) -> types.Subject:
        """Get a subject.

        Returns a subject with its latest events and what became of them.
        """
        return await self._call(operations.get_subject, arguments, uid)


class AsyncSkills(AsyncResource):
    """`client.skills`: list, list_bundled."""

    async def list(
        self, **arguments: Unpack[params.ListAgentSkillsParams]
    ) -> types.ListAgentSkillsResponse:
        """List skills.

        Lists the skills that runs can use, found in the repositories of the team's
        environments. A skill that is found in several places has a variant for each. Skills of
        factories are in their definitions. For the skills that come with the server, see `GET
        /agent/bundled-skills`.
        """
        return await self._call(operations.list_agent_skills, arguments)

    async def list_bundled(self, **arguments: Unpack[Options]) -> types.ListBundledSkillsResponse:
        """List bundled skills.

        Lists the catalog of bundled skills, by id. Ids are stable, so usage can be grouped by
        them. `shipped` says whether this release includes the skill. If not, `reason` says why.
        To use a bundled skill, set its id as `skill` or `config.skill_spec`, or include it in
        `config.skills`. A skill with the same name in the run's agent or factory takes
        precedence over a bundled skill; one in a repository does not.
        """
        return await self._call(operations.list_bundled_skills, arguments)


class AsyncAgents(AsyncResource):
    """`client.agents`: create, list, get, update, delete."""

    async def create(self, **arguments: Unpack[params.CreateAgentParams]) -> types.AgentResponse:
        """Create an agent.

        Creates a named agent that runs can be executed as, with defaults for their
        configuration.
        """
        return await self._call(operations.create_agent, arguments)

    async def list(self, **arguments: Unpack[params.ListAgentsParams]) -> types.ListAgentsResponse:
        """List agents.

        Lists the team's agents, by name.
        """
        return await self._call(operations.list_agents, arguments)

    async def get(self, agent_uid: str, **arguments: Unpack[Options]) -> types.AgentResponse:
        """Get an agent.

        Returns an agent with the defaults that it gives to its runs.
        """
        return await self._call(operations.get_agent, arguments, agent_uid)

    async def update(
        self, agent_uid: str, **arguments: Unpack[params.UpdateAgentParams]
    ) -> types.AgentResponse:
        """Update an agent.

        Updates an agent. A field that is absent or null stays unchanged. An empty value clears
        it. Existing runs keep the configuration that they were created with. `secrets_append`
        adds secrets and replaces none. It must be the only field of the request, and cannot be
        null.
        """
        return await self._call(operations.update_agent, arguments, agent_uid)

    async def delete(self, agent_uid: str, **arguments: Unpack[Options]) -> None:
        """Delete an agent.

        Deletes an agent. Its keys stop working immediately. Its runs stay. The foreman of a
        factory returns 409, because it is deleted with the factory. An agent that an automation
        of its factory names also returns 409.
        """
        return await self._call(operations.delete_agent, arguments, agent_uid)


class AsyncModels(AsyncResource):
    """`client.models`: list."""

    async def list(self, **arguments: Unpack[Options]) -> types.ListModelsResponse:
        """List models.

        Lists the models that a run can name in `config.model_id`. A model that is currently
        unavailable has a `disable_reason`.
        """
        return await self._call(operations.list_models, arguments)


class AsyncNetwork(AsyncResource):
    """`client.network`: get."""

    async def get(self, **arguments: Unpack[params.GetNetworkPolicyParams]) -> types.NetworkPolicy:
        """Get a network policy.

        Returns the network policy that a new run with the given environment, factory or agent
        would get if its request set no network. An agent implies its factory, and both imply
        their environment and runner. Without parameters, returns only the layers of the server.
        """
        return await self._call(operations.get_network_policy, arguments)


class AsyncWorkers(AsyncResource):
    """`client.workers`: list."""

    async def list(self, **arguments: Unpack[Options]) -> types.ListConnectedWorkersResponse:
        """List connected workers.

        Lists the self-hosted workers that are currently connected, by host, with the runs that
        they have. To run on one of them, set `config.worker_host`.
        """
        return await self._call(operations.list_connected_workers, arguments)


class AsyncHarnesses(AsyncResource):
    """`client.harnesses`: list."""

    async def list(self, **arguments: Unpack[Options]) -> types.ListHarnessesResponse:
        """List harnesses.

        Lists the agent programs that `config.harness.type` can name: which version is
        installed, which models it can use, and whether a connected worker can run it now.
        """
        return await self._call(operations.list_harnesses, arguments)


class AsyncEnvironments(AsyncResource):
    """`client.environments`: list, create, get, update, delete, list_prebuilds, delete_prebuild."""

    async def list(
        self, **arguments: Unpack[params.ListEnvironmentsParams]
    ) -> types.ListEnvironmentsResponse:
        """List environments.

        Lists the team's environments, most recently changed first by default.
        """
        return await self._call(operations.list_environments, arguments)

    async def create(
        self, **arguments: Unpack[params.CreateEnvironmentParams]
    ) -> types.CloudEnvironment:
        """Create an environment.

        Creates an environment. Runs refer to it with `config.environment_id`. Repositories are
        cloned only when a run needs them.
        """
        return await self._call(operations.create_environment, arguments)

    async def get(
        self, environment_uid: str, **arguments: Unpack[Options]
    ) -> types.CloudEnvironment:
        """Get an environment.

        Returns an environment with its latest run, and whether that run failed during setup.
        """
        return await self._call(operations.get_environment, arguments, environment_uid)

    async def update(
        self, environment_uid: str, **arguments: Unpack[params.UpdateEnvironmentParams]
    ) -> types.CloudEnvironment:
        """Replace an environment.

        Replaces the whole configuration of an environment. An omitted field is cleared.
        Executions that have started keep the configuration that they started with.
        """
        return await self._call(operations.update_environment, arguments, environment_uid)

    async def delete(self, environment_uid: str, **arguments: Unpack[Options]) -> None:
        """Delete an environment.

        Deletes an environment. New runs cannot use it. Its existing runs stay.
        """
        return await self._call(operations.delete_environment, arguments, environment_uid)

    async def list_prebuilds(
        self, environment_uid: str, **arguments: Unpack[Options]
    ) -> types.ListPrebuildsResponse:
        """List the prepared workspaces of an environment.

        Lists what workers keep for later runs of an environment, the newest first: prepared
        workspaces, and the last failures of preparations that left none. A worker reports it
        when it changes. The workspaces of workers that have not been seen for seven days are
        left out. The response has at most 1000 workspaces that are ready or failed.
        """
        return await self._call(operations.list_prebuilds, arguments, environment_uid)

    async def delete_prebuild(
        self, environment_uid: str, puid: str, **arguments: Unpack[Options]
    ) -> None:
        """Delete a prepared workspace.

        Deletes a prepared workspace on all workers, and all prepared workspaces that were made
        from it. No run that is claimed after the response gets one of them, also if its worker
        is away now. A run that already has a copy keeps it. Until its worker has removed it
        from its disk, the list shows it as `retired`. A repeated request changes nothing. If it
        is a failure, the next run tries again at once.
        """
        return await self._call(operations.delete_prebuild, arguments, environment_uid, puid)


class AsyncFactories(AsyncResource):
    """`client.factories`: create, list, get, update, delete, sync."""

    @cached_property
    def runs(self) -> AsyncFactoriesRuns:
        """Methods: create."""
        return AsyncFactoriesRuns(self._connection)

    @cached_property
    def definition(self) -> AsyncFactoriesDefinition:
        """Methods: get, apply, history, revision."""
        return AsyncFactoriesDefinition(self._connection)

    async def create(self, **arguments: Unpack[params.CreateFactoryParams]) -> types.Factory:
        """Create a factory.

        Creates a factory that is edited in the API, from `files` or from a name alone. With
        only a name, it has a foreman (the agent that receives its work first) and no
        repositories. A name or alias that another factory of the team uses returns 409. Case is
        ignored.

        With `repository`, the files of a Git repository define the factory instead: those of
        the newest commit of the production branch, and then those of every later commit. The
        response does not wait for the first sync. Until then `definition.status` is `syncing`
        and the factory has no agents. Everything that the files define is read-only in the API:
        a change returns 409, and the error says where to edit. If the repository needs a
        credential, name a managed secret; this also requires the scope `secrets:manage`.
        Webhooks of the repository can name any secret if the key that connected the repository
        has `secrets:manage`. To allow it later, send a PATCH with the same `repository` and a
        key that has this scope.
        """
        return await self._call(operations.create_factory, arguments)

    def list(self, **arguments: Unpack[params.ListFactoriesParams]) -> AsyncPages[types.Factory]:
        """List factories.

        Lists the team's factories, by name.
        """
        return self._pages(operations.list_factories, arguments)

    async def get(self, factory_uid: str, **arguments: Unpack[Options]) -> types.Factory:
        """Get a factory.

        Returns a factory with its agents and the number of its webhooks and automations.
        """
        return await self._call(operations.get_factory, arguments, factory_uid)

    async def update(
        self, factory_uid: str, **arguments: Unpack[params.UpdateFactoryParams]
    ) -> types.Factory:
        """Update a factory.

        Updates a factory. An omitted field stays unchanged. Null clears a field. A name or
        alias that is taken returns 409.

        If the factory is defined by a repository, only `repository` can be changed. This
        replaces the URL, branch, path and secret as a whole, and applies the newest commit
        found there.
        """
        return await self._call(operations.update_factory, arguments, factory_uid)

    async def delete(self, factory_uid: str, **arguments: Unpack[Options]) -> None:
        """Delete a factory.

        Deletes a factory with everything in it. From the next request on, its webhooks return
        404 and its automations no longer fire. Its agents are deleted and their keys revoked.
        Existing runs continue to their end and stay in the lists. Managed secrets belong to the
        team and stay. This cannot be undone.
        """
        return await self._call(operations.delete_factory, arguments, factory_uid)

    async def sync(self, factory_uid: str, **arguments: Unpack[PostOptions]) -> types.Factory:
        """Sync a factory with its repository.

        Checks the repository now instead of at the next poll, and applies the newest commit of
        the production branch. A rejected commit is tried again. The response is sent when the
        sync is complete. `definition` shows the active commit and, if the newest commit was not
        applied, the reason: its `diagnostics`, or the `problem` with the repository. After 30
        seconds the response is sent with the status `syncing`, and the sync continues. A
        factory that is edited in the API has no repository and returns 409.
        """
        return await self._call(operations.sync_factory, arguments, factory_uid)


class AsyncFactoriesRuns(AsyncResource):
    """`client.factories.runs`: create."""

    async def create(
        self, factory_uid: str, **arguments: Unpack[params.DispatchToFactoryParams]
    ) -> types.DispatchResponse:
        """Dispatch work to a factory.

        Starts a run of the factory's foreman. `ticket_ref` sets the run's metadata
        `ticket_source` and `ticket_id`. Without it they are `adhoc` and the run's id.
        `ticket_url` sets the run's `trigger_url`. The response is sent once the run is durably
        stored. A factory without an applied commit has no foreman and returns 409.
        """
        return await self._call(operations.dispatch_to_factory, arguments, factory_uid)


class AsyncFactoriesDefinition(AsyncResource):
    """`client.factories.definition`: get, apply, history, revision."""

    async def get(self, factory_uid: str, **arguments: Unpack[Options]) -> types.FactoryFiles:
        """Get a factory's files.

        Returns the files that define a factory: `factory.yaml` and the files of its agents,
        automations, webhooks, runners, skills, scorers and benchmarks. Applying them unchanged
        has no effect. No file contains the value of a secret.
        """
        return await self._call(operations.get_definition, arguments, factory_uid)

    async def apply(
        self, factory_uid: str, **arguments: Unpack[params.ApplyDefinitionParams]
    ) -> types.DefinitionPlan:
        """Apply files to a factory.

        Replaces the files that define a factory, completely or not at all. Invalid files return
        422 with every finding, and the factory stays unchanged. Agents, automations and
        webhooks keep their uids as long as their names stay. A webhook whose file is removed
        returns 404 immediately; the others read their secrets again. Applying the same files
        changes nothing. A dry run returns the plan and changes nothing.

        Without the scope `secrets:manage`, the file of a webhook can name only the webhook's
        current secret, or the secret that the server generated for it. Agents, automations and
        runners cannot name a secret that was generated for a webhook.

        A factory that is defined by a repository returns 409, and the error says where to edit.
        A dry run is allowed.
        """
        return await self._call(operations.apply_definition, arguments, factory_uid)

    def history(
        self, factory_uid: str, **arguments: Unpack[params.ListRevisionsParams]
    ) -> AsyncPages[types.Revision]:
        """List the revisions of a factory.

        Lists the changes of a factory's files, newest first: who made each change, when, and
        what changed. Edits in the API and applied files are both revisions. For a factory that
        is defined by a repository, the list contains every commit that was checked, with its
        result. After a commit that was rejected or changed nothing, the revision before it
        stays active.
        """
        return self._pages(operations.list_revisions, arguments, factory_uid)

    async def revision(
        self, factory_uid: str, revision: str, **arguments: Unpack[Options]
    ) -> types.FactoryFiles:
        """Get a factory's files at a revision.

        Returns the files that defined a factory at a revision of its history. To revert to it,
        apply them.
        """
        return await self._call(operations.get_revision, arguments, factory_uid, revision)


class AsyncFactoryFiles(AsyncResource):
    """`client.factory_files`: list_schemas, get_schemas, get_schema, validate."""

    async def list_schemas(self, **arguments: Unpack[Options]) -> types.FactorySchemaVersions:
        """List the versions of factory files.

        Lists the versions of factory files that this server supports, and the kinds of
        documents. Needs no key.
        """
        return await self._call(operations.list_factory_schemas, arguments)

    async def get_schemas(self, **arguments: Unpack[Options]) -> types.FactorySchemas:
        """Get the schemas of factory files.

        Returns a JSON Schema (draft 2020-12) for each kind of document, generated from the
        types that the server parses. For Markdown files it describes the front matter. Needs no
        key.
        """
        return await self._call(operations.get_factory_schemas, arguments)

    async def get_schema(
        self, version: str, document: str, **arguments: Unpack[Options]
    ) -> dict[str, Any]:
        """Get the schema of one kind of file.

        Returns the JSON Schema of one kind of document. An editor can use its URL: `# yaml-
        language-server: $schema=https://penstock.example.com/api/v1/factory-
        files/schemas/v1alpha1/webhook.schema.json`. A 404 lists the available documents. Needs
        no key.
        """
        return await self._call(operations.get_factory_schema, arguments, version, document)

    async def validate(
        self, **arguments: Unpack[params.ValidateFactoryFilesParams]
    ) -> types.FilesValidation:
        """Validate factory files.

        Checks factory files and changes nothing. Needs no key. Without one, only the files are
        checked, at most `validations_per_minute` times a minute for each client address. With a
        key that has the scope `factories:manage`, the files are also checked against the server
        and the team, as for a new factory. `state_dependent_checks_not_run` lists the checks
        that run only when the files are applied.
        """
        return await self._call(operations.validate_factory_files, arguments)


class AsyncAutomations(AsyncResource):
    """`client.automations`: create, list, get, update, delete, run, test_filter."""

    async def create(
        self, factory_uid: str, **arguments: Unpack[params.CreateAutomationParams]
    ) -> types.Automation:
        """Create an automation.

        Creates an automation. It starts a run of one of the factory's agents each time one of
        its triggers fires, from the next delivery on. An invalid automation returns all
        findings at once, each with its JSON pointer, also within payload filters. A webhook or
        schedule that does not exist is not an error: the trigger stays inactive and `problems`
        says so, until it exists. A name that the factory already uses returns 409.
        """
        return await self._call(operations.create_automation, arguments, factory_uid)

    async def list(
        self, factory_uid: str, **arguments: Unpack[Options]
    ) -> types.ListAutomationsResponse:
        """List automations.

        Lists the factory's automations, by name.
        """
        return await self._call(operations.list_automations, arguments, factory_uid)

    async def get(
        self, factory_uid: str, automation_uid: str, **arguments: Unpack[Options]
    ) -> types.Automation:
        """Get an automation.

        Returns an automation. If it or a trigger is inactive, `problems` says why.
        """
        return await self._call(operations.get_automation, arguments, factory_uid, automation_uid)

    async def update(
        self,
        factory_uid: str,
        automation_uid: str,
        **arguments: Unpack[params.UpdateAutomationParams],
    ) -> types.Automation:
        """Update an automation.

        Updates an automation. An omitted field stays unchanged. Null clears a field. `triggers`
        is replaced as a whole. `enabled` turns the automation on or off. Events that pass while
        it is off are skipped. Changes apply from the next delivery on. Existing runs keep the
        configuration that they started with. A name that is taken returns 409.
        """
        return await self._call(
            operations.update_automation, arguments, factory_uid, automation_uid
        )

    async def delete(
        self, factory_uid: str, automation_uid: str, **arguments: Unpack[Options]
    ) -> None:
        """Delete an automation.

        Deletes an automation. It no longer fires from the next delivery on. Runs that it
        started continue.
        """
        return await self._call(
            operations.delete_automation, arguments, factory_uid, automation_uid
        )

    async def run(
        self, factory_uid: str, automation_uid: str, **arguments: Unpack[params.RunAutomationParams]
    ) -> types.RunAgentResponse:
        """Run an automation now.

        Starts a run of an automation without an event, even if the automation is disabled. The
        run has the automation's prompt and configuration and its `automation_id`. Its prompt
        says that no event belongs to it. An automation that cannot start runs returns 409 with
        the reason.
        """
        return await self._call(operations.run_automation, arguments, factory_uid, automation_uid)

    async def test_filter(
        self, factory_uid: str, **arguments: Unpack[params.TestFilterParams]
    ) -> types.FilterTestResult:
        """Test a filter.

        Evaluates a payload filter against a `payload` or a stored delivery, and shows which
        check fails. With only a `webhook_uid`, it evaluates the filter against the webhook's
        latest accepted deliveries (at most 50), and `sample` says how many match. With
        `provider` and `event`, the filter is that of a GitHub or Linear trigger. This starts no
        runs.
        """
        return await self._call(operations.test_filter, arguments, factory_uid)


class AsyncWebhooks(AsyncResource):
    """`client.webhooks`: list, create, get, update, delete, rotate_secret, list_signature_schemes,
    send_test, verify_request.
    """

    async def list(
        self, factory_uid: str, **arguments: Unpack[Options]
    ) -> types.ListWebhooksResponse:
        """List webhooks.

        Lists the factory's webhooks, by name. Secrets are not included.
        """
        return await self._call(operations.list_webhooks, arguments, factory_uid)

    async def create(
        self, factory_uid: str, **arguments: Unpack[params.CreateWebhookParams]
    ) -> types.Webhook:
        """Create a webhook.

        Creates a URL that accepts JSON from another system, and the managed secret that
        authenticates its deliveries. Only this response shows the secret and, for `url_token`,
        the complete URL.

        For `token` and `url_token` the server generates the secret. For `signature`, pass the
        sender's secret or omit it. If omitted, the server generates one for `standard_webhooks`
        and `svix`. For every other scheme the webhook is created disabled, with
        `pending_secret` and its final URL, until you set the secret with a PATCH.

        The server stores the secret as a managed secret of the team, under `secret_name`. If
        `secret_name` names an existing secret, its value is used and not shown: this requires
        the scope `secrets:manage` and excludes `secret`. A webhook name that is taken returns
        409. So does a webhook beyond the server's limit. Runs never receive a secret that the
        server generated here.
        """
        return await self._call(operations.create_webhook, arguments, factory_uid)

    async def get(
        self, factory_uid: str, webhook_uid: str, **arguments: Unpack[Options]
    ) -> types.Webhook:
        """Get a webhook.

        Returns a webhook with its valid secrets, when each was last used, and the delivery
        counts of the last 24 hours. The values of the secrets are not included.
        """
        return await self._call(operations.get_webhook, arguments, factory_uid, webhook_uid)

    async def update(
        self, factory_uid: str, webhook_uid: str, **arguments: Unpack[params.UpdateWebhookParams]
    ) -> types.Webhook:
        """Update a webhook.

        Updates a webhook. An omitted field stays unchanged. `secret` completes a pending
        webhook and enables it. With `enabled: false`, deliveries get 404 from the next request
        on. Any change, including `enabled: true`, makes the webhook use the current value of
        its managed secret. `name`, `auth_mode`, `signature_scheme` and `secret_name` cannot be
        changed (400), because the sender is configured with them. Enabling a webhook that is
        still pending returns 409. So does setting a `secret` on a webhook that already has one.

        With `suspended: true`, deliveries get 404 from the next request on until you clear it.
        The factory's files do not change. If the factory is defined by a repository, only
        `suspended` and the `secret` of a pending webhook can be changed. Any other change
        returns 409, and the error says where to edit.
        """
        return await self._call(operations.update_webhook, arguments, factory_uid, webhook_uid)

    async def delete(
        self, factory_uid: str, webhook_uid: str, **arguments: Unpack[Options]
    ) -> None:
        """Delete a webhook.

        Deletes a webhook. Deliveries get 404 from the next request on, on every replica.
        Automations that refer to it stay, and so does its managed secret.
        """
        return await self._call(operations.delete_webhook, arguments, factory_uid, webhook_uid)

    async def rotate_secret(
        self,
        factory_uid: str,
        webhook_uid: str,
        **arguments: Unpack[params.RotateWebhookSecretParams],
    ) -> types.Webhook:
        """Rotate a webhook's secret.

        Replaces the value of the webhook's managed secret, with `secret` or with a generated
        value. The response shows the new value once. It is valid from the next request on. The
        old value stops working immediately, or after `overlap_seconds`; `secrets` shows when it
        was last used. A secret that something else also uses returns 409, and the error lists
        its users. A secret that the server did not generate for this webhook requires the scope
        `secrets:manage`, here and as the `secret` of a PATCH. For senders that generate their
        own secrets, `secret` is required.
        """
        return await self._call(
            operations.rotate_webhook_secret, arguments, factory_uid, webhook_uid
        )

    async def list_signature_schemes(
        self, **arguments: Unpack[Options]
    ) -> types.ListSignatureSchemesResponse:
        """List signature schemes.

        Lists the supported signature schemes in display order: where to find each sender's
        secret, and the layout of its signatures, so that you can sign a delivery. Accepts any
        key except that of an execution.
        """
        return await self._call(operations.list_signature_schemes, arguments)

    async def send_test(
        self, factory_uid: str, webhook_uid: str, **arguments: Unpack[params.SendTestDeliveryParams]
    ) -> types.Delivery:
        """Send a test delivery.

        Sends a delivery to the webhook as its sender would, with the webhook's own secret and
        through all checks, and returns its entry of the log. Automations that match start runs.
        The delivery has the given `payload`, a sample of an `event`, or what an earlier
        delivery had. Otherwise it is an example. It is a delivery of its own, even if its bytes
        were sent before. A webhook that accepts no deliveries returns 409. So does a webhook
        whose sender signs with a private key.
        """
        return await self._call(operations.send_test_delivery, arguments, factory_uid, webhook_uid)

    async def verify_request(
        self,
        factory_uid: str,
        webhook_uid: str,
        **arguments: Unpack[params.VerifyWebhookRequestParams],
    ) -> types.WebhookVerification:
        """Verify a request of a sender.

        Checks the signature or token of a captured request with the webhook's current secrets,
        as for a delivery, and returns why it is invalid. It records and starts nothing. A
        webhook with its token in the URL returns 409, because a request has nothing to verify.
        So does a webhook that accepts no deliveries.
        """
        return await self._call(
            operations.verify_webhook_request, arguments, factory_uid, webhook_uid
        )


class AsyncDeliveries(AsyncResource):
    """`client.deliveries`: list, get, payload, replay."""

    def list(
        self, factory_uid: str, webhook_uid: str, **arguments: Unpack[params.ListDeliveriesParams]
    ) -> AsyncPages[types.Delivery]:
        """List deliveries.

        Lists a webhook's deliveries, newest first: every accepted delivery and duplicate, and
        rejected deliveries, at most 60 a minute for each outcome. The newest 50 of each
        outcome, and all deliveries of the last 7 days, are always kept.
        """
        return self._pages(operations.list_deliveries, arguments, factory_uid, webhook_uid)

    async def get(
        self, factory_uid: str, webhook_uid: str, delivery_id: str, **arguments: Unpack[Options]
    ) -> types.Delivery:
        """Get a delivery.

        Returns one entry of the log, with the match result of each automation that selects the
        webhook.
        """
        return await self._call(
            operations.get_delivery, arguments, factory_uid, webhook_uid, delivery_id
        )

    async def payload(
        self, factory_uid: str, webhook_uid: str, delivery_id: str, **arguments: Unpack[Options]
    ) -> bytes:
        """Download a delivery's payload.

        Returns the body of an accepted delivery, byte for byte, as a download. Rejected
        deliveries and duplicates have no stored payload and return 404.
        """
        return await self._call(
            operations.get_delivery_payload, arguments, factory_uid, webhook_uid, delivery_id
        )

    async def replay(
        self, factory_uid: str, webhook_uid: str, delivery_id: str, **arguments: Unpack[PostOptions]
    ) -> types.Delivery:
        """Replay a delivery.

        Records an accepted delivery again, with `replay_of`, and starts the runs that match the
        current automations and filters, even if the webhook is disabled. A replay is never a
        duplicate and does not count against the rate limit. A delivery that was not accepted,
        or that only verified the URL, returns 409.
        """
        return await self._call(
            operations.replay_delivery, arguments, factory_uid, webhook_uid, delivery_id
        )


class AsyncSecrets(AsyncResource):
    """`client.secrets`: list, create, get, set, delete."""

    async def list(self, **arguments: Unpack[Options]) -> types.ListSecretsResponse:
        """List secrets.

        Lists the team's managed secrets, by name. Values are never returned.
        """
        return await self._call(operations.list_secrets, arguments)

    async def create(self, **arguments: Unpack[params.CreateSecretParams]) -> types.Secret:
        """Create a secret.

        Stores a secret value for the team's runs and webhooks. The value is never returned.
        Without a `value` the secret is only declared: it can be referred to, and is `pending`
        until you set its value. A name that is taken returns 409. So does a secret beyond the
        server's limit.
        """
        return await self._call(operations.create_secret, arguments)

    async def get(self, secret_name: str, **arguments: Unpack[Options]) -> types.Secret:
        """Get a secret.

        Returns the metadata of a secret and what uses it, never its value.
        """
        return await self._call(operations.get_secret, arguments, secret_name)

    async def set(
        self, secret_name: str, **arguments: Unpack[params.SetSecretParams]
    ) -> types.Secret:
        """Set a secret's value or hosts.

        Sets the next version of a secret, the hosts that may get it, or both. The previous
        value is not kept. Runs get the new value from their next execution on. An execution
        that has started keeps the old value. A webhook uses the new value when its definition
        is next applied, or immediately if its `secret_refresh` is `immediate`.
        """
        return await self._call(operations.set_secret, arguments, secret_name)

    async def delete(self, secret_name: str, **arguments: Unpack[Options]) -> None:
        """Delete a secret.

        Deletes a secret and its value. If an agent, an automation, a webhook or an active
        schedule uses it, the request returns 409 and lists them. A queued run that uses it ends
        FAILED when it starts.
        """
        return await self._call(operations.delete_secret, arguments, secret_name)


class AsyncUsage(AsyncResource):
    """`client.usage`: get."""

    async def get(self, **arguments: Unpack[params.GetUsageParams]) -> types.UsageReport:
        """Get the usage of the team.

        Sums up the calls to models that the team's runs made in a period of time, including
        personal runs. A call counts when it was sent. Rows by day are in order, and days
        without calls are omitted. Other rows come with the highest cost first, up to 1,000. The
        calls of a run without a factory, agent, automation or key count for the nearest run
        above it that has one. With `Accept: text/csv` or `format=csv`, the response is CSV with
        the same names as columns.
        """
        return await self._call(operations.get_usage, arguments)


class AsyncBudgets(AsyncResource):
    """`client.budgets`: create, list, get, update, delete."""

    async def create(self, **arguments: Unpack[params.CreateBudgetParams]) -> types.Budget:
        """Create a budget.

        Caps what runs can spend on models in a period. Before a call is sent to a provider, its
        maximum cost is reserved in all budgets that apply to its run. If one of them has no
        room, the call is not sent. Calls that the ledger already has for the current period
        count. A team can have up to 1,000 budgets. One beyond that returns 409. The key of an
        agent cannot change budgets.
        """
        return await self._call(operations.create_budget, arguments)

    async def list(self, **arguments: Unpack[Options]) -> types.ListBudgetsResponse:
        """List budgets.

        Lists the team's budgets, oldest first, with the amounts that are spent and reserved in
        their current periods.
        """
        return await self._call(operations.list_budgets, arguments)

    async def get(self, budget_uid: str, **arguments: Unpack[Options]) -> types.Budget:
        """Get a budget.

        Returns a budget with the amounts that are spent and reserved in its current period.
        """
        return await self._call(operations.get_budget, arguments, budget_uid)

    async def update(
        self, budget_uid: str, **arguments: Unpack[params.UpdateBudgetParams]
    ) -> types.Budget:
        """Change a budget.

        Changes the given fields, and leaves the others as they are. Null sets a field to its
        default. The scope cannot change. Runs that the budget blocks continue within a second
        if it now has room for their next call. If the period or the time zone changes, the
        spent amount is computed again from the ledger. The key of an agent cannot change
        budgets.
        """
        return await self._call(operations.update_budget, arguments, budget_uid)

    async def delete(self, budget_uid: str, **arguments: Unpack[Options]) -> None:
        """Delete a budget.

        Deletes a budget. Runs that it blocks continue within a second. The ledger keeps what
        was spent. The key of an agent cannot change budgets.
        """
        return await self._call(operations.delete_budget, arguments, budget_uid)


class AsyncForges(AsyncResource):
    """`client.forges`: list, create, get, update, delete, check, repositories, rotate_secret,
    deliveries, delivery, delivery_payload, replay.
    """

    async def list(self, **arguments: Unpack[Options]) -> types.ListForgesResponse:
        """List connections.

        Lists the team's connections to forges, by name.
        """
        return await self._call(operations.list_forges, arguments)

    async def create(self, **arguments: Unpack[params.CreateForgeParams]) -> types.Forge:
        """Connect to a forge.

        Connects to a host of repositories with the token of a bot account. The server asks the
        forge for the account at once. A token that the forge refuses and a URL that is not its
        API return 400. If the forge does not answer, the connection is `pending`, and the
        server tries again. Later, it checks each connection once an hour.

        Runs can then name repositories by `connection` and `path`. A repository that is named
        by its URL uses the connection that has it. The proxy lets the run read that repository,
        by git and by the API, and nothing else: neither the sandbox nor the agent has the
        token. Without `read_token`, it sends `token`, but only with requests that read.

        The address must be public, unless the operator opened its network with `--private-
        network`. A team can have 20 connections. One beyond that, and a name that exists,
        return 409. The key of an agent cannot manage connections.
        """
        return await self._call(operations.create_forge, arguments)

    async def get(self, forge_uid: str, **arguments: Unpack[Options]) -> types.Forge:
        """Get a connection.

        Returns a connection. Its tokens are never returned.
        """
        return await self._call(operations.get_forge, arguments, forge_uid)

    async def update(
        self, forge_uid: str, **arguments: Unpack[params.UpdateForgeParams]
    ) -> types.Forge:
        """Change a connection.

        Changes the given fields. A field that is null gets its default. Tokens are tried first,
        as for a new connection. Runs get the new ones with their next execution. `name`,
        `provider` and `url` cannot change.
        """
        return await self._call(operations.update_forge, arguments, forge_uid)

    async def delete(self, forge_uid: str, **arguments: Unpack[Options]) -> None:
        """Delete a connection.

        Deletes a connection with its tokens. The forge is not asked to revoke them. Executions
        that have begun keep them until they end; a run that names the connection fails at its
        next execution.
        """
        return await self._call(operations.delete_forge, arguments, forge_uid)

    async def check(self, forge_uid: str, **arguments: Unpack[PostOptions]) -> types.ForgeChecked:
        """Check a connection.

        Asks the forge whether the tokens can do what a connection needs, names each permission
        that is missing, and stores the result as the status. It writes nothing: write
        permissions are tried with a repository that does not exist.
        """
        return await self._call(operations.check_forge, arguments, forge_uid)

    async def repositories(
        self, forge_uid: str, **arguments: Unpack[Options]
    ) -> types.ListForgeRepositoriesResponse:
        """List repositories of a connection.

        Asks the forge for the repositories that runs can use through the connection, at most
        500, by path. A forge that does not answer returns 503.
        """
        return await self._call(operations.list_forge_repositories, arguments, forge_uid)

    async def rotate_secret(
        self, forge_uid: str, **arguments: Unpack[params.RotateForgeSecretParams]
    ) -> types.Forge:
        """Rotate a connection's secret.

        Generates a new secret, with which the forge signs its deliveries to `ingress_url`. The
        response shows it once. The old one stops working immediately, or after
        `overlap_seconds`. A connection has at most 5 valid secrets.
        """
        return await self._call(operations.rotate_forge_secret, arguments, forge_uid)

    def deliveries(
        self, forge_uid: str, **arguments: Unpack[params.ListForgeDeliveriesParams]
    ) -> AsyncPages[types.Delivery]:
        """List deliveries of a connection.

        Lists what the forge has sent to `ingress_url`, newest first, as for webhooks. `detail`
        says why no factory got an event, and `matches` why an automation started no run.
        """
        return self._pages(operations.list_forge_deliveries, arguments, forge_uid)

    async def delivery(
        self, forge_uid: str, delivery_id: str, **arguments: Unpack[Options]
    ) -> types.Delivery:
        """Get a delivery of a connection.

        Returns one entry of the log, with the match result of each automation of a factory that
        works on the repository.
        """
        return await self._call(operations.get_forge_delivery, arguments, forge_uid, delivery_id)

    async def delivery_payload(
        self, forge_uid: str, delivery_id: str, **arguments: Unpack[Options]
    ) -> bytes:
        """Download the payload of a connection's delivery.

        Returns the body of an accepted delivery, byte for byte, as a download. Rejected
        deliveries and duplicates have no stored payload and return 404.
        """
        return await self._call(
            operations.get_forge_delivery_payload, arguments, forge_uid, delivery_id
        )

    async def replay(
        self, forge_uid: str, delivery_id: str, **arguments: Unpack[PostOptions]
    ) -> types.Delivery:
        """Replay a delivery of a connection.

        Records an accepted delivery again, with `replay_of`, and starts the runs that match the
        current automations and filters. A replay is never a duplicate and does not count
        against the rate limit. A delivery that was not accepted, or that only verified the URL,
        returns 409.
        """
        return await self._call(operations.replay_forge_delivery, arguments, forge_uid, delivery_id)


class AsyncOutputs(AsyncResource):
    """`client.outputs`: list, approve, reject."""

    async def list(self, **arguments: Unpack[params.ListOutputsParams]) -> types.OutputList:
        """List outputs in a state.

        Returns the oldest 200 outputs of the team in a state, such as those that a person has
        to release.
        """
        return await self._call(operations.list_outputs, arguments)

    async def approve(self, output_uid: str, **arguments: Unpack[PostOptions]) -> types.Output:
        """Release an output.

        Releases an output that is `held`: it is done next. The key of an agent cannot do this.
        Another state returns 409.
        """
        return await self._call(operations.approve_output, arguments, output_uid)

    async def reject(self, output_uid: str, **arguments: Unpack[PostOptions]) -> types.Output:
        """Discard an output.

        Discards an output that is `held`, or `queued` while nothing is being done for it. The
        key of an agent cannot do this. Another state returns 409.
        """
        return await self._call(operations.reject_output, arguments, output_uid)


class AsyncEventEndpoints(AsyncResource):
    """`client.event_endpoints`: create, list, get, update, delete, ping, rotate_secret, attempts,
    replay.
    """

    async def create(
        self, **arguments: Unpack[params.CreateEventEndpointParams]
    ) -> types.EventEndpoint:
        """Create an event endpoint.

        Creates a receiver of messages about events. The server sends each message as a POST
        that is signed as Standard Webhooks describe, and tries again until the endpoint returns
        a status from 200 to 299. The response is the only one that shows the secret and the
        complete URL. The URL must have a public address, unless the operator opened its network
        with `--event-private-network`. Personal runs send nothing. A team can have up to 100
        event endpoints. One beyond that returns 409. The key of an agent cannot manage
        endpoints.

        With the format `slack`, a message is `{"text": …}` for an incoming webhook of Slack,
        Mattermost or a compatible receiver: one line with what happened, a link to the
        dashboard, and the names of the run, automation and budget. It is not signed, so
        `secrets` is empty. It has titles of runs, so it also needs the scope `runs:read`.
        Another format returns 422.

        With the format `slack_app`, messages are posted to the `channel` with the bot token of
        a Slack app. The first message about a run begins a thread, and the others follow in it.
        A blocked run asks its question there, and the Slack users of `may_answer` can answer
        it, or cancel the run. Their clicks act with the rights of the endpoint, so `may_answer`
        also needs the scope `runs:write`. Slack sends clicks to the `interactivity_url`, and
        signs them with the `signing_secret`.
        """
        return await self._call(operations.create_event_endpoint, arguments)

    async def list(self, **arguments: Unpack[Options]) -> types.ListEventEndpointsResponse:
        """List event endpoints.

        Lists the team's event endpoints, oldest first.
        """
        return await self._call(operations.list_event_endpoints, arguments)

    async def get(self, endpoint_uid: str, **arguments: Unpack[Options]) -> types.EventEndpoint:
        """Get an event endpoint.

        Returns an event endpoint with the counts of its messages.
        """
        return await self._call(operations.get_event_endpoint, arguments, endpoint_uid)

    async def update(
        self, endpoint_uid: str, **arguments: Unpack[params.UpdateEventEndpointParams]
    ) -> types.EventEndpoint:
        """Change an event endpoint.

        Changes the given fields. A field that is null gets its default. Enabling an endpoint
        sends what waits. The format cannot change: another one returns 422. An endpoint of the
        format `slack` or `slack_app` also needs the scope `runs:read`. If anybody may answer at
        it, a change also needs the scope `runs:write`, unless all that it does is to disable
        the endpoint. An absent `bot_token` or `signing_secret` stays, but a `url` of another
        server needs the `bot_token` again, and `may_answer` the `signing_secret` if a key
        without `runs:write` has set it.
        """
        return await self._call(operations.update_event_endpoint, arguments, endpoint_uid)

    async def delete(self, endpoint_uid: str, **arguments: Unpack[Options]) -> None:
        """Delete an event endpoint.

        Deletes an event endpoint. Nothing more is sent to it.
        """
        return await self._call(operations.delete_event_endpoint, arguments, endpoint_uid)

    async def ping(
        self, endpoint_uid: str, **arguments: Unpack[PostOptions]
    ) -> types.EndpointMessageSent:
        """Send a ping to an event endpoint.

        Sends a message of the type `endpoint.ping`. Its attempts are in the log, like all
        others. A disabled endpoint returns 409.
        """
        return await self._call(operations.ping_event_endpoint, arguments, endpoint_uid)

    async def rotate_secret(
        self, endpoint_uid: str, **arguments: Unpack[params.RotateEventEndpointSecretParams]
    ) -> types.EventEndpoint:
        """Rotate the secret of an event endpoint.

        Generates a new secret, which the response shows once. For `overlap_seconds`, each
        request also has a signature of the old one. At most two secrets are valid. An endpoint
        of the format `slack` or `slack_app` has none that signs messages, and returns 409.
        """
        return await self._call(operations.rotate_event_endpoint_secret, arguments, endpoint_uid)

    def attempts(
        self, endpoint_uid: str, **arguments: Unpack[params.ListEventEndpointAttemptsParams]
    ) -> AsyncPages[types.EndpointAttempt]:
        """List the attempts of an event endpoint.

        Lists the requests to an event endpoint of the last 7 days, newest first. Of an endpoint
        with a private address, the log shows only the status.
        """
        return self._pages(operations.list_event_endpoint_attempts, arguments, endpoint_uid)

    async def replay(
        self, endpoint_uid: str, **arguments: Unpack[params.ReplayEventEndpointMessagesParams]
    ) -> types.EndpointMessagesReplayed:
        """Send messages again.

        Sends one message again, or all that happened since a time, with the same ids. Messages
        are kept for 7 days. A disabled endpoint returns 409.
        """
        return await self._call(operations.replay_event_endpoint_messages, arguments, endpoint_uid)


class AsyncEventTypes(AsyncResource):
    """`client.event_types`: list."""

    async def list(self, **arguments: Unpack[Options]) -> types.ListEventTypesResponse:
        """List the types of messages.

        Lists the types of messages that event endpoints can receive, each with an example.
        """
        return await self._call(operations.list_event_types, arguments)


class AsyncKeys(AsyncResource):
    """`client.keys`: create, list, delete, assign."""

    async def create(self, **arguments: Unpack[params.CreateKeyParams]) -> types.Key:
        """Create a key.

        Creates an API key. Only this response shows the key: the server stores its hash. A key
        cannot have a scope that the caller lacks.
        """
        return await self._call(operations.create_key, arguments)

    async def list(self, **arguments: Unpack[Options]) -> types.ListKeysResponse:
        """List keys.

        Lists the team's API keys, newest first. Deleted keys and the values of keys are not
        included.
        """
        return await self._call(operations.list_keys, arguments)

    async def delete(self, key_uid: str, **arguments: Unpack[Options]) -> None:
        """Delete a key.

        Deletes an API key. It is rejected from the next request on, on every replica. The
        team's last key with the scope `admin` cannot be deleted (409).
        """
        return await self._call(operations.delete_key, arguments, key_uid)

    async def assign(self, key_uid: str, **arguments: Unpack[params.AssignKeyParams]) -> types.Key:
        """Give a key to somebody.

        Gives a key to a user or service account, from the next request on. What the key does is
        then theirs, and it may do at most what they may. Also requires `access:manage`. The key
        of an agent stays with the agent (409).
        """
        return await self._call(operations.assign_key, arguments, key_uid)


class AsyncUsers(AsyncResource):
    """`client.users`: create, list, get, update, delete."""

    async def create(self, **arguments: Unpack[params.CreateUserParams]) -> types.Member:
        """Create a user.

        Creates a person. With `issuer` and `subject`, it is the person whom the identity
        provider knows by them. An e-mail address or a name is compared with nothing.
        """
        return await self._call(operations.create_user, arguments)

    async def list(self, **arguments: Unpack[Options]) -> types.ListUsersResponse:
        """List users.

        Lists the users of the team by name; disabled ones are last.
        """
        return await self._call(operations.list_users, arguments)

    async def get(self, user_uid: str, **arguments: Unpack[Options]) -> types.Member:
        """Get a user.

        Returns a user with its roles.
        """
        return await self._call(operations.get_user, arguments, user_uid)

    async def update(
        self, user_uid: str, **arguments: Unpack[params.UpdateUserParams]
    ) -> types.Member:
        """Change a user.

        Changes a user. A disabled one is refused from the next request on, on every replica:
        its sessions end, its keys are silent until it is enabled again, and its schedules are
        paused. The last admin with a key cannot be disabled (409).
        """
        return await self._call(operations.update_user, arguments, user_uid)

    async def delete(self, user_uid: str, **arguments: Unpack[Options]) -> None:
        """Delete a user.

        Deletes a user: revokes its keys, ends its sessions, removes its grants and pauses its
        schedules. What it has done keeps its name. The last admin with a key cannot be deleted
        (409).
        """
        return await self._call(operations.delete_user, arguments, user_uid)


class AsyncServiceAccounts(AsyncResource):
    """`client.service_accounts`: create, list, get, update, delete."""

    async def create(self, **arguments: Unpack[params.CreateServiceAccountParams]) -> types.Member:
        """Create a service account.

        Creates an account for a program. It has keys, and no sign-in.
        """
        return await self._call(operations.create_service_account, arguments)

    async def list(self, **arguments: Unpack[Options]) -> types.ListServiceAccountsResponse:
        """List service accounts.

        Lists the service accounts of the team by name; disabled ones are last.
        """
        return await self._call(operations.list_service_accounts, arguments)

    async def get(self, service_account_uid: str, **arguments: Unpack[Options]) -> types.Member:
        """Get a service account.

        Returns a service account with its roles.
        """
        return await self._call(operations.get_service_account, arguments, service_account_uid)

    async def update(
        self, service_account_uid: str, **arguments: Unpack[params.UpdateServiceAccountParams]
    ) -> types.Member:
        """Change a service account.

        Changes a service account. A disabled one is refused from the next request on, on every
        replica: its sessions end, its keys are silent until it is enabled again, and its
        schedules are paused. The last admin with a key cannot be disabled (409).
        """
        return await self._call(operations.update_service_account, arguments, service_account_uid)

    async def delete(self, service_account_uid: str, **arguments: Unpack[Options]) -> None:
        """Delete a service account.

        Deletes a service account: revokes its keys, ends its sessions, removes its grants and
        pauses its schedules. What it has done keeps its name. The last admin with a key cannot
        be deleted (409).
        """
        return await self._call(operations.delete_service_account, arguments, service_account_uid)


class AsyncGrants(AsyncResource):
    """`client.grants`: create, list, delete."""

    async def create(self, **arguments: Unpack[params.CreateGrantParams]) -> types.Grant:
        """Grant a role.

        Grants a role to a user, a service account or a group of the identity provider, from the
        next request on. Grants add up. A caller cannot grant a role with a scope that the
        caller lacks. A team has at most 1,000 grants.
        """
        return await self._call(operations.create_grant, arguments)

    async def list(self, **arguments: Unpack[Options]) -> types.ListGrantsResponse:
        """List grants.

        Lists the grants of the team, newest first.
        """
        return await self._call(operations.list_grants, arguments)

    async def delete(self, grant_uid: str, **arguments: Unpack[Options]) -> None:
        """Remove a grant.

        Removes a grant from the next request on. The role of the last admin with a key cannot
        be removed (409).
        """
        return await self._call(operations.delete_grant, arguments, grant_uid)


class AsyncMe(AsyncResource):
    """`client.me`: get."""

    async def get(self, **arguments: Unpack[Options]) -> types.Me:
        """Get the caller.

        Returns the person or service account behind the request, its team, and the scopes of
        the key. Requires a valid key with any scope.
        """
        return await self._call(operations.get_me, arguments)


class AsyncLimits(AsyncResource):
    """`client.limits`: get."""

    async def get(self, **arguments: Unpack[Options]) -> types.Limits:
        """Get the limits.

        Returns the active limits of this server, with its version. 0 means no limit. Accepts
        any key except that of an execution.
        """
        return await self._call(operations.get_limits, arguments)


class AsyncStats(AsyncResource):
    """`client.stats`: get."""

    async def get(self, **arguments: Unpack[params.GetStatsParams]) -> types.Stats:
        """Get statistics of the last hours.

        Returns hourly totals for charts, for the current hour and those before it. A run counts
        in the hour in which it was created. Personal runs of other users are included only for
        admins. Deliveries are included only for callers with `factories:read`.
        """
        return await self._call(operations.get_stats, arguments)


class AsyncSession(AsyncResource):
    """`client.session`: create, get, delete, providers, begin."""

    async def create(self, **arguments: Unpack[params.CreateSessionParams]) -> types.Session:
        """Sign in.

        Starts a dashboard session with an API key, or with `state` and `code` of an identity
        provider where the sign-in began with `POST /session/providers` in the same browser. The
        groups that the provider names then are the user's groups; whoever has no role by them
        or by a grant is refused (403). The response sets a cookie that scripts cannot read and
        that other sites cannot make the browser send. It also shows `secret`, once. Every
        request must send both: the cookie, and the secret in the `X-Penstock-Session-Secret`
        header. All ports of a host share cookies but not localStorage, which is where a page
        keeps the secret. The session has the permissions of the key. It ends when you sign out,
        when it is idle for too long, when it expires, or when the key is revoked or its owner
        disabled. If the request itself belongs to a session, that session ends. Programs do not
        need a session: they send the key.
        """
        return await self._call(operations.create_session, arguments)

    async def get(self, **arguments: Unpack[Options]) -> types.Session:
        """Get the session.

        Returns the signed-in caller and their permissions. A request with an API key instead of
        a cookie has no session and returns 404.
        """
        return await self._call(operations.get_session, arguments)

    async def delete(self, **arguments: Unpack[Options]) -> None:
        """Sign out.

        Ends the session from the next request on, on every replica, and removes the cookie.
        """
        return await self._call(operations.delete_session, arguments)

    async def providers(self, **arguments: Unpack[Options]) -> types.ListSignInProvidersResponse:
        """List identity providers.

        Lists where users can sign in. Needs no key.
        """
        return await self._call(operations.list_sign_in_providers, arguments)

    async def begin(self, **arguments: Unpack[params.BeginSignInParams]) -> types.SignInStart:
        """Begin to sign in.

        Begins to sign in at an identity provider, by the code flow of OpenID Connect with PKCE.
        The response says where the browser goes, and sets a cookie. The provider sends the
        browser back to the page `/sign-in/callback` of the dashboard, which calls `POST
        /session` with what it got, within 10 minutes. Only pages of the server can call it.
        Needs no key.
        """
        return await self._call(operations.begin_sign_in, arguments)


class AsyncResources(AsyncResource):
    """All resources, as fields of the client."""

    @cached_property
    def runs(self) -> AsyncRuns:
        """Methods: create, list, get, update, follow_up, interrupt, checkpoints, fork, rewind,
        declare_output, outputs, compare, prepare_attachments, cancel, timeline, network,
        changes, patch, usage, harness_usage, calls, conversation, transcript, events,
        handoff_attachments, add_artifact, find_by_external_reference.
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
    def occurrences(self) -> AsyncOccurrences:
        """Methods: list."""
        return AsyncOccurrences(self._connection)

    @cached_property
    def subjects(self) -> AsyncSubjects:
        """Methods: list, get."""
        return AsyncSubjects(self._connection)

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
    def network(self) -> AsyncNetwork:
        """Methods: get."""
        return AsyncNetwork(self._connection)

    @cached_property
    def workers(self) -> AsyncWorkers:
        """Methods: list."""
        return AsyncWorkers(self._connection)

    @cached_property
    def harnesses(self) -> AsyncHarnesses:
        """Methods: list."""
        return AsyncHarnesses(self._connection)

    @cached_property
    def environments(self) -> AsyncEnvironments:
        """Methods: list, create, get, update, delete, list_prebuilds, delete_prebuild."""
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
        """Methods: create, list, get, update, delete, run, test_filter."""
        return AsyncAutomations(self._connection)

    @cached_property
    def webhooks(self) -> AsyncWebhooks:
        """Methods: list, create, get, update, delete, rotate_secret, list_signature_schemes,
        send_test, verify_request.
        """
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
    def usage(self) -> AsyncUsage:
        """Methods: get."""
        return AsyncUsage(self._connection)

    @cached_property
    def budgets(self) -> AsyncBudgets:
        """Methods: create, list, get, update, delete."""
        return AsyncBudgets(self._connection)

    @cached_property
    def forges(self) -> AsyncForges:
        """Methods: list, create, get, update, delete, check, repositories, rotate_secret,
        deliveries, delivery, delivery_payload, replay.
        """
        return AsyncForges(self._connection)

    @cached_property
    def outputs(self) -> AsyncOutputs:
        """Methods: list, approve, reject."""
        return AsyncOutputs(self._connection)

    @cached_property
    def event_endpoints(self) -> AsyncEventEndpoints:
        """Methods: create, list, get, update, delete, ping, rotate_secret, attempts, replay."""
        return AsyncEventEndpoints(self._connection)

    @cached_property
    def event_types(self) -> AsyncEventTypes:
        """Methods: list."""
        return AsyncEventTypes(self._connection)

    @cached_property
    def keys(self) -> AsyncKeys:
        """Methods: create, list, delete, assign."""
        return AsyncKeys(self._connection)

    @cached_property
    def users(self) -> AsyncUsers:
        """Methods: create, list, get, update, delete."""
        return AsyncUsers(self._connection)

    @cached_property
    def service_accounts(self) -> AsyncServiceAccounts:
        """Methods: create, list, get, update, delete."""
        return AsyncServiceAccounts(self._connection)

    @cached_property
    def grants(self) -> AsyncGrants:
        """Methods: create, list, delete."""
        return AsyncGrants(self._connection)

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
        """Methods: create, get, delete, providers, begin."""
        return AsyncSession(self._connection)
