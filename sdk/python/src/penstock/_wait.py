"""Wait for the end of a run."""

from __future__ import annotations

import time
from dataclasses import replace

import anyio

from . import _operations as operations
from . import types
from ._events import AsyncEventStream, EventStream
from ._exchange import worth_retrying
from ._resource import AsyncResource, Resource
from .errors import (
    APIConnectionError,
    APIError,
    InvalidResponseError,
    WaitTimeoutError,
)

OVER = ("SUCCEEDED", "FAILED", "ERROR", "CANCELLED")
POLL = 2.0
"""Seconds between two looks at a run whose stream cannot be had."""
PATIENCE = 60.0
"""Seconds for which a server that has responded before may be unreachable."""


class Absence:
    """How long the server has been unreachable."""

    def __init__(self) -> None:
        self._since: float | None = None

    def over(self) -> None:
        """The server has responded."""
        self._since = None

    def bear(self, error: APIError | APIConnectionError) -> None:
        """Raise the error if it is final, or if the server has been unreachable for too long."""
        if isinstance(error, APIError) and not worth_retrying(error):
            raise error
        now = time.monotonic()
        self._since = self._since or now
        if now - self._since > PATIENCE:
            raise error


def reached(run: types.RunItem, *, until_blocked: bool) -> bool:
    """Whether the wait is over."""
    return run.state in OVER or (until_blocked and run.state == "BLOCKED")


def worth_a_look(event: types.RunEvent, *, until_blocked: bool) -> bool:
    """Whether the run may be in such a state now."""
    if event.event == "done":
        return True
    blocked = isinstance(event, types.RunStateEvent) and event.data.state == "BLOCKED"
    return until_blocked and blocked


class RunsBase(Resource):
    """Methods of runs that are not operations of the API."""

    def wait(
        self, run_id: str, *, timeout: float | None = None, until_blocked: bool = False
    ) -> types.RunItem:
        """Wait until a run ends, in any final state, and return it.

        Follows the run's events, or polls every two seconds if the stream is unavailable. An unreachable
        server has one minute to come back. A BLOCKED run does not end the wait, because a reply can come
        from elsewhere, unless `until_blocked` is set. Raises WaitTimeoutError after `timeout` seconds; the
        run continues.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        stream: EventStream[types.RunEvent] | None = self._events(
            operations.stream_run_events, {}, run_id
        )
        run = self._look(run_id, deadline)
        absence = Absence()
        try:
            while not reached(run, until_blocked=until_blocked):
                stream = self._follow(stream, run_id, deadline, until_blocked=until_blocked)
                try:
                    run = self._look(run_id, deadline)
                    absence.over()
                except (APIError, APIConnectionError) as error:
                    absence.bear(error)
        finally:
            if stream is not None:
                stream.close()
        return run

    def _follow(
        self,
        stream: EventStream[types.RunEvent] | None,
        run_id: str,
        deadline: float | None,
        *,
        until_blocked: bool,
    ) -> EventStream[types.RunEvent] | None:
        """Wait until it is worth to look again; gives the stream to go on with."""
        left = _left(run_id, deadline)
        if stream is None:
            time.sleep(POLL if left is None else min(POLL, left))
            return None
        try:
            with stream.limit(deadline):
                for event in stream:
                    if worth_a_look(event, until_blocked=until_blocked):
                        return stream
        except (APIConnectionError, InvalidResponseError):
            stream.close()
            return None
        # The stream ended but the run did not: a follow-up started another execution.
        after = stream.last_event_id
        stream.close()
        return self._events(
            operations.stream_run_events, {"after": int(after)} if after else {}, run_id
        )

    def _look(self, run_id: str, deadline: float | None) -> types.RunItem:
        _left(run_id, deadline)
        call = replace(operations.get_run.call({}, [run_id]), deadline=deadline)
        try:
            run: types.RunItem = self._connection.perform(call)
        except (APIError, APIConnectionError):
            _left(run_id, deadline)
            raise
        return run


class AsyncRunsBase(AsyncResource):
    """Methods of runs that are not operations of the API."""

    async def wait(
        self,
        run_id: str,
        *,
        timeout: float | None = None,
        until_blocked: bool = False,
    ) -> types.RunItem:
        """Wait until a run ends, in any final state, and return it.

        Follows the run's events, or polls every two seconds if the stream is unavailable. An unreachable
        server has one minute to come back. A BLOCKED run does not end the wait, because a reply can come
        from elsewhere, unless `until_blocked` is set. Raises WaitTimeoutError after `timeout` seconds; the
        run continues.
        """
        with anyio.move_on_after(timeout):
            return await self._wait(run_id, until_blocked=until_blocked)
        raise _too_long(run_id)

    async def _wait(self, run_id: str, *, until_blocked: bool) -> types.RunItem:
        stream: AsyncEventStream[types.RunEvent] | None = self._events(
            operations.stream_run_events, {}, run_id
        )
        run = await self._call(operations.get_run, {}, run_id)
        absence = Absence()
        try:
            while not reached(run, until_blocked=until_blocked):
                stream = await self._follow(stream, run_id, until_blocked=until_blocked)
                try:
                    run = await self._call(operations.get_run, {}, run_id)
                    absence.over()
                except (APIError, APIConnectionError) as error:
                    absence.bear(error)
        finally:
            if stream is not None:
                await stream.close()
        return run

    async def _follow(
        self, stream: AsyncEventStream[types.RunEvent] | None, run_id: str, *, until_blocked: bool
    ) -> AsyncEventStream[types.RunEvent] | None:
        """Wait until it is worth to look again; gives the stream to go on with."""
        if stream is None:
            await anyio.sleep(POLL)
            return None
        try:
            async for event in stream:
                if worth_a_look(event, until_blocked=until_blocked):
                    return stream
        except (APIConnectionError, InvalidResponseError):
            await stream.close()
            return None
        # The stream ended but the run did not: a follow-up started another execution.
        after = stream.last_event_id
        await stream.close()
        return self._events(
            operations.stream_run_events, {"after": int(after)} if after else {}, run_id
        )


def _left(run_id: str, deadline: float | None) -> float | None:
    """Seconds until the deadline. Raises WaitTimeoutError after it."""
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise _too_long(run_id)
    return left


def _too_long(run_id: str) -> WaitTimeoutError:
    return WaitTimeoutError(f"run {run_id} has not ended yet")
