"""What comes of servers and networks that misbehave: the documented error, in time."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable

import anyio
import httpx
import pytest
import trustme

from faulty import STREAM, Behavior, chunk, drip, faulty, hang, raw, respond
from penstock import (
    APIConnectionError,
    APITimeoutError,
    AsyncPenstock,
    InternalServerError,
    InvalidResponseError,
    NotFoundError,
    Penstock,
    PenstockError,
    Timeout,
    _wait,
)

KEY = "psk_not_for_everyone"
ME = json.dumps({"team": "t", "actor": {"type": "user", "uid": "u"}, "scopes": ["admin"]}).encode()
HTML = b"<html><body>502 Bad Gateway</body></html>"
GONE = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"

CASES: dict[str, tuple[Behavior, type[PenstockError], str]] = {
    "garbage instead of HTTP": (
        raw(b"\x00\xff garbage\r\n\r\n"),
        APIConnectionError,
        "no response",
    ),
    "garbage as JSON": (respond(b"\x00\xff{"), InvalidResponseError, "invalid response"),
    "HTML as JSON": (respond(HTML), InvalidResponseError, "invalid response"),
    "HTML with status 200": (respond(HTML, kind="text/html"), InvalidResponseError, "text/html"),
    "HTML from a proxy": (
        respond(HTML, status="502 Bad Gateway", kind="text/html"),
        InternalServerError,
        "502: Bad Gateway, from something that is not Penstock's API",
    ),
    "an empty body": (respond(b""), InvalidResponseError, "invalid response"),
    "no body and no type": (
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        InvalidResponseError,
        "no type",
    ),
    "another object": (respond(b'{"hello": 1}'), InvalidResponseError, "team: Field required"),
    "another type": (respond(ME, kind="text/plain"), InvalidResponseError, "text/plain"),
    "a body that is cut short": (raw(GONE.encode()), APIConnectionError, "no response"),
    "an end before any response": (raw(b""), APIConnectionError, "no response"),
    "a redirect to another path": (
        respond(status="307 Temporary Redirect", more="Location: /elsewhere\r\n"),
        InvalidResponseError,
        "redirects to another path",
    ),
    "nothing at all": (hang(), APITimeoutError, "no response in time"),
    "half a response and then nothing": (hang(GONE.encode()), APITimeoutError, "in time"),
    "a response that comes drop by drop": (drip(GONE.encode(), b" "), APITimeoutError, "in time"),
    "a body that is not what its encoding says": (
        respond(b"not gzip", more="Content-Encoding: gzip\r\n"),
        APIConnectionError,
        "no response",
    ),
    "a success that is none of ours": (
        respond(b"{}", status="206 Partial Content"),
        InvalidResponseError,
        "Field required",
    ),
}


def limit(kind: type[PenstockError], seconds: float) -> float:
    """A time limit: short only where it is what ends the call."""
    return seconds if kind is APITimeoutError else 60


@pytest.mark.parametrize("case", CASES)
def test_answers_that_are_none(case: str) -> None:
    behavior, kind, text = CASES[case]
    with (
        faulty(behavior) as server,
        Penstock(api_key=KEY, base_url=server.url, retries=0) as client,
    ):
        start = time.monotonic()
        with pytest.raises(kind) as caught:
            client.me.get(timeout=limit(kind, 1))
        assert time.monotonic() - start < 30
    assert type(caught.value) is kind
    assert text in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.anyio
async def test_answers_that_are_none_async(case: str) -> None:
    behavior, kind, text = CASES[case]
    with faulty(behavior) as server:
        async with AsyncPenstock(api_key=KEY, base_url=server.url, retries=0) as client:
            with pytest.raises(kind) as caught:
                await client.me.get(timeout=limit(kind, 1))
    assert type(caught.value) is kind
    assert text in str(caught.value)


def test_the_error_holds_the_answer() -> None:
    with faulty(respond(HTML, status="502 Bad Gateway", kind="text/html")) as server:
        with Penstock(api_key=KEY, base_url=server.url, retries=0) as client:
            with pytest.raises(InternalServerError) as caught:
                client.me.get()
    assert caught.value.response.content == HTML
    assert caught.value.code is None
    assert caught.value.errors == []


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "307 T", "308 P"])
def test_a_redirect_of_a_post_is_not_followed(status: str) -> None:
    with faulty(respond(ME)) as other:
        redirect = respond(status=status, more=f"Location: {other.url}/api/v1/agent/runs\r\n")
        with faulty(redirect) as server, Penstock(api_key=KEY, base_url=server.url) as client:
            with pytest.raises(InvalidResponseError, match="is base_url right"):
                client.runs.create(prompt="p")
            assert len(server.requests) == 1
        assert other.requests == []


def test_the_key_does_not_follow_a_redirect() -> None:
    """Not for an ordinary call, and not for a download, whose link leads where the bytes are."""
    with faulty(respond(b"bytes", kind="application/octet-stream")) as other:
        redirect = respond(status="302 Found", more=f"Location: {other.url}/signed?sig=1\r\n")
        with faulty(redirect) as server:
            with httpx.Client(
                headers={"Authorization": "of the caller", "X-Gate": "of the caller"},
                cookies={"c": "1"},
                params={"of": "the caller"},
                follow_redirects=True,
            ) as http:
                client = Penstock(api_key=KEY, base_url=server.url, http_client=http)
                with pytest.raises(InvalidResponseError, match="is base_url right"):
                    client.me.get()
                assert other.requests == []
                assert client.artifacts.download("a") == b"bytes"
            assert f"authorization: Bearer {KEY}".encode() in server.requests[-1].replace(
                b"Authorization", b"authorization"
            )
        (request,) = other.requests
        assert request.startswith(b"GET /signed?sig=1 ")
        assert b"of the caller" not in request
        assert b"authorization" not in request.lower()
        assert b"cookie" not in request.lower()


@pytest.mark.parametrize("location", ["", "ftp://host/x", "file:///etc/passwd", "/again"])
def test_a_link_that_leads_nowhere(location: str) -> None:
    with faulty(respond(status="302 Found", more=f"Location: {location}\r\n")) as server:
        with Penstock(api_key=KEY, base_url=server.url, retries=0) as client:
            with pytest.raises(InvalidResponseError):
                client.artifacts.download("a")
            assert len(server.requests) <= 6


def certificate() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    return context


def test_a_certificate_that_is_not_trusted() -> None:
    with faulty(respond(ME), tls=certificate()) as server:
        with Penstock(api_key=KEY, base_url=server.url, retries=5) as client:
            with pytest.raises(APIConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
                client.me.get()

        async def main() -> None:
            async with AsyncPenstock(api_key=KEY, base_url=server.url) as client:
                with pytest.raises(APIConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
                    await client.me.get()

        anyio.run(main)
        assert server.requests == []


def test_a_certificate_that_is_trusted() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with faulty(respond(ME), tls=context) as server, httpx.Client(verify=trusting) as http:
        assert Penstock(api_key=KEY, base_url=server.url, http_client=http).me.get().team == "t"


def test_a_proxy_is_used() -> None:
    with faulty(respond(ME)) as proxy:
        with Penstock(api_key=KEY, base_url="http://localhost:9", proxy=proxy.url) as client:
            assert client.me.get().team == "t"
        assert proxy.requests[0].startswith(b"GET http://localhost:9/api/v1/me ")


@pytest.mark.parametrize(
    "skipped",
    [
        "localhost,fd00::/8",
        "[::1]",
        "::1/128,10.0.0.0/8",
        "fe80::1%eth0,*.internal",
        "a:b:c",
        ",,",
        "127.0.0.0/8",
    ],
)
def test_what_no_proxy_may_hold(skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with faulty(respond(ME)) as server:
        monkeypatch.setenv("NO_PROXY", skipped)
        with Penstock(api_key=KEY, base_url=server.url) as client:
            assert client.me.get().team == "t"


@pytest.mark.parametrize("skipped", ["192.0.2.0/24", "192.0.2.1", "[2001:db8::1],192.0.2.0/25"])
def test_no_proxy_with_the_network_of_the_api_skips_the_proxy(
    skipped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faulty(raw(b"")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", skipped)
        with (
            Penstock(api_key=KEY, base_url="https://192.0.2.1", retries=0, timeout=0.1) as client,
            pytest.raises(APIConnectionError),
        ):
            client.me.get()
        assert proxy.requests == []


@pytest.mark.parametrize(
    "proxy", ["socks5://127.0.0.1:1", "socks5h://127.0.0.1:1", "ftp://secret@x", "http://[::1"]
)
def test_a_proxy_that_cannot_be_used_is_named_when_it_is_needed(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with AsyncPenstock(api_key=KEY, base_url="https://192.0.2.1") as client:
            await client.me.get()

    with faulty(respond(ME)) as server:
        monkeypatch.setenv("ALL_PROXY", proxy)
        with Penstock(api_key=KEY, base_url=server.url) as client:
            assert client.me.get().team == "t"
        with (
            Penstock(api_key=KEY, base_url="https://192.0.2.1") as client,
            pytest.raises(PenstockError, match="ALL_PROXY") as caught,
        ):
            client.me.get()
        assert "secret" not in str(caught.value)
        with pytest.raises(PenstockError, match="ALL_PROXY"):
            anyio.run(main)
        with pytest.raises(PenstockError, match=r"^proxy is"):
            Penstock(api_key=KEY, base_url=server.url, proxy=proxy)


def test_a_key_is_taken_as_a_file_holds_it() -> None:
    with faulty(respond(ME)) as server:
        for key in (KEY + "\n", KEY + "\r\n", " " + KEY, "\ufeff" + KEY):
            with Penstock(api_key=key, base_url=server.url) as client:
                assert client.me.get().team == "t"


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
def test_no_proxy_of_the_environment_sees_the_key(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(url: str) -> str:
        async with AsyncPenstock(api_key=KEY, base_url=url) as client:
            return (await client.me.get()).team

    with faulty(raw(b"")) as proxy, faulty(respond(ME)) as server:
        monkeypatch.setenv(name, proxy.url)
        with Penstock(api_key=KEY, base_url=server.url) as client:
            assert client.me.get().team == "t"
        assert anyio.run(main, server.url) == "t"
        assert proxy.requests == []


STREAM_CASES: dict[str, tuple[Behavior, type[PenstockError], str]] = {
    "HTML": (respond(HTML, kind="text/html"), InvalidResponseError, "text/html"),
    "events that are no JSON": (
        raw(STREAM + chunk("event: state\ndata: nonsense\n\n")),
        InvalidResponseError,
        "no event",
    ),
    "events with an id that is no number": (
        raw(STREAM + chunk("id: x\nevent: state\ndata: {}\n\n")),
        InvalidResponseError,
        "no event",
    ),
    "a success that is none": (
        respond(b"", status="202 Accepted", kind="text/event-stream"),
        InvalidResponseError,
        "202 is not a response",
    ),
    "nothing": (hang(STREAM), APITimeoutError, "in time"),
    "an end before any event": (raw(b""), APIConnectionError, "no response"),
    "a break after the start": (raw(STREAM), APIConnectionError, "no response"),
}


@pytest.mark.parametrize("case", STREAM_CASES)
def test_streams_that_are_none(case: str) -> None:
    behavior, kind, text = STREAM_CASES[case]
    with (
        faulty(behavior) as server,
        Penstock(api_key=KEY, base_url=server.url, retries=0) as client,
    ):
        with client.runs.events("r", timeout=Timeout(idle=limit(kind, 0.3))) as events:
            with pytest.raises(kind) as caught:
                next(events)
    assert type(caught.value) is kind
    assert text in str(caught.value)


@pytest.mark.parametrize("case", STREAM_CASES)
@pytest.mark.anyio
async def test_streams_that_are_none_async(case: str) -> None:
    behavior, kind, _ = STREAM_CASES[case]
    with faulty(behavior) as server:
        async with AsyncPenstock(api_key=KEY, base_url=server.url, retries=0) as client:
            async with client.runs.events("r", timeout=Timeout(idle=limit(kind, 0.3))) as events:
                with pytest.raises(kind) as caught:
                    await anext(events)
    assert type(caught.value) is kind


def test_wait_polls_where_there_is_no_stream() -> None:
    def run(state: str) -> Behavior:
        item = {
            "run_id": "r",
            "task_id": "r",
            "title": "t",
            "state": state,
            "prompt": "p",
            "execution_id": 1,
            "created_at": "2026-01-01T00:00:00.000Z",
            "updated_at": "2026-01-01T00:00:00.000Z",
        }
        return respond(json.dumps(item).encode())

    html = respond(HTML, kind="text/html")
    behaviors = [run("QUEUED"), html, run("INPROGRESS"), run("SUCCEEDED")]
    wait: list[Callable[[Penstock], str]] = [lambda c: c.runs.wait("r", timeout=240).state]
    with faulty(*behaviors) as server, Penstock(api_key=KEY, base_url=server.url) as client:
        assert wait[0](client) == "SUCCEEDED"

    async def main(url: str) -> str:
        async with AsyncPenstock(api_key=KEY, base_url=url) as client:
            return (await client.runs.wait("r", timeout=240)).state

    with faulty(*behaviors) as server:
        assert anyio.run(main, server.url) == "SUCCEEDED"


def test_wait_outlasts_a_server_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(state: str) -> Behavior:
        times = {"created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z"}
        ids = {"run_id": "r", "task_id": "r", "execution_id": 1}
        item = {**ids, **times, "title": "t", "state": state, "prompt": "p"}
        return respond(json.dumps(item).encode())

    away = [raw(b""), respond(b"{}", status="503 Service Unavailable")]
    behaviors = [run("INPROGRESS"), raw(b""), *away, *away, run("SUCCEEDED")]

    async def main(url: str) -> str:
        async with AsyncPenstock(api_key=KEY, base_url=url, retries=0) as client:
            return (await client.runs.wait("r", timeout=240)).state

    def wait(url: str) -> str:
        with Penstock(api_key=KEY, base_url=url, retries=0) as client:
            return client.runs.wait("r", timeout=240).state

    with faulty(*behaviors) as server:
        assert wait(server.url) == "SUCCEEDED"
    with faulty(*behaviors) as server:
        assert anyio.run(main, server.url) == "SUCCEEDED"
    monkeypatch.setattr(_wait, "PATIENCE", 0.05)
    for behavior, kind in (
        (raw(b""), APIConnectionError),
        (respond(b"{}", status="404 N"), NotFoundError),
    ):
        with faulty(run("INPROGRESS"), raw(b""), behavior) as server:
            with pytest.raises(kind):
                wait(server.url)
        with faulty(run("INPROGRESS"), raw(b""), behavior) as server:
            with pytest.raises(kind):
                anyio.run(main, server.url)


ITEM = {
    "run_id": "r",
    "task_id": "r",
    "title": "t",
    "state": "INPROGRESS",
    "prompt": "p",
    "execution_id": 1,
    "created_at": "2026-01-01T00:00:00.000Z",
    "updated_at": "2026-01-01T00:00:00.000Z",
}


def test_wait_ends_in_time_where_the_stream_is_silent() -> None:
    with faulty(
        respond(json.dumps(ITEM).encode()), drip(STREAM, chunk(": still here\n\n"))
    ) as server:
        with Penstock(api_key=KEY, base_url=server.url) as client:
            start = time.monotonic()
            with pytest.raises(TimeoutError, match="run r has not ended yet"):
                client.runs.wait("r", timeout=0.3)
            assert time.monotonic() - start < 30
    with faulty(respond(json.dumps(ITEM).encode()), hang(STREAM)) as server:
        with Penstock(api_key=KEY, base_url=server.url) as client:
            with pytest.raises(TimeoutError, match="run r has not ended yet"):
                client.runs.wait("r", timeout=0.3)


@pytest.mark.parametrize(
    ("behaviors", "asked"),
    [
        pytest.param([hang()], 1, id="nothing responds"),
        pytest.param(
            [respond(b"{}", status="503 S", more="Retry-After: 60\r\n")], 1, id="come back later"
        ),
        pytest.param([respond(json.dumps(ITEM).encode()), hang()], 2, id="no stream begins"),
    ],
)
def test_a_wait_s_time_holds_for_all_its_tries(behaviors: list[Behavior], asked: int) -> None:
    with faulty(*behaviors) as server:
        with Penstock(api_key=KEY, base_url=server.url, timeout=Timeout(idle=60)) as client:
            with pytest.raises(TimeoutError, match="run r has not ended yet"):
                client.runs.wait("r", timeout=8)  # enough for the first response on a busy machine
        assert len(server.requests) == asked
