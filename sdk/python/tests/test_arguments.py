"""Wrong arguments are told before anything is sent."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime
from typing import Any

import anyio
import httpx
import pytest

from conftest import KEY
from penstock import AsyncPenstock, Penstock, PenstockError, Timeout, _operations
from penstock._operation import Operation
from penstock.testing import FakeServer

Wrong = Callable[[Any], object]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        pytest.param(lambda c: c.runs.get(""), ValueError, "runs.get: run_id is ''", id="empty id"),
        pytest.param(lambda c: c.runs.get("  "), ValueError, "run_id is '  '", id="blank id"),
        pytest.param(lambda c: c.runs.get(".."), ValueError, "run_id is '..'", id="dots"),
        pytest.param(lambda c: c.runs.get(None), TypeError, "not NoneType", id="no id"),
        pytest.param(lambda c: c.runs.get(7), TypeError, "not int", id="number as id"),
        pytest.param(lambda c: c.runs.get(), TypeError, "run_id", id="missing id"),
        pytest.param(lambda c: c.runs.list(limt=1), TypeError, "did you mean 'limit'", id="misspelled"),
        pytest.param(lambda c: c.runs.list(limit="1"), TypeError, "runs.list: limit", id="type"),
        pytest.param(lambda c: c.runs.list(limit=True), TypeError, "limit", id="bool as number"),
        pytest.param(lambda c: c.runs.list(state="QUEUED"), ValueError, "state", id="no list"),
        pytest.param(lambda c: c.runs.list(state=["x"]), ValueError, "state.0: Input should be 'QUEUED'", id="enum"),
        pytest.param(lambda c: c.runs.list(created_after=datetime(2026, 1, 1)), ValueError, "time zone", id="naive time"),  # noqa: DTZ001
        pytest.param(lambda c: c.runs.list(prompt="p"), TypeError, "unexpected", id="another call's"),
        pytest.param(lambda c: c.runs.create(prompt=None), TypeError, "prompt", id="null"),
        pytest.param(lambda c: c.runs.create(config={"modle_id": "x"}), TypeError, "config.modle_id", id="nested name"),
        pytest.param(lambda c: c.runs.create(config={"model_id": 1}), TypeError, "config.model_id", id="nested type"),
        pytest.param(lambda c: c.runs.create(attachments=[{"file_name": "x"}]), TypeError, "missing", id="nested missing"),
        pytest.param(lambda c: c.runs.follow_up("r", msg="x"), TypeError, "unexpected", id="body"),
        pytest.param(lambda c: c.keys.create(role="user"), TypeError, "missing keyword argument 'name'", id="missing"),
        pytest.param(lambda c: c.runs.find_by_external_reference(), TypeError, "'url'", id="missing query"),
        pytest.param(lambda c: c.runs.get("r", idempotency_key="k"), TypeError, "unexpected", id="key of a GET"),
        pytest.param(lambda c: c.runs.create(idempotency_key=""), ValueError, "1 to 255", id="empty key"),
        pytest.param(lambda c: c.runs.create(idempotency_key="a\nb"), ValueError, "header", id="two lines"),
        pytest.param(lambda c: c.runs.get("r", extra_body={"a": 1}), TypeError, "does not accept a body", id="body of a GET"),
        pytest.param(lambda c: c.runs.get("r", timeout=0), ValueError, "more than 0", id="no time"),
        pytest.param(lambda c: c.runs.get("r", timeout="1"), TypeError, "timeout must be seconds", id="timeout"),
        pytest.param(lambda c: c.runs.get("r", retries=-1), ValueError, "not be negative", id="retries"),
        pytest.param(lambda c: c.runs.get("r", retries=1.5), TypeError, "a number", id="half a retry"),
        pytest.param(lambda c: c.runs.wait(""), ValueError, "run_id is ''", id="wait"),
        pytest.param(lambda c: c.runs.events(""), ValueError, "run_id is ''", id="events"),
    ],
)  # fmt: skip
def test_wrong_arguments(call: Wrong, kind: type[Exception], text: str) -> None:
    server = FakeServer()
    with pytest.raises(kind) as caught:
        call(server.client())
    assert text in str(caught.value)

    async def main() -> None:
        with pytest.raises(kind) as other:
            result = call(server.async_client())
            await (result if inspect.isawaitable(result) else anext(result))  # type: ignore[call-overload]
        assert str(other.value) == str(caught.value).replace("Runs.", "AsyncRuns.")

    anyio.run(main)
    assert server.requests == []


@pytest.mark.parametrize(
    "operation",
    [o for o in vars(_operations).values() if isinstance(o, Operation) and o.path_names],
    ids=lambda o: o.name,
)
def test_no_id_leads_to_another_path(operation: Operation[Any]) -> None:
    good = ["id"] * len(operation.path_names)
    for position in range(len(good)):
        for bad in ("", " ", ".", ".."):
            path = [*good[:position], bad, *good[position + 1 :]]
            with pytest.raises(ValueError, match=operation.path_names[position]):
                operation._fill(path)
        filled = operation._fill([*good[:position], "a/../b?c#d%", *good[position + 1 :]])
        assert "a%2F..%2Fb%3Fc%23d%25" in filled
        assert filled.count("/") == operation.path.count("/")


def test_a_wrong_value_is_not_repeated() -> None:
    """It may be a secret."""
    with pytest.raises(TypeError) as caught:
        FakeServer().client().secrets.create(name="n", value=["s3cret"])  # type: ignore[arg-type]
    assert "s3cret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_key_and_address_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PenstockError, match="PENSTOCK_API_KEY"):
        Penstock()
    monkeypatch.setenv("PENSTOCK_API_KEY", "psk_of_the_environment")
    assert repr(Penstock()) == "Penstock(base_url='http://127.0.0.1:8080/api/v1')"
    monkeypatch.setenv("PENSTOCK_BASE_URL", "https://penstock.example.com/below/")
    assert "https://penstock.example.com/below/api/v1" in repr(AsyncPenstock())
    assert "https://a.example/api/v1'" in repr(Penstock(base_url="https://a.example/api/v1"))
    assert "psk_" not in repr(Penstock()) + repr(Penstock()._connection.settings)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"base_url": "localhost:8080"}, id="no scheme"),
        pytest.param({"base_url": "ftp://host"}, id="another scheme"),
        pytest.param({"base_url": "https://u:p@host"}, id="password in the address"),
        pytest.param({"base_url": "https://host?x=1"}, id="query in the address"),
        pytest.param({"base_url": "http://penstock.example.com"}, id="key in the clear"),
        pytest.param({"api_key": "psk with spaces"}, id="key with spaces"),
        pytest.param({"api_key": "psk_\r\nX-Header: 1"}, id="key with a header in it"),
        pytest.param({"retries": -1}, id="retries"),
        pytest.param({"timeout": -1}, id="timeout"),
        pytest.param({"timeout": Timeout}, id="timeout that is none"),
        pytest.param({"proxy": "http://localhost:1", "http_client": httpx.Client()}, id="two proxies"),
    ],
)  # fmt: skip
def test_wrong_settings(options: dict[str, Any]) -> None:
    clients: list[Callable[..., object]] = [Penstock, AsyncPenstock]
    for client in clients:
        with pytest.raises((ValueError, TypeError)) as caught:
            client(**{"api_key": KEY, **options})
        assert KEY not in str(caught.value)


def test_an_own_client_may_use_plain_http() -> None:
    """It knows what protects the way."""
    Penstock(api_key=KEY, base_url="http://penstock:8080", http_client=httpx.Client())


def test_defaults() -> None:
    settings = FakeServer().client()._connection.settings
    assert settings.retries == 2
    assert settings.timeout == Timeout(total=60, connect=60, idle=60)


def test_with_options_shares_connections_and_leaves_them_open() -> None:
    http = httpx.Client()
    client = Penstock(api_key=KEY)
    with client.with_options(timeout=5, retries=0) as other:
        assert other._connection.http is client._connection.http
        assert other._connection.settings.timeout.total == 5
        assert other._connection.settings.retries == 0
    assert not client._connection.http.is_closed
    client.close()
    assert client._connection.http.is_closed
    Penstock(api_key=KEY, http_client=http).close()
    assert not http.is_closed


def test_headers_of_a_call() -> None:
    server = FakeServer()
    server.on("GET", "/limits", json={})
    server.on("POST", "/new", json={})
    client = server.client()
    client.get("/limits", extra_headers={"x-request-id": "mine"}, extra_query={"new": 1})
    client.post("/new", extra_headers={"idempotency-key": "mine", "authorization": "mine"})
    asked, posted = server.requests
    for name in ("idempotency-key", "authorization"):
        assert posted.headers.get_list(name) == ["mine"]
    assert asked.headers["x-request-id"] == "mine"
    assert asked.headers["user-agent"].startswith("penstock-python/")
    assert asked.query["new"] == "1"
    client.get("/limits?limit=5", query={"q": "a b"})
    assert str(server.requests[-1].query) == "limit=5&q=a+b"
