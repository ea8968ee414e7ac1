"""Live events: whole, in order, once, over every kind of break."""

from __future__ import annotations

import json
import threading
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise

import anyio
import httpx
import pytest

from conftest import Server, serve
from faulty import STREAM, Behavior, chunk, faulty, hang, raw, respond
from penstock import (
    APIConnectionError,
    APITimeoutError,
    AsyncPenstock,
    BadRequestError,
    InternalServerError,
    InvalidResponseError,
    NotFoundError,
    Penstock,
    Timeout,
    types,
)
from penstock._events import EventDecoder, ServerEvent
from penstock.testing import FakeServer

KEY = "psk_x"


def event(number: int, name: str = "state", data: object = None) -> str:
    data = {"state": "INPROGRESS"} if data is None else data
    return f"id: {number}\nevent: {name}\ndata: {json.dumps(data)}\n\n"


DONE = 'event: done\ndata: {"state": "SUCCEEDED"}\n\n'


def test_events_of_a_real_run(client: Penstock) -> None:
    run = client.runs.create(prompt="demo: plan one; two\ndemo: say hello")
    with client.runs.events(run.run_id) as events:
        seen = list(events)
    ids = [e.id for e in seen if e.id is not None]
    assert all(a < b for a, b in pairwise(ids))
    assert isinstance(seen[0], types.RunStateEvent)
    assert seen[0].data.state == "QUEUED"
    assert isinstance(seen[-1], types.RunDoneEvent)
    assert any(isinstance(e, types.RunPlanEvent) for e in seen)
    later = list(client.runs.events(run.run_id, after=ids[-2]))
    assert [e.id for e in later if e.id is not None] == ids[-1:]
    with pytest.raises(BadRequestError, match="no event"):
        next(client.runs.events(run.run_id, after=ids[-1] + 5))


def test_a_run_that_is_not_there(client: Penstock) -> None:
    with client.runs.events("nothing") as events, pytest.raises(NotFoundError):
        next(events)


def test_a_server_that_is_killed_and_comes_back() -> None:
    with serve() as server, server.client() as client:
        run = client.runs.create(prompt="demo: ask Which branch?")
        client.runs.wait(run.run_id, until_blocked=True, timeout=240)
        seen: list[types.RunEvent] = []
        with client.runs.events(run.run_id) as events:
            for happened in events:
                seen.append(happened)
                if isinstance(happened, types.RunStateEvent) and happened.data.state == "BLOCKED":
                    server.stop()
                    server.start()
                    client.runs.follow_up(run.run_id, message="main")
        ids = [e.id for e in seen if e.id is not None]
        assert len(ids) == len(set(ids))
        assert ids == sorted(ids)
        assert seen[-1].event == "done"
        whole = list(client.runs.events(run.run_id))
        # What is written in pieces is in the log until it is whole, and the stream has seen both.
        assert set(ids) >= {e.id for e in whole if e.id is not None}


def last_ids(requests: list[bytes]) -> list[str]:
    """The Last-Event-ID of each request."""
    found: list[str] = []
    for request in requests:
        lines = request.decode().lower().split("\r\n")
        values = [v for v in lines if v.startswith("last-event-id:")]
        found.append(values[0].partition(": ")[2] if values else "")
    return found


BREAKS: list[Behavior] = [
    raw(STREAM + chunk(event(1)) + chunk(event(2)[:-5])),
    raw(b""),
    raw(STREAM + chunk(event(2)) + b"zz\r\n"),
    respond(b"{}", status="503 Service Unavailable"),
    raw(STREAM + chunk(event(3)) + b"0\r\n\r\n"),
    raw(STREAM + chunk(event(4) + DONE)),
]


def test_every_break_resumes_after_the_last_event() -> None:
    with faulty(*BREAKS) as server, Penstock(api_key=KEY, base_url=server.url) as client:
        assert [e.id for e in client.runs.events("r")] == [1, 2, 3, 4, None]
        assert last_ids(server.requests) == ["", "1", "1", "2", "2", "3"]


