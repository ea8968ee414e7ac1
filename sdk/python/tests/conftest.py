"""A real server for the tests, one per process of pytest, and clients of it."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from warp_platform_sdk import WarpClient

from penstock import AsyncPenstock, Penstock, _exchange, _wait
from warp_checks import checked

ROOT = Path(__file__).resolve().parents[3]
KEY = "psk_" + "t3st" * 10
BINARY = os.environ.get("PENSTOCK_TEST_BINARY", str(ROOT / "bin" / "penstock"))


class Server:
    """`penstock serve` on a free port with a folder of its own."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.data = folder / "data"
        self.key = KEY
        self._log = folder / "log"
        self._flags = flags
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it, again on the port that it had."""
        command = [BINARY, "serve", "--listen", f"127.0.0.1:{self._port}", "--data", str(self.data)]
        command += [
            "--sandbox",
            "process",
            "--allow-open-network",
            "--demo-directives",
            *self._flags,
        ]
        env = {
            name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")
        }
        env["PENSTOCK_BOOTSTRAP_KEY"] = self.key
        offset = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        eventually(lambda: self._ready(offset))

    def _ready(self, offset: int) -> bool:
        log = self._log.read_text()[offset:]
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended:\n{log}")
        for line in log.splitlines():
            if "msg=serving" in line:
                self._port = int(line.partition("url=")[2].split()[0].rpartition(":")[2])
                return httpx.get(f"{self.url}/readyz", trust_env=False).is_success
        return False

    @contextmanager
    def paused(self) -> Generator[None]:
        """The server holds still: it takes connections and responses nothing."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        self.process.send_signal(signal.SIGSTOP)
        try:
            eventually(
                lambda: all(
                    (task / "stat").read_text().rpartition(")")[2].split()[0] == "T"
                    for task in tasks.iterdir()
                )
            )
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Stop it at once, as a crash would."""
        self.process.kill()
        self.process.wait()

    def client(self, **options: object) -> Penstock:
        return Penstock(api_key=self.key, base_url=self.url, **options)  # type: ignore[arg-type]


def eventually(condition: Callable[[], bool], seconds: float = 240) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("it did not happen in time")
        time.sleep(0.01)


@contextmanager
def serve(*flags: str) -> Generator[Server]:
    """A server of a test's own."""
    with tempfile.TemporaryDirectory(prefix="penstock-python-") as folder:
        server = Server(Path(folder), *flags)
        try:
            yield server
        finally:
            if server.process.poll() is None:
                server.process.terminate()
                try:
                    server.process.wait(20)
                except subprocess.TimeoutExpired:
                    server.stop()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with serve("--limit-requests-per-minute", "0") as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[Penstock]:
    with server.client() as penstock:
        yield penstock


@pytest.fixture
async def aclient(server: Server) -> AsyncIterator[AsyncPenstock]:
    async with AsyncPenstock(api_key=server.key, base_url=server.url) as penstock:
        yield penstock


@pytest.fixture
def warp(server: Server) -> Iterator[WarpClient]:
    """The public SDK of this API, which checks the responses."""
    with checked(f"{server.url}/api/v1", server.key) as client:
        yield client


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine's own environment, and no time lost between tries."""
    for name in (*os.environ,):
        if name.startswith("PENSTOCK_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(_exchange, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(_wait, "POLL", 0.01)
