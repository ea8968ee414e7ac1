"""What is tried again, how often, and after how long."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import anyio
import httpx
import pytest

from penstock import (
    APIConnectionError,
    APIError,
    BadRequestError,
    ConflictError,
    InternalServerError,
    Penstock,
    RateLimitError,
    RawResponse,
    _exchange,
)
from penstock.testing import FakeServer

RUN = {"run_id": "r", "task_id": "r", "state": "QUEUED"}
ME = {"team": "t", "actor": {"type": "user", "uid": "u"}, "scopes": ["admin"]}


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between tries, which take no time."""
    taken: list[float] = []
    monkeypatch.setattr(time, "sleep", taken.append)
    monkeypatch.setattr(_exchange, "FIRST_PAUSE", 0.5)
    return taken


def test_two_retries_with_growing_pauses(pauses: list[float]) -> None:
    server = FakeServer()
    server.fail("GET", "/me", status=503, code="resource_unavailable", retryable=True)
    with pytest.raises(InternalServerError):
        server.client().me.get()
    assert len(server.requests) == 3
    first, second = pauses
    assert 0.375 <= first <= 0.5
    assert 0.75 <= second <= 1.0


def test_pauses_grow_to_eight_seconds() -> None:
    assert all(seconds <= 8 for seconds in _exchange.pauses(50))


def test_a_creating_call_keeps_its_key_over_all_tries(pauses: list[float]) -> None:
    server = FakeServer()
    server.disconnect("POST", "/agent/runs")
    server.fail("POST", "/agent/runs", status=500, code="internal_error", retryable=True)
    server.on("POST", "/agent/runs", json=RUN)
    client = server.client()
    client.runs.create(prompt="p")
    keys = {request.headers["idempotency-key"] for request in server.requests}
    assert len(server.requests) == 3
    assert len(keys) == 1
    client.runs.create(prompt="p")
    assert server.requests[-1].headers["idempotency-key"] not in keys
    assert len(pauses) == 2


@pytest.mark.parametrize(
    ("call", "tries"),
    [
        pytest.param(lambda c: c.get("/x"), 3, id="GET"),
        pytest.param(lambda c: c.post("/x"), 3, id="POST, which makes its key"),
        pytest.param(lambda c: c.put("/x"), 1, id="PUT"),
        pytest.param(lambda c: c.put("/x", idempotency_key="k"), 3, id="PUT with a key"),
        pytest.param(lambda c: c.patch("/x"), 1, id="PATCH"),
        pytest.param(lambda c: c.delete("/x"), 1, id="DELETE"),
        pytest.param(lambda c: c.get("/x", retries=0), 1, id="no retries for a call"),
        pytest.param(lambda c: c.get("/x", retries=4), 5, id="more retries for a call"),
        pytest.param(lambda c: c.with_options(retries=1).get("/x"), 2, id="one for a client"),
    ],
)
def test_only_what_does_nothing_twice(
    pauses: list[float], call: Callable[[Penstock], object], tries: int
) -> None:
    for fail in ("disconnect", "503"):
        server = FakeServer()
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            if fail == "503":
                server.fail(method, "/x", status=503, code="resource_unavailable", retryable=True)
            else:
                server.disconnect(method, "/x")
        with pytest.raises((APIConnectionError, InternalServerError)):
            call(server.client())
        assert len(server.requests) == tries
    assert len(pauses) == 2 * (tries - 1)


def test_a_creating_call_that_the_server_knows_no_key_of_is_not_repeated() -> None:
    server = FakeServer()
    server.disconnect("POST", "/session")
    with pytest.raises(APIConnectionError):
        server.client().session.create(api_key="psk_x")
    assert ["idempotency-key" in request.headers for request in server.requests] == [False]


@pytest.mark.parametrize(
    ("status", "header", "tries"),
    [
        (408, None, 3), (429, None, 3), (500, None, 3), (502, None, 3), (599, None, 3), (400, None, 1), (404, None, 1),
        (409, None, 1), (409, "true", 3), (400, "true", 3), (503, "false", 1), (429, "false", 1), (503, "maybe", 3),
    ],
)  # fmt: skip
def test_what_the_server_says_is_obeyed(
    pauses: list[float], status: int, header: str | None, tries: int
) -> None:
    server = FakeServer()
    headers = {} if header is None else {"x-should-retry": header}
    server.on("GET", "/x", json={}, status=status, headers=headers)
    with pytest.raises(APIError):
        server.client().get("/x")
    assert len(server.requests) == tries
    assert len(pauses) == tries - 1


def test_conflict_with_a_request_that_still_runs(pauses: list[float]) -> None:
    server = FakeServer()
    server.fail("POST", "/agent/runs", status=409, code="conflict", retryable=True)
    server.on("POST", "/agent/runs", json=RUN)
    assert server.client().runs.create(prompt="p").run_id == "r"
    server = FakeServer()
    server.fail("POST", "/agent/runs", status=409, code="conflict")
    with pytest.raises(ConflictError):
        server.client().runs.create(prompt="p")
    assert len(server.requests) == 1
    assert len(pauses) == 1


def test_retry_after(pauses: list[float]) -> None:
    server = FakeServer()
    server.fail("GET", "/me", status=429, code="rate_limited", retryable=True, retry_after=7)
    server.on("GET", "/me", json=ME)
    server.client().me.get()
    assert pauses == [7]
    server = FakeServer()
    server.fail("GET", "/me", status=429, code="rate_limited", retryable=True, retry_after=3600)
    with pytest.raises(RateLimitError) as caught:
        server.client().me.get()
    assert caught.value.retry_after == 3600
    assert len(server.requests) == 1, "nobody waits an hour unasked"


@pytest.mark.parametrize(
    ("value", "seconds"), [("3", 3), ("0.5", 0.5), ("-1", 0), ("nonsense", None), ("", None), ("inf", None), ("nan", None)]
)  # fmt: skip
def test_retry_after_in_all_its_forms(value: str, seconds: float | None) -> None:
    assert RawResponse(429, httpx.Headers({"retry-after": value}), b"").retry_after == seconds


def test_retry_after_as_a_date() -> None:
    date = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=100), usegmt=True)
    found = RawResponse(429, httpx.Headers({"retry-after": date}), b"").retry_after
    assert found is not None
    assert 50 < found <= 100


def test_async_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[float] = []

    async def sleep(seconds: float) -> None:
        taken.append(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    server = FakeServer()
    server.disconnect("POST", "/agent/runs")
    server.fail(
        "POST",
        "/agent/runs",
        status=503,
        code="resource_unavailable",
        retryable=True,
        retry_after=3,
    )
    server.on("POST", "/agent/runs", json=RUN)

    async def main() -> None:
        await server.async_client().runs.create(prompt="p")
        with pytest.raises(BadRequestError):
            server.fail("GET", "/me", status=400, code="invalid_request")
            await server.async_client().me.get()

    anyio.run(main)
    assert taken[1] == 3
    assert len({r.headers["idempotency-key"] for r in server.requests[:3]}) == 1


def test_a_form_is_the_same_over_all_tries(pauses: list[float]) -> None:
    server = FakeServer()
    server.disconnect("POST", "/agent/runs/r/artifacts")
    data = {"artifact_uid": "a", "filename": "f", "filepath": "f", "mime_type": "m"}
    item = {"artifact_type": "FILE", "created_at": "2026-01-01T00:00:00.000Z", "data": data}
    server.on("POST", "/agent/runs/r/artifacts", json=item, status=201)
    server.client().runs.add_artifact("r", file=b"content")
    first, second = server.requests
    assert first == second
    assert b"content" in first.content
    assert len(pauses) == 1