@pytest.mark.anyio
async def test_every_break_resumes_after_the_last_event_async() -> None:
    with faulty(*BREAKS) as server:
        async with AsyncPenstock(api_key=KEY, base_url=server.url) as client:
            async with client.runs.events("r") as events:
                assert [e.id async for e in events] == [1, 2, 3, 4, None]
        assert last_ids(server.requests) == ["", "1", "1", "2", "2", "3"]


def test_a_silent_connection_is_made_again() -> None:
    behaviors = [hang(STREAM + chunk(event(1))), raw(STREAM + chunk(event(2) + DONE))]
    with faulty(*behaviors) as server, Penstock(api_key=KEY, base_url=server.url) as client:
        events = client.runs.events("r", timeout=Timeout(idle=3))
        with pytest.raises(APIConnectionError):
            # Nothing was heard for the whole of `idle`, so that this is the end.
            list(events)
        assert events.last_event_id == "1"
        rest = client.runs.events("r", after=int(events.last_event_id))
        assert [e.id for e in rest] == [2, None]


def test_a_number_is_the_idle_time_of_one_stream_and_not_of_a_client() -> None:
    with faulty(hang(STREAM)) as server:
        with Penstock(api_key=KEY, base_url=server.url, retries=0) as client:
            with pytest.raises(APITimeoutError):
                next(client.runs.events("r", timeout=0.2))
        short = Penstock(api_key=KEY, base_url=server.url, timeout=0.2)
        assert short._connection.settings.timeout == Timeout(total=0.2, connect=0.2, idle=60)


def test_what_is_no_event_comes_after_what_is_one() -> None:
    text = event(1) + "id: 2\nevent: state\ndata: nonsense\n\n"
    with faulty(raw(STREAM + chunk(text))) as server:
        with Penstock(api_key=KEY, base_url=server.url) as client:
            events = client.runs.events("r")
            assert next(events).id == 1
            with pytest.raises(InvalidResponseError):
                next(events)
            assert events.last_event_id == "1"


def test_a_server_that_stays_away_is_given_up() -> None:
    behaviors = [raw(STREAM + chunk(event(1))), raw(b"")]
    with faulty(*behaviors) as server, Penstock(api_key=KEY, base_url=server.url) as client:
        events = client.runs.events("r", timeout=Timeout(idle=3))
        assert next(events).id == 1
        with pytest.raises(APIConnectionError):
            next(events)
        assert len(server.requests) > 2


def test_an_answer_that_says_no_ends_it() -> None:
    server = FakeServer()
    server.stream(
        "/agent/runs/r/events", [{"id": 1, "event": "state", "data": {"state": "QUEUED"}}]
    )
    server.fail("GET", "/agent/runs/r/events", status=404, code="resource_not_found")
    events = server.client().runs.events("r")
    assert next(events).id == 1
    with pytest.raises(NotFoundError):
        next(events)


def test_a_server_that_asks_for_an_hour_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[float] = []
    monkeypatch.setattr(threading.Event, "wait", lambda _, seconds: taken.append(seconds))
    server = FakeServer()
    server.stream(
        "/agent/runs/r/events", [{"id": 1, "event": "state", "data": {"state": "QUEUED"}}]
    )
    for seconds in (60, 3600):
        server.fail(
            "GET",
            "/agent/runs/r/events",
            status=503,
            code="resource_unavailable",
            retryable=True,
            retry_after=seconds,
        )
    server.stream(
        "/agent/runs/r/events", [{"id": 2, "event": "state", "data": {"state": "QUEUED"}}]
    )
    events = server.client().runs.events("r")
    assert next(events).id == 1
    with pytest.raises(InternalServerError) as caught:
        next(events)
    assert caught.value.retry_after == 3600
    assert 3600 not in taken
    assert 60 in taken


def test_without_retries_nothing_is_resumed() -> None:
    server = FakeServer()
    server.stream(
        "/agent/runs/r/events", [{"id": 1, "event": "state", "data": {"state": "QUEUED"}}]
    )
    events = server.client(retries=0).runs.events("r")
    assert next(events).id == 1
    with pytest.raises(APIConnectionError, match="broke off"):
        next(events)
    assert len(server.requests) == 1


