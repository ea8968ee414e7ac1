"""Raw responses."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any, Generic, TypeVar

import httpx

T = TypeVar("T")


class RawResponse(Generic[T]):
    """A raw response with status, headers and body. `parse` returns the result of the method."""

    __slots__ = ("_decode", "content", "headers", "status_code")

    def __init__(
        self,
        status_code: int,
        headers: httpx.Headers,
        content: bytes,
        decode: Callable[[RawResponse[Any]], T] | None = None,
    ) -> None:
        self.status_code = status_code
        self.headers = headers
        self.content = content
        self._decode = decode

    def parse(self) -> T:
        """Return the result of the method. Raises InvalidResponseError if the body is invalid."""
        if self._decode is None:
            raise TypeError("this is an error response")
        return self._decode(self)

    @property
    def request_id(self) -> str | None:
        """Id of the request in the server's log."""
        value: str | None = self.headers.get("x-request-id")
        return value

    @property
    def media_type(self) -> str:
        """The content type without its parameters, in lower case."""
        value: str = self.headers.get("content-type", "")
        return value.partition(";")[0].strip().lower()

    @property
    def should_retry(self) -> bool | None:
        """Whether a retry can help, or None if the server did not say."""
        return {"true": True, "false": False}.get(self.headers.get("x-should-retry", ""))

    @property
    def retry_after(self) -> float | None:
        """`Retry-After` in seconds. The header can also be a date (RFC 9110 §10.2.3)."""
        value = self.headers.get("retry-after", "")
        try:
            seconds = float(value)
        except ValueError:
            try:
                seconds = parsedate_to_datetime(value).timestamp() - time.time()
            except ValueError:
                return None
        return max(0.0, seconds) if math.isfinite(seconds) else None

    def __repr__(self) -> str:
        return f"<RawResponse {self.status_code} {self.media_type} {len(self.content)} bytes>"

    def __reduce__(self) -> tuple[Any, ...]:
        headers = list(self.headers.items())
        return _restore, (self.status_code, headers, self.content)


def _restore(status: int, headers: list[tuple[str, str]], content: bytes) -> RawResponse[Any]:
    return RawResponse(status, httpx.Headers(headers), content)
