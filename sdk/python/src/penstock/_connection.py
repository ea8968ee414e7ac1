"""The two drivers of `exchange`: they send and they wait, one with threads, one with tasks."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import anyio
import httpx

from ._exchange import TRANSPORT_ERRORS, Pause, Send, Settings, exchange
from ._operation import Call
from ._raw import RawResponse
from .errors import api_error


class OpenResponse(RawResponse[Any]):
    """A response whose body has not been read. The caller closes it."""

    __slots__ = ("http",)

    def __init__(self, http: httpx.Response) -> None:
        super().__init__(http.status_code, http.headers, b"")
        self.http = http


@dataclass(frozen=True)
class Connection:
    """Carries out calls over an httpx.Client."""

    http: httpx.Client
    settings: Settings
    raw: bool = False
    """Whether a call returns the raw response."""

    def with_raw(self, raw: bool) -> Connection:
        """The same connection, whose calls return the other form."""
        return replace(self, raw=raw)

    def perform(self, call: Call) -> Any:
        """What the call gives."""
        response = self._run(call, self._send)
        return _result(response, call, raw=self.raw)

    def open(self, call: Call) -> OpenResponse | None:
        """The beginning of a stream; None where it has ended already."""
        return _opened(self._run(call, self._open))

    def _run(self, call: Call, send: Callable[[Send], RawResponse[Any]]) -> RawResponse[Any]:
        steps = exchange(call, self.settings)
        step = next(steps)
        try:
            while True:
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    step = next(steps)
                    continue
                try:
                    response = send(step)
                except TRANSPORT_ERRORS as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as end:
            result: RawResponse[Any] = end.value
            return result

    def _send(self, send: Send) -> RawResponse[Any]:
        total = send.timeout.total
        deadline = None if total is None else time.monotonic() + total
        request = _request(self.http, send, read=total)
        response = self.http.send(request, auth=None, follow_redirects=False, stream=True)
        try:
            content = _read(response, deadline)
        finally:
            response.close()
        return RawResponse(response.status_code, response.headers, content)

    def _open(self, send: Send) -> RawResponse[Any]:
        request = _request(self.http, send, read=send.timeout.idle)
        response = self.http.send(request, auth=None, follow_redirects=False, stream=True)
        if response.status_code == 200:
            return OpenResponse(response)
        try:
            content = response.read()
        finally:
            response.close()
        return RawResponse(response.status_code, response.headers, content)


@dataclass(frozen=True)
class AsyncConnection:
    """Carries out calls over an httpx.AsyncClient, under asyncio and trio."""

    http: httpx.AsyncClient
    settings: Settings
    raw: bool = False
    """Whether a call returns the raw response."""

    def with_raw(self, raw: bool) -> AsyncConnection:
        """The same connection, whose calls return the other form."""
        return replace(self, raw=raw)

    async def perform(self, call: Call) -> Any:
        """What the call gives."""
        response = await self._run(call, self._send)
        return _result(response, call, raw=self.raw)

    async def open(self, call: Call) -> OpenResponse | None:
        """The beginning of a stream; None where it has ended already."""
        return _opened(await self._run(call, self._open))

    async def _run(
        self, call: Call, send: Callable[[Send], Awaitable[RawResponse[Any]]]
    ) -> RawResponse[Any]:
        steps = exchange(call, self.settings)
        step = next(steps)
        try:
            while True:
                if isinstance(step, Pause):
                    await anyio.sleep(step.seconds)
                    step = next(steps)
                    continue
                try:
                    response = await send(step)
                except TRANSPORT_ERRORS as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as end:
            result: RawResponse[Any] = end.value
            return result

    async def _send(self, send: Send) -> RawResponse[Any]:
        request = _request(self.http, send, read=send.timeout.total)
        with anyio.fail_after(send.timeout.total):
            response = await self.http.send(request, auth=None, follow_redirects=False)
        return RawResponse(response.status_code, response.headers, response.content)

    async def _open(self, send: Send) -> RawResponse[Any]:
        request = _request(self.http, send, read=send.timeout.idle)
        response = await self.http.send(request, auth=None, follow_redirects=False, stream=True)
        if response.status_code == 200:
            return OpenResponse(response)
        try:
            content = await response.aread()
        finally:
            await response.aclose()
        return RawResponse(response.status_code, response.headers, content)


def _request(
    http: httpx.Client | httpx.AsyncClient, send: Send, *, read: float | None
) -> httpx.Request:
    limits = [seconds for seconds in (send.timeout.connect, read) if seconds is not None]
    timeout = httpx.Timeout(read, connect=min(limits, default=None))
    if send.elsewhere:
        extensions = {"timeout": timeout.as_dict()}
        return httpx.Request(send.method, send.url, headers=send.headers, extensions=extensions)
    request = http.build_request(
        send.method, send.url, headers=send.headers, content=send.content, timeout=timeout
    )
    if "Authorization" not in send.headers:  # a signed link
        request.headers.pop("authorization", None)
        request.headers.pop("cookie", None)
    return request


def _read(response: httpx.Response, deadline: float | None) -> bytes:
    """The whole body, by the deadline also where it comes drop by drop."""
    if deadline is None:
        return response.read()
    # httpcore looks up the limit of a read when the body begins: what is left of the total.
    limits = response.request.extensions["timeout"]
    limits["read"] = max(0.001, deadline - time.monotonic())
    content = bytearray()
    for chunk in response.iter_bytes():
        content += chunk
        if time.monotonic() > deadline:
            raise httpx.ReadTimeout("the response did not end in time", request=response.request)
    return bytes(content)


def _result(response: RawResponse[Any], call: Call, *, raw: bool) -> Any:
    if raw:
        return RawResponse(response.status_code, response.headers, response.content, call.decode)
    return call.decode(response)


def _opened(response: RawResponse[Any]) -> OpenResponse | None:
    if isinstance(response, OpenResponse):
        return response
    if response.status_code == httpx.codes.NO_CONTENT.value:
        return None
    raise api_error(response)