def test_first_connection_is_retried_like_any_call() -> None:
    server = FakeServer()
    server.fail(
        "GET", "/agent/runs/r/events", status=503, code="resource_unavailable", retryable=True
    )
    with pytest.raises(InternalServerError):
        next(server.client().runs.events("r"))
    assert len(server.requests) == 3


def test_unknown_events_are_given_as_they_are() -> None:
    server = FakeServer()
    told: list[dict[str, object]] = [
        {"id": 1, "event": "weather", "data": {"sun": True}},
        {"event": "done", "data": {"state": "FAILED"}},
    ]
    server.stream("/agent/runs/r/events", told)
    weather, done = server.client().runs.events("r")
    assert isinstance(weather, types.UnknownRunEvent)
    assert weather.event == "weather"
    assert weather.data == {"sun": True}
    assert isinstance(done, types.RunDoneEvent)


def test_closing_wakes_who_waits() -> None:
    with faulty(hang(STREAM + chunk(event(1)))) as server:
        with Penstock(api_key=KEY, base_url=server.url) as client:
            events = client.runs.events("r")
            assert next(events).id == 1
            with events.limit(0.05):
                assert list(events) == []


def test_a_stream_can_be_left_and_its_connection_is_closed() -> None:
    with faulty(hang(STREAM + chunk(event(1)))) as server:
        with Penstock(api_key=KEY, base_url=server.url) as client:
            with client.runs.events("r") as events:
                assert events.response is None
                next(events)
                assert events.response is not None
                assert events.response.status_code == 200
            assert events.response is None
            assert list(events) == []


@pytest.mark.anyio
async def test_an_async_stream_can_be_cancelled() -> None:
    with faulty(hang(STREAM + chunk(event(1)))) as server:
        async with AsyncPenstock(api_key=KEY, base_url=server.url) as client:
            events = client.runs.events("r")
            with anyio.move_on_after(0.2) as scope:
                async with events:
                    async for _ in events:
                        pass
            assert scope.cancelled_caught
            assert events.response is None


def test_memory_stays_the_same_over_many_events() -> None:
    text = {"message_id": "m", "role": "assistant", "text": "x" * 200}

    class Endless(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            for number in range(1, 10_001):
                yield event(number, "message_delta", text).encode()
            yield DONE.encode()

    def respond(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Endless())

    http = httpx.Client(transport=httpx.MockTransport(respond))
    events = Penstock(api_key=KEY, http_client=http).runs.events("r")
    for _ in range(1000):
        next(events)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    count = sum(1 for _ in events)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 9001
    assert after - before < 100_000
    assert peak - before < 500_000


STANDARD = (
    b": a comment\n\nevent: one\nid: 1\ndata: first\ndata: second\n\r\n"
    b"data:no space\r\n\r\nid: 3\nevent: nothing without data\n\ndata\n\nfoo: bar\ndata: \xc3\xa9\n\ndata: unfinished"
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_taken_apart_however_they_are_cut(size: int) -> None:
    decoder = EventDecoder()
    found: list[ServerEvent] = []
    for start in range(0, len(STANDARD), size):
        found += decoder.feed(STANDARD[start : start + size])
    assert found == [
        ServerEvent("one", "1", "first\nsecond"),
        ServerEvent("message", "", "no space"),
        ServerEvent("message", "", ""),
        ServerEvent("message", "", "é"),
    ]


def test_an_event_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock._events.LARGEST_EVENT", 1000)
    for piece in (b"data: " + b"x" * 100, b"data: " + b"x" * 100 + b"\n"):
        decoder = EventDecoder()
        with pytest.raises(ValueError, match="more than 1000 bytes"):
            for _ in range(20):
                list(decoder.feed(piece))


def test_threads_share_a_client(server: Server) -> None:
    with server.client() as client:
        states: list[str] = []

        def work() -> None:
            run = client.runs.create(prompt="demo: say hi")
            states.append(client.runs.wait(run.run_id, timeout=240).state)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(90)
        assert states == ["SUCCEEDED"] * 4
