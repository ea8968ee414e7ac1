"""Live events of a run, with automatic reconnection."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Generic, TypeVar

import anyio
import httpx
from typing_extensions import Self

from ._connection import AsyncConnection, Connection, OpenResponse
from ._exchange import (
    LONGEST_PAUSE,
    LONGEST_RETRY_AFTER,
    TRANSPORT_ERRORS,
    Settings,
    connection_error,
    logger,
    pauses,
    untrusted,
    worth_retrying,
)
from ._operation import EventOperation
from ._options import Timeout
from ._raw import RawResponse
from .errors import APIError, InvalidResponseError, PenstockError

T = TypeVar("T")

LARGEST_EVENT = 32 << 20


@dataclass(frozen=True)
class ServerEvent:
    """A raw event."""

    name: str
    id: str
    data: str


class EventDecoder:
    """Decodes an event stream (WHATWG HTML §9.2.6) from chunks of any size."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._fields: dict[str, str] = {}
        self._data: list[str] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that are complete with this chunk; ValueError where one is too large."""
        self._buffer += chunk
        if len(self._buffer) + self._size > LARGEST_EVENT:
            raise ValueError(f"an event has more than {LARGEST_EVENT} bytes")
        if b"\n" not in chunk and b"\r" not in chunk:
            return
        lines = bytes(self._buffer).splitlines(keepends=True)
        # A carriage return at the end may be half of a line's end.
        rest = b"" if lines[-1].endswith(b"\n") else lines.pop()
        self._buffer = bytearray(rest)
        for line in lines:
            event = self._line(line.rstrip(b"\r\n").decode("utf-8", "replace"))
            if event is not None:
                yield event

    def _line(self, line: str) -> ServerEvent | None:
        if not line:
            event = None
            if self._data:
                name, id_ = self._fields.get("event", "message"), self._fields.get("id", "")
                event = ServerEvent(name, id_, "\n".join(self._data))
            self._fields, self._data, self._size = {}, [], 0
            return event
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
            self._size += len(value)
        elif name in ("event", "id"):
            self._fields[name] = value
        return None


class Log(Generic[T]):
    """The position of a stream: its last event, its idle time, and whether it is over."""

    def __init__(
        self,
        operation: EventOperation[T],
        arguments: Mapping[str, Any],
        path: Sequence[str],
        settings: Settings,
    ) -> None:
        self._operation = operation
        self._call = operation.call(arguments, path)
        if "timeout" in arguments and not isinstance(arguments["timeout"], Timeout):
            seconds: float | None = arguments["timeout"]
            self._call = replace(self._call, timeout=Timeout(connect=seconds, idle=seconds))
        self._idle = (self._call.timeout or settings.timeout).idle
        self._retries = settings.retries if self._call.retries is None else self._call.retries
        self._decoder = EventDecoder()
        self._pauses = pauses(0)
        self._heard = 0.0
        self._response: RawResponse[Any]
        self.ended = False
        self.opened = False
        self.deadline: float | None = None
        self.last_event_id = self._call.headers.get("Last-Event-ID", "")

    def open(self) -> Any:
        """The request for what comes next."""
        self._decoder = EventDecoder()
        headers = {**self._call.headers, "Accept": "text/event-stream", "Cache-Control": "no-store"}
        if self.last_event_id:
            headers["Last-Event-ID"] = self.last_event_id
        # Once it was open, the time without news decides how often to try again, not a number.
        retries = 0 if self.opened else self._call.retries
        return replace(self._call, headers=headers, retries=retries, deadline=self.deadline)

    def accept(self, response: RawResponse[Any] | None) -> None:
        """Take a connection; InvalidResponseError where it is no stream, None where all is over."""
        if response is None:
            self.ended = True
            return
        if response.media_type != "text/event-stream":
            kind = response.media_type or "no type"
            raise InvalidResponseError(response, f"the response should be a stream, not {kind}")
        self.opened = True
        self._response = response
        self._news()

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that are complete with this chunk."""
        self._news()
        try:
            return list(self._decoder.feed(chunk))
        except ValueError as error:
            raise InvalidResponseError(self._response, str(error)) from None

    def take(self, sent: ServerEvent) -> T:
        """The event that is given now."""
        try:
            event = self._operation.event(sent.name, sent.id, sent.data)
        except ValueError:
            raise InvalidResponseError(
                self._response, "the stream holds what is no event"
            ) from None
        self.last_event_id = sent.id or self.last_event_id
        self.ended = sent.name == "done"
        return event

    def _news(self) -> None:
        self._heard = time.monotonic()
        self._pauses = pauses(1000)

    def lost(self, error: PenstockError | None) -> float:
        """Seconds to wait before going on; raises the error where there is no going on.

        None stands for a stream that broke off without a word.
        """
        stop = not self.opened or self._retries == 0 or untrusted(error)
        if isinstance(error, InvalidResponseError):
            stop = True
        elif isinstance(error, APIError):
            asked = error.retry_after or 0.0
            stop = stop or not worth_retrying(error) or asked > LONGEST_RETRY_AFTER
        silent = time.monotonic() - self._heard
        if stop or (self._idle is not None and silent >= self._idle):
            raise error or connection_error(httpx.ReadError("the stream broke off"), self._call)
        pause = next(self._pauses, LONGEST_PAUSE)
        if isinstance(error, APIError) and error.retry_after is not None:
            pause = max(pause, error.retry_after)
        logger.info("%s: connecting again in %.1f s", self._call.shown, pause)
        return pause

    def broken(self, cause: Exception) -> PenstockError:
        """The error for a connection that broke."""
        return connection_error(cause, self._call)


