"""Receivers of real messages: the example, and the libraries that others verify with."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks
import svix.webhooks

from conftest import ROOT, Server, eventually, serve
from penstock import Penstock, VerificationError, types, verify

EXAMPLE = ROOT / "examples" / "receivers" / "receiver.py"


@pytest.fixture(scope="module")
def sending() -> Iterator[Server]:
    """A server that may send to this machine."""
    with serve("--event-private-network", "127.0.0.0/8") as running:
        yield running


def secret_of(endpoint: types.EventEndpoint) -> str:
    secret = endpoint.secrets[0].secret
    assert secret
    return secret


def run_and_ping(client: Penstock, uid: str) -> str:
    """Cause a ping and the messages of a run, whose id it returns."""
    client.event_endpoints.ping(uid)
    run_id = client.runs.create(prompt="demo: say done").run_id
    assert client.runs.wait(run_id, timeout=120).state == "SUCCEEDED"
    return run_id


def test_the_example(sending: Server, tmp_path: Path) -> None:
    assert f"```python\n{EXAMPLE.read_text()}```" in (ROOT / "docs" / "events.md").read_text()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with sending.client() as client, (tmp_path / "out").open("wb") as out:
        endpoint = client.event_endpoints.create(url=f"http://127.0.0.1:{port}/hook?token=s3cret")
        (tmp_path / "endpoint.secret").write_text(secret_of(endpoint) + "\n")
        env = {**os.environ, "PORT": str(port), "PYTHONPATH": str(ROOT / "sdk" / "python" / "src")}
        command = [sys.executable, str(EXAMPLE)]
        with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=out, stderr=out) as receiver:
            try:
                eventually(lambda: _listens(port))
                run_id = run_and_ping(client, endpoint.uid)
                wanted = ["endpoint.ping None"] + [
                    f"run.{event} {run_id}" for event in ("created", "started", "succeeded")
                ]
                printed = (tmp_path / "out").read_text
                eventually(lambda: all(line in printed() for line in wanted))
                # The receiver prints before it answers.
                eventually(lambda: client.event_endpoints.get(endpoint.uid).stats.waiting == 0)
            finally:
                receiver.kill()
        attempts = list(client.event_endpoints.attempts(endpoint.uid))
        assert {attempt.http_status for attempt in attempts} == {204}
        assert all(attempt.message_id in printed() for attempt in attempts)
        client.event_endpoints.delete(endpoint.uid)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


Received = tuple[dict[str, str], bytes]


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[Received]]]:
    """A URL, and what it has received."""
    received: list[Received] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((dict(self.headers), body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", received
        server.shutdown()
        thread.join()


Verifier = Callable[[bytes, dict[str, str], str], Any]

LIBRARIES: dict[str, Verifier] = {
    "standardwebhooks": lambda body, headers, secret: standardwebhooks.Webhook(secret).verify(
        body, headers
    ),
    "svix": lambda body, headers, secret: svix.webhooks.Webhook(secret).verify(body, headers),
    "penstock": lambda body, headers, secret: verify(body, headers, secret).model_dump(mode="json"),
}
REFUSES: dict[str, type[Exception]] = {
    "standardwebhooks": standardwebhooks.WebhookVerificationError,
    "svix": svix.webhooks.WebhookVerificationError,
    "penstock": VerificationError,
}


def sent(client: Penstock, uid: str, received: list[Received]) -> list[Received]:
    """What was received, once nothing waits to be sent."""
    eventually(lambda: client.event_endpoints.get(uid).stats.waiting == 0)
    return list(received)


def test_libraries_verify_what_the_server_sends(
    sending: Server, receiver: tuple[str, list[Received]]
) -> None:
    url, received = receiver
    with sending.client() as client:
        endpoint = client.event_endpoints.create(url=url)
        old = secret_of(endpoint)
        run_and_ping(client, endpoint.uid)
        before = sent(client, endpoint.uid, received)
        new = secret_of(client.event_endpoints.rotate_secret(endpoint.uid))
        client.event_endpoints.ping(endpoint.uid)
        during = sent(client, endpoint.uid, received)[-1]
        client.event_endpoints.rotate_secret(endpoint.uid, overlap_seconds=0)
        client.event_endpoints.ping(endpoint.uid)
        after = sent(client, endpoint.uid, received)[-1]
    valid = [(old, each) for each in before] + [(old, during), (new, during)]
    invalid = [(new, before[0]), (old, after), (new, after)]
    invalid += [(old, (headers, body + b" ")) for headers, body in before]
    for name, check in LIBRARIES.items():
        for secret, (headers, body) in valid:
            check(body, headers, secret)
        for secret, (headers, body) in invalid:
            with pytest.raises(REFUSES[name]):
                check(body, headers, secret)
    kinds = {verify(body, headers, old).type for headers, body in before}
    assert kinds >= {"endpoint.ping", "run.created", "run.started", "run.succeeded"}
