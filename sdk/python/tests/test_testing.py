"""The server for tests of one's own."""

from __future__ import annotations

import anyio
import pytest

from penstock import APIConnectionError, RateLimitError
from penstock.testing import FakeServer

RUN = {"run_id": "r", "task_id": "r", "state": "QUEUED"}


def test_responses_are_returned_in_order() -> None:
    server = FakeServer()
    server.on("POST", "/agent/runs", json=RUN)
    server.on("POST", "/agent/runs", json={**RUN, "run_id": "s"})
    client = server.client()
    assert [client.runs.create(prompt=p).run_id for p in "abc"] == ["r", "s", "s"]
    assert [asked.json["prompt"] for asked in server.requests] == ["a", "b", "c"]
    assert (server.requests[0].method, server.requests[0].path) == ("POST", "/agent/runs")


def test_a_key_that_is_a_word_of_the_language() -> None:
    rule = {"host": "api.test", "credential": {"secret": "TOKEN", "as": "bearer"}}
    environment = {"uid": "e" * 22, "last_updated": "2026-02-02T09:30:00Z", "setup_failed": False}
    server = FakeServer()
    server.on(
        "POST",
        "/agent/environments",
        json={**environment, "config": {"network": {"allow": [rule]}}},
    )
    client = server.client()
    made = client.environments.create(
        network={"allow": [{"host": "api.test", "credential": {"secret": "TOKEN", "as": "bearer"}}]}
    )
    assert made.config.network is not None
    assert made.config.network.allow is not None
    credential = made.config.network.allow[0].credential
    assert credential is not None
    assert credential.as_ == "bearer"
    client.environments.create(network=made.config.network)
    assert [asked.json["network"]["allow"] for asked in server.requests] == [[rule], [rule]]


def test_what_was_not_told_is_an_assertion() -> None:
    with pytest.raises(AssertionError, match="configured for GET /me"):
        FakeServer().client().me.get()


def test_problems_breaks_bytes_and_nothing() -> None:
    server = FakeServer()
    server.fail("GET", "/me", status=429, code="rate_limited", detail="too fast", retry_after=1)
    server.disconnect("GET", "/limits")
    server.on("GET", "/downloads/t", content=b"bytes")
    server.on("DELETE", "/secrets/S", status=204)
    client = server.client(retries=0)
    with pytest.raises(RateLimitError, match="429 rate_limited: Rate limited: too fast"):
        client.me.get()
    with pytest.raises(APIConnectionError):
        client.limits.get()
    assert client.downloads.get("t") == b"bytes"
    client.secrets.delete("S")
    assert server.requests[-1].json is None


def test_it_serves_both_clients() -> None:
    server = FakeServer()
    server.on("POST", "/agent/runs", json=RUN)
    server.stream("/agent/runs/r/events", [{"event": "done", "data": {"state": "SUCCEEDED"}}])

    async def main() -> None:
        async with server.async_client() as client:
            run = await client.runs.create(prompt="p")
            assert [e.event async for e in client.runs.events(run.run_id)] == ["done"]

    anyio.run(main)
    with server.client() as client:
        assert [e.event for e in client.runs.events("r")] == ["done"]
