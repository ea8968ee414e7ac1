"""How a call is carried out, without doing it: what to send, when to wait, when to give up.

`exchange` is a generator that asks its driver to send or to wait. Penstock and AsyncPenstock are two
drivers of this one rule.
"""

from __future__ import annotations

import logging
import os
import random
import ssl
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import urljoin, urlsplit

import httpx

from ._operation import Call, check_retries
from ._options import Timeout
from ._raw import RawResponse
from ._version import __version__
from .errors import APIConnectionError, APIError, APITimeoutError, PenstockError, api_error

logger = logging.getLogger("penstock")

PREFIX = "/api/v1"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
MAX_HOPS = 5
TRANSPORT_ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, TimeoutError)
"""What a driver passes to `exchange` instead of a response."""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 8.0
LONGEST_RETRY_AFTER = 60.0
"""Who asks for more than this gets no retry: the caller knows better what to do meanwhile."""


@dataclass(frozen=True)
class Settings:
    """What a client was told."""

    base_url: str
    headers: Mapping[str, str] = field(repr=False)
    timeout: Timeout
    retries: int


def settings(
    api_key: str | None,
    base_url: str | None,
    timeout: float | Timeout | None,
    retries: int,
    *,
    own_http: bool,
) -> Settings:
    """Read arguments and environment; PenstockError or ValueError where they do not do."""
    key = (api_key or os.environ.get("PENSTOCK_API_KEY", "")).removeprefix("\ufeff").strip()
    if not key:
        raise PenstockError("no API key: pass api_key or set PENSTOCK_API_KEY")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("the API key contains invalid characters")
    url = (base_url or os.environ.get("PENSTOCK_BASE_URL") or "http://127.0.0.1:8080").rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"base_url must be a URL such as https://penstock.example.com: {url!r}")
    if parts.username or parts.password:
        raise ValueError("base_url must not contain credentials: pass the key as api_key")
    if own_http and parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ValueError(
            f"the key would cross the network in the clear to {url}: use https, or pass an "
            "http_client of your own where something else protects it"
        )
    headers = {
        "Authorization": f"Bearer {key}",
        "User-Agent": f"penstock-python/{__version__}",
        "Accept": "application/json",
    }
    return Settings(
        url.removesuffix(PREFIX) + PREFIX, headers, Timeout.of(timeout), check_retries(retries)
    )


@dataclass(frozen=True)
class Send:
    """Asks the driver to send a request, and for its response or an error."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    timeout: Timeout
    elsewhere: bool = False
    """Whether it goes to another host, which gets nothing that an http_client adds."""


@dataclass(frozen=True)
class Pause:
    """Asks the driver to wait."""

    seconds: float


Step: TypeAlias = "Send | Pause"


def exchange(call: Call, client: Settings) -> Generator[Step, RawResponse[Any], RawResponse[Any]]:
    """Send until there is a success or no hope; raises the last error."""
    timeout = call.timeout or client.timeout
    retries = client.retries if call.retries is None else call.retries
    first = Send(
        call.method,
        client.base_url + call.path,
        {**client.headers, **call.headers},
        call.content,
        timeout,
    )
    for pause in [*pauses(retries), None]:
        send, hops = first, 0
        if call.deadline is not None:
            send = replace(first, timeout=_within(timeout, call.deadline - time.monotonic()))
        while True:
            error, response = yield from _try(call, send)
            if response is None or not (call.link and response.status_code in (302, 303, 307)):
                break
            hops += 1
            send = _follow(send, response, hops)
        if response is not None and 200 <= response.status_code < 300:
            return response
        if response is not None:
            error = api_error(response)
        assert error is not None  # noqa: S101  # either a response or an error is set
        seconds = None if pause is None else _before_retry(call, error, pause)
        if seconds is None:
            raise error
        if call.deadline is not None and seconds >= (left := call.deadline - time.monotonic()):
            yield Pause(max(0.0, left))
            raise error
        logger.info("%s %s: again in %.1f s: %s", call.method, call.shown, seconds, _brief(error))
        yield Pause(seconds)
    raise AssertionError("unreachable")


def _within(timeout: Timeout, left: float) -> Timeout:
    """The same limits, none of them longer than what is left."""
    left = max(0.001, left)
    limits = (timeout.total, timeout.connect, timeout.idle)
    return Timeout(*(left if limit is None else min(limit, left) for limit in limits))


def _try(
    call: Call, send: Send
) -> Generator[Step, RawResponse[Any], tuple[PenstockError | None, RawResponse[Any] | None]]:
    try:
        response = yield send
    except TRANSPORT_ERRORS as cause:
        error = connection_error(cause, call)
        logger.debug("%s %s: %s", call.method, call.shown, error)
        return error, None
    logger.debug("%s %s: %d", call.method, call.shown, response.status_code)
    ignored = response.headers.get("x-penstock-ignored-fields")
    if ignored:
        logger.warning("%s %s: the server does not know %s", call.method, call.shown, ignored)
    return None, response


def pauses(retries: int) -> Iterator[float]:
    """Seconds before each retry: 0.5, 1, 2, 4, 8, 8 …, less up to a quarter, so that many spread."""
    for number in range(retries):
        yield min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(number, 20)) * random.uniform(0.75, 1)  # noqa: S311


def _before_retry(call: Call, error: PenstockError, pause: float) -> float | None:
    """How long to wait before the call is tried again; None where it is not."""
    if not call.repeatable:
        return None
    if isinstance(error, APIError):
        if not worth_retrying(error):
            return None
        asked = error.retry_after
        if asked is not None and asked > LONGEST_RETRY_AFTER:
            return None
        return pause if asked is None else asked
    return None if untrusted(error) else pause


def worth_retrying(error: APIError) -> bool:
    """What the server says about it; else 408, 429 and 5xx."""
    said = error.response.should_retry
    if said is not None:
        return said
    return error.status_code in (408, 429) or error.status_code >= 500


def untrusted(error: BaseException | None) -> bool:
    """Whether a certificate was refused. A retry does not fix that."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def connection_error(cause: Exception, call: Call) -> APIConnectionError:
    """Describes why no response came. The path is in the form that may be logged."""
    kind = APITimeoutError if is_timeout(cause) else APIConnectionError
    what = "no response in time" if kind is APITimeoutError else "no response"
    why = f": {cause}" if str(cause) else f": {type(cause).__name__}"
    error = kind(f"{call.method} {call.shown}: {what}{why}")
    error.__cause__ = cause
    return error


def is_timeout(cause: Exception) -> bool:
    """Whether it took too long."""
    return isinstance(cause, (httpx.TimeoutException, TimeoutError))


def _follow(send: Send, response: RawResponse[Any], hops: int) -> Send:
    """Where a signed link leads. The link is the permission, so that the key stays here."""
    target = urljoin(send.url, response.headers.get("location", ""))
    parts = urlsplit(target)
    downgrade = send.url.startswith("https:") and parts.scheme != "https"
    if hops > MAX_HOPS or parts.scheme not in ("http", "https") or not parts.hostname or downgrade:
        raise api_error(response)
    headers = {"User-Agent": send.headers["User-Agent"]}
    elsewhere = send.elsewhere or parts[:2] != urlsplit(send.url)[:2]
    return replace(
        send, method="GET", url=target, headers=headers, content=None, elsewhere=elsewhere
    )


def _brief(error: PenstockError) -> str:
    return str(error.status_code) if isinstance(error, APIError) else type(error).__name__