class BaseStream(Generic[T]):
    """Common base of both kinds of streams."""

    _log: Log[T]
    _open: OpenResponse | None = None

    @property
    def last_event_id(self) -> str:
        """The id of the last event. Pass it as `after` to resume from there."""
        return self._log.last_event_id

    @property
    def response(self) -> RawResponse[Any] | None:
        """Status and headers of the current connection, or None."""
        return self._open


class EventStream(BaseStream[T]):
    """Events of a run: past events first, then live events, until the run ends.

    If the connection breaks, the stream reconnects and resumes after the last event, so it misses and
    repeats none. It connects when the first event is read. Close it, or use it in a `with` statement.
    """

    def __init__(
        self,
        connection: Connection,
        operation: EventOperation[T],
        arguments: Mapping[str, Any],
        path: Sequence[str],
    ) -> None:
        if connection.raw:
            raise TypeError("a stream has no body to give; see its response")
        self._connection = connection
        self._log = Log(operation, arguments, path, connection.settings)
        self._ready: deque[ServerEvent] = deque()
        self._chunks: Iterator[bytes] = iter(())
        self._stop = threading.Event()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        while not self._ready:
            if self._stop.is_set():
                raise StopIteration
            if self._log.ended:
                self.close()
            else:
                self._more()
        return self._log.take(self._ready.popleft())

    def _more(self) -> None:
        error: PenstockError | None = None
        try:
            if self._open is None:
                self._connect()
                return
            chunk = next(self._chunks, None)
            if chunk is not None:
                self._ready.extend(self._log.feed(chunk))
                return
        except TRANSPORT_ERRORS as cause:
            error = self._log.broken(cause)
        except PenstockError as raised:
            error = raised
        self._drop()
        if not self._stop.is_set():
            self._stop.wait(self._log.lost(error))

    def _connect(self) -> None:
        self._open = self._connection.open(self._log.open())
        self._log.accept(self._open)
        if self._open is not None:
            self._chunks = self._open.http.iter_bytes()

    def _drop(self) -> None:
        if self._open is not None:
            self._open.http.close()
        self._open, self._chunks = None, iter(())

    def close(self) -> None:
        """End the stream."""
        self._stop.set()
        self._drop()

    @contextmanager
    def limit(self, deadline: float | None) -> Generator[None]:
        """End the stream at this time of time.monotonic, also where it waits for the server."""
        self._log.deadline = deadline
        timer = threading.Timer(max(0.0, (deadline or 0) - time.monotonic()), self._interrupt)
        timer.daemon = True
        if deadline is not None:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _interrupt(self) -> None:
        """End the stream from another thread, whose read is woken by the end of the connection."""
        self._stop.set()
        open_ = self._open
        stream = None if open_ is None else open_.http.extensions.get("network_stream")
        connection = None if stream is None else stream.get_extra_info("socket")
        if isinstance(connection, socket.socket):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncEventStream(BaseStream[T]):
    """Events of a run: past events first, then live events, until the run ends.

    If the connection breaks, the stream reconnects and resumes after the last event, so it misses and
    repeats none. It connects when the first event is read. Close it, or use it in an `async with`
    statement.
    """

    def __init__(
        self,
        connection: AsyncConnection,
        operation: EventOperation[T],
        arguments: Mapping[str, Any],
        path: Sequence[str],
    ) -> None:
        if connection.raw:
            raise TypeError("a stream has no body to give; see its response")
        self._connection = connection
        self._log = Log(operation, arguments, path, connection.settings)
        self._ready: deque[ServerEvent] = deque()
        self._chunks: AsyncIterator[bytes] | None = None
        self._closed = False

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        while not self._ready:
            if self._closed:
                raise StopAsyncIteration
            if self._log.ended:
                await self.close()
            else:
                await self._more()
        return self._log.take(self._ready.popleft())

    async def _more(self) -> None:
        error: PenstockError | None = None
        try:
            if self._open is None or self._chunks is None:
                await self._connect()
                return
            chunk = await anext(self._chunks, None)
            if chunk is not None:
                self._ready.extend(self._log.feed(chunk))
                return
        except TRANSPORT_ERRORS as cause:
            error = self._log.broken(cause)
        except PenstockError as raised:
            error = raised
        await self._drop()
        await anyio.sleep(self._log.lost(error))

    async def _connect(self) -> None:
        self._open = await self._connection.open(self._log.open())
        self._log.accept(self._open)
        if self._open is not None:
            self._chunks = self._open.http.aiter_bytes()

    async def _drop(self) -> None:
        open_, self._open, self._chunks = self._open, None, None
        if open_ is not None:
            with anyio.CancelScope(shield=True):
                await open_.http.aclose()

    async def close(self) -> None:
        """End the stream."""
        self._closed = True
        await self._drop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
