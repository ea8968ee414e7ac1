"""A server that misbehaves: each connection gets the bytes that the test wrote down."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Behavior = Callable[["Faulty", socket.socket], None]


def respond(
    body: bytes = b"", *, status: str = "200 OK", kind: str = "application/json", more: str = ""
) -> Behavior:
    """A whole response."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    head += "Connection: close\r\n"
    return lambda _, connection: connection.sendall(f"{head}{more}\r\n".encode() + body)


def raw(data: bytes) -> Behavior:
    """These bytes, and then the end."""
    return lambda _, connection: connection.sendall(data)


def hang(data: bytes = b"") -> Behavior:
    """These bytes, and then nothing for as long as the test lasts."""

    def behave(server: Faulty, connection: socket.socket) -> None:
        connection.sendall(data)
        server.over.wait()

    return behave


def drip(data: bytes, piece: bytes) -> Behavior:
    """These bytes, and then a little again and again, for as long as the test lasts."""

    def behave(server: Faulty, connection: socket.socket) -> None:
        connection.sendall(data)
        while not server.over.wait(0.02):
            connection.sendall(piece)

    return behave


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(text: str) -> bytes:
    return f"{len(text.encode()):x}\r\n{text}\r\n".encode()


@dataclass
class Faulty:
    """A server on a free port. The last behavior is repeated."""

    behaviors: list[Behavior]
    tls: ssl.SSLContext | None = None
    requests: list[bytes] = field(default_factory=list[bytes])
    over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        port = self._socket.getsockname()[1]
        self.url = f"{'https' if self.tls else 'http'}://127.0.0.1:{port}"
        self._threads = [threading.Thread(target=self._listen, daemon=True)]
        self._threads[0].start()

    def _listen(self) -> None:
        number = 0
        while not self.over.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            behavior = self.behaviors[min(number, len(self.behaviors) - 1)]
            number += 1
            thread = threading.Thread(target=self._serve, args=(connection, behavior), daemon=True)
            thread.start()
            self._threads.append(thread)

    def _serve(self, connection: socket.socket, behavior: Behavior) -> None:
        with suppress(OSError):  # whoever hangs up, or does not trust the certificate
            if self.tls is not None:
                connection = self.tls.wrap_socket(connection, server_side=True)
            with connection:
                request = b""
                while b"\r\n\r\n" not in request:
                    received = connection.recv(65536)
                    if not received:
                        return
                    request += received
                head, _, body = request.partition(b"\r\n\r\n")
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        while len(body) < int(line.partition(b":")[2]):
                            body += connection.recv(65536)
                self.requests.append(head + b"\r\n\r\n" + body)
                behavior(self, connection)
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.over.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join(10)


@contextmanager
def faulty(*behaviors: Behavior, tls: ssl.SSLContext | None = None) -> Generator[Faulty]:
    server = Faulty(list(behaviors), tls)
    try:
        yield server
    finally:
        server.close()
