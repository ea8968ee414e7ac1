"""Each error of the tree, from a real server."""

from __future__ import annotations

import pickle
import socket
import sqlite3
from collections.abc import Callable

import pytest

from conftest import Server, serve
from penstock import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    AsyncPenstock,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    InternalServerError,
    NotFoundError,
    Penstock,
    PenstockError,
    PermissionDeniedError,
    RateLimitError,
    UnprocessableEntityError,
    errors,
)


def reuse_a_key(client: Penstock) -> object:
    client.runs.create(prompt="demo: say one", idempotency_key="of two bodies")
    return client.runs.create(prompt="demo: say two", idempotency_key="of two bodies")


def download_what_has_no_bytes(client: Penstock) -> object:
    run = client.runs.create(prompt="demo: say hi")
    url = f"https://example.com/{run.run_id}"
    item = client.runs.add_artifact(
        run.run_id, artifact_type="PULL_REQUEST", data={"branch": "b", "url": url}
    )
    assert item.artifact_uid
    return client.artifacts.download(item.artifact_uid)


def read_only(client: Penstock) -> object:
    key = client.keys.create(name="reader", scopes=["runs:read"]).key
    base_url = client._connection.settings.base_url
    with Penstock(api_key=key, base_url=base_url) as reader:
        return reader.runs.create(prompt="demo: say hi")


def unknown_key(client: Penstock) -> object:
    base_url = client._connection.settings.base_url
    with Penstock(api_key="psk_nobody_has_this", base_url=base_url) as nobody:
        return nobody.me.get()


@pytest.mark.parametrize(
    ("provoke", "kind", "status", "code"),
    [
        pytest.param(lambda c: c.runs.create(), BadRequestError, 400, "invalid_request", id="400"),
        pytest.param(unknown_key, AuthenticationError, 401, "authentication_required", id="401"),
        pytest.param(read_only, PermissionDeniedError, 403, "not_authorized", id="403"),
        pytest.param(lambda c: c.runs.get("0"), NotFoundError, 404, "resource_not_found", id="404"),
        pytest.param(reuse_a_key, ConflictError, 409, "conflict", id="409"),
        pytest.param(
            lambda c: c.factories.create(files={"factory.yaml": "nonsense: true"}),
            UnprocessableEntityError,
            422,
            "invalid_definition",
            id="422",
        ),
        pytest.param(
            download_what_has_no_bytes,
            UnprocessableEntityError,
            422,
            "operation_not_supported",
            id="422 of a download",
        ),
        pytest.param(
            lambda c: c.secrets.create(name="LARGE", value="x" * 11_000_000),
            APIError,
            413,
            "payload_too_large",
            id="413, which has no class of its own",
        ),
    ],
)
def test_answers_that_say_no(
    client: Penstock,
    provoke: Callable[[Penstock], object],
    kind: type[APIError],
    status: int,
    code: str,
) -> None:
    with pytest.raises(kind) as caught:
        provoke(client)
    error = caught.value
    assert type(error) is kind
    assert (error.status_code, error.code) == (status, code)
    assert error.title
    assert error.request_id
    assert error.request_id in str(error)
    assert not error.retryable
    assert error.response.status_code == status
    assert error.response.headers["content-type"].startswith("application/problem+json")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (kind, str(error))


def test_fields_of_a_bad_request(client: Penstock) -> None:
    with pytest.raises(BadRequestError) as caught:
        client.runs.create(prompt="p", metadata={"no spaces": "x"})
    assert [e.pointer for e in caught.value.errors] == ["/metadata/no spaces"]
    assert "/metadata/no spaces" in str(caught.value)


def test_rate_limit() -> None:
    with serve("--limit-requests-per-minute", "2") as server, server.client(retries=0) as client:
        with pytest.raises(RateLimitError) as caught:
            for _ in range(10):
                client.me.get()
        assert caught.value.code == "rate_limited"
        assert caught.value.retryable
        assert caught.value.retry_after
        assert caught.value.retry_after >= 1


def test_a_server_that_fails_and_then_is_gone() -> None:
    with serve() as server, server.client(retries=1) as client:
        with sqlite3.connect(server.data / "penstock.db") as database:
            database.execute("ALTER TABLE schedules RENAME TO lost")
        database.close()
        with pytest.raises(InternalServerError) as caught:
            client.schedules.list()
        assert (caught.value.status_code, caught.value.code) == (500, "internal_error")
        assert caught.value.retryable

        with server.paused(), pytest.raises(APITimeoutError):
            client.me.get(timeout=0.2, retries=0)
        server.stop()
        with socket.socket() as kept:  # so that no other server gets the port
            kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            kept.bind(("127.0.0.1", int(server.url.rpartition(":")[2])))
            with pytest.raises(APIConnectionError) as gone:
                client.me.get()
        assert not isinstance(gone.value, APITimeoutError)
        assert gone.value.__cause__ is not None


@pytest.mark.anyio
async def test_async_errors(server: Server, aclient: AsyncPenstock) -> None:
    with pytest.raises(NotFoundError):
        await aclient.runs.get("0")
    with pytest.raises(BadRequestError):
        await aclient.runs.create()
    async with AsyncPenstock(api_key="psk_x", base_url="http://127.0.0.1:1", retries=0) as nobody:
        with pytest.raises(APIConnectionError):
            await nobody.me.get()
    with server.paused(), pytest.raises(APITimeoutError):
        await aclient.me.get(timeout=0.2, retries=0)


def test_the_tree_is_the_one_in_the_documentation() -> None:
    """Each line of the module's drawing is a class below the one that it hangs from."""
    drawing = [
        line for line in (errors.__doc__ or "").splitlines() if "Error" in line and "──" in line
    ]
    parents: list[type] = [PenstockError]
    for line in drawing:
        branch, _, text = line.partition("── ")
        depth = len(branch.rstrip("├└")) // 4
        kind = getattr(errors, text.split()[0])
        del parents[depth:]
        assert kind.__mro__[1] is parents[-1], line
        parents.append(kind)
    drawn = {line.partition("── ")[2].split()[0] for line in drawing} | {"PenstockError"}
    assert drawn == {
        n for n, v in vars(errors).items() if isinstance(v, type) and issubclass(v, PenstockError)
    }
