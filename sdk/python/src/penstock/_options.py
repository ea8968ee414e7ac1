"""Options of every call."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict
from typing_extensions import TypedDict


@dataclass(frozen=True)
class Timeout:
    """Timeouts in seconds. None disables a timeout.

    They apply to each attempt of a call.
    """

    total: float | None = 60.0
    """For one try, from connecting to the last byte of the response. Not for a stream.

    Where threads are used, this limits each read of a response head that arrives in pieces.
    """
    connect: float | None = 60.0
    """For the connection alone; never more than `total`."""
    idle: float | None = 60.0
    """For a stream: how long nothing may be heard of the server, also while it is reconnected to.

    The server gives a sign of life every 15 seconds.
    """

    def __post_init__(self) -> None:
        for value in (self.total, self.connect, self.idle):
            if value is not None and not value > 0:
                raise ValueError(f"a timeout must be more than 0 seconds, or None, not {value!r}")

    @classmethod
    def of(cls, value: float | Timeout | None) -> Timeout:
        """A number stands for `total`."""
        if isinstance(value, Timeout):
            return value
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise TypeError(f"timeout must be seconds, a Timeout or None, not {value!r}")
        return cls(total=value, connect=value)


STRICT = ConfigDict(extra="forbid", strict=True)
"""What is sent is what was meant: nothing is converted, and no key is dropped in silence."""


class Options(TypedDict, total=False):
    """Keyword arguments of every call."""

    timeout: float | Timeout | None
    """Seconds for each try, in place of the client's; for a stream, seconds without a sign of life."""
    retries: int
    """How often to try again, in place of the client's."""
    extra_headers: Mapping[str, str]
    """Sent along; they win over those of the client."""
    extra_query: Mapping[str, Any]
    """Parameters that this version does not know."""
    extra_body: Mapping[str, Any]
    """Fields of the body that this version does not know."""


class PostOptions(Options, total=False):
    """Keyword arguments of every call that creates or starts something."""

    idempotency_key: str
    """Under the same key it happens once. Made anew for each call where it is not given."""


def _encode(value: bytes | str) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


Base64 = Annotated[bytes | str, AfterValidator(_encode)]
"""Bytes, which are encoded; or text that is in base64 already."""
