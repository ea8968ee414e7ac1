"""A fake server for your own tests. It returns configured responses and records requests.

    from penstock.testing import FakeServer

    server = FakeServer()
    server.on("POST", "/agent/runs", json={"run_id": "r1", "task_id": "r1", "state": "QUEUED"})
    with server.client() as client:
        client.runs.create(prompt="Fix it")
    assert server.requests[0].json["prompt"] == "Fix it"

It replaces httpx's transport. Everything except the network is the same as in production, including
retries and errors.
"""

from __future__ import annotations

import json as jsonlib
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import httpx

from ._client import AsyncPenstock, Penstock
from ._exchange import PREFIX

KEY = "psk_of_a_test"


@dataclass(frozen=True)
class Asked:
    """A recorded request."""

    method: str
    path: str
    """Below /api/v1, without the query."""
    query: httpx.QueryParams
    headers: httpx.Headers
    content: bytes

    @property
    def json(self) -> Any:
        """The parsed body, or None."""
        return jsonlib.loads(self.content) if self.content else None


@dataclass
class _Response:
    status: int
    headers: dict[str, str]
    content: bytes
    error: Exception | None = None


@dataclass
class FakeServer(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A fake server. A request without a configured response raises an AssertionError that names it."""

    requests: list[Asked] = field(default_factory=list[Asked])
    """What was asked, in order."""
    _responses: dict[tuple[str, str], deque[_Response]] = field(
        default_factory=dict[tuple[str, str], deque[_Response]], repr=False
    )

    def on(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        content: bytes | None = None,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Configure a response. Several are returned in order; the last one repeats."""
        kind = "application/octet-stream" if content is not None else "application/json"
        if content is None:
            content = b"" if status == HTTPStatus.NO_CONTENT else jsonlib.dumps(json).encode()
        self._add(
            method, path, _Response(status, {"content-type": kind, **(headers or {})}, content)
        )

    def fail(
        self,
        method: str,
        path: str,
        *,
        status: int,
        code: str,
        detail: str = "",
        retry_after: int | None = None,
        retryable: bool = False,
    ) -> None:
        """Configure an error response like the server's."""
        title = code.replace("_", " ").capitalize()
        problem = {
            "type": f"http://penstock.test/docs/errors/{code}",
            "title": title,
            "status": status,
            "error": f"{title}: {detail}" if detail else title,
            "detail": detail,
            "retryable": retryable,
        }
        headers = {
            "content-type": "application/problem+json",
            "x-request-id": "test",
            "x-should-retry": "true" if retryable else "false",
        }
        if retry_after is not None:
            headers["retry-after"] = str(retry_after)
        self._add(method, path, _Response(status, headers, jsonlib.dumps(problem).encode()))

    def stream(self, path: str, events: Iterable[Mapping[str, Any]]) -> None:
        """Configure a stream of events, each `{"id": …, "event": …, "data": …}`, that then ends."""
        text = ""
        for event in events:
            text += f"id: {event['id']}\n" if "id" in event else ""
            text += f"event: {event['event']}\ndata: {jsonlib.dumps(event['data'])}\n\n"
        self._add("GET", path, _Response(200, {"content-type": "text/event-stream"}, text.encode()))

    def disconnect(self, method: str, path: str) -> None:
        """Break the connection instead of responding."""
        error = httpx.ReadError("the connection was broken by the test")
        self._add(method, path, _Response(0, {}, b"", error))

    def client(self, *, retries: int = 2) -> Penstock:
        """Return a client of this server."""
        return Penstock(
            api_key=KEY,
            base_url="http://penstock.test",
            retries=retries,
            http_client=httpx.Client(transport=self),
        )

    def async_client(self, *, retries: int = 2) -> AsyncPenstock:
        """Return a client of this server."""
        return AsyncPenstock(
            api_key=KEY,
            base_url="http://penstock.test",
            retries=retries,
            http_client=httpx.AsyncClient(transport=self),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """What httpx calls."""
        return self._respond(request, request.read())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """What httpx calls."""
        return self._respond(request, await request.aread())

    def _add(self, method: str, path: str, response: _Response) -> None:
        self._responses.setdefault((method.upper(), path), deque()).append(response)

    def _respond(self, request: httpx.Request, content: bytes) -> httpx.Response:
        path = request.url.path.removeprefix(PREFIX)
        asked = Asked(request.method, path, request.url.params, request.headers, content)
        self.requests.append(asked)
        responses = self._responses.get((request.method, path))
        if not responses:
            raise AssertionError(f"no response is configured for {request.method} {path}")
        response = responses[0] if len(responses) == 1 else responses.popleft()
        if response.error is not None:
            raise response.error
        return httpx.Response(response.status, headers=response.headers, content=response.content)
