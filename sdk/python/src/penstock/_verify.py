"""Verification of messages that Penstock sends to event endpoints."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import inspect
import json
import re
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from .errors import VerificationError

if TYPE_CHECKING:
    from .types import EventMessage

TOLERANCE = 300
"""Seconds that Standard Webhooks allow between the clocks of sender and receiver."""

SHORTEST_KEY = 24
"""Bytes of a secret, at least (Standard Webhooks). An empty key would let anybody sign."""


MILLISECONDS = 100_000_000_000
"""From here on, a time is one in milliseconds."""


class HeaderItems(Protocol):
    """Headers of any framework: a mapping or what has its `items`."""

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Return names and values."""
        ...


Headers: TypeAlias = Mapping[str, str] | HeaderItems | Iterable[tuple[str | bytes, str | bytes]]


def verify(
    body: bytes | bytearray | memoryview | str,
    headers: Headers,
    secret: str | Iterable[str],
    *,
    tolerance: float = TOLERANCE,
    received_at: float | None = None,
) -> EventMessage:
    """Verify a message to an event endpoint, as Standard Webhooks say, and return it.

    body is the body as it was received, before anything parses it. headers are those of the request;
    the case of their names does not matter. secret is that of the endpoint, or several of which one
    must match. tolerance is how many seconds the time of the signature may differ from received_at,
    which is now unless the message waited in a queue of yours; it is in seconds since 1970.

    Raises VerificationError, whose `reason` and text say what is wrong. A type of message that this
    version does not know is returned like the others. Messages may come twice and in any order:
    deduplicate them by the header webhook-id, and compare `data.sequence` of the same run.
    """
    raw = _bytes(body)
    keys = _keys(secret)
    fields = _fields(headers)
    id_, sent = _single(fields, "webhook-id"), _single(fields, "webhook-timestamp")
    signatures = _signatures(fields)
    _check_time(sent, time.time() if received_at is None else received_at, tolerance)
    content = b".".join((id_.encode("utf-8", "surrogateescape"), sent.encode(), raw))
    matched = False
    for key in keys:
        want = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest())
        for signature in signatures:
            matched |= hmac.compare_digest(want, signature)
    if not matched:
        raise VerificationError(
            "no_match",
            "No signature matches. Either the secret is not that of this endpoint (each has its own, and "
            "rotation replaces it), or the body is not the bytes that were received: pass them before "
            "anything parses them, not JSON that was printed again.",
        )
    return _message(raw)


def _bytes(body: Any) -> bytes:
    if isinstance(body, str):
        try:
            return body.encode()
        except UnicodeEncodeError:
            body = None
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(cast("bytes", body))
    if inspect.isawaitable(body):
        if inspect.iscoroutine(body):
            body.close()
        raise VerificationError("body", "The body is a coroutine: await it first.")
    raise VerificationError(
        "body",
        "The body must be the bytes that were received (or their text), not an object that was parsed: "
        "request.get_data() of Flask, request.body of Django, await request.body() of FastAPI.",
    )


def _keys(secret: Any) -> list[bytes]:
    several = isinstance(secret, Iterable) and not isinstance(secret, str | bytes)
    secrets: Iterable[Any] = cast("Iterable[Any]", secret) if several else [secret]
    return [_key(each) for each in secrets] or [_key("")]


def _key(secret: Any) -> bytes:
    hint = "It is printed once, as whsec_…, when the endpoint is created or its secret rotated."
    if not isinstance(secret, str):
        kind = type(secret).__name__
        raise VerificationError("secret", f"A secret must be a string, not {kind}. {hint}")
    # A file ends with a line feed, and an environment file may keep quotes.
    text = "".join(secret.split()).strip("\"'").removeprefix("whsec_").rstrip("=")
    if not text:
        raise VerificationError("secret", f"A secret is empty. {hint}")
    text = text.replace("-", "+").replace("_", "/")
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise VerificationError("secret", f"A secret is not whsec_ with base64. {hint}") from None
    if len(key) < SHORTEST_KEY:
        raise VerificationError(
            "secret",
            f"A secret has {len(key)} bytes, fewer than {SHORTEST_KEY}: was it cut? {hint}",
        )
    return key


def _fields(headers: Any) -> dict[str, list[str]]:
    """Return the values of each name, in lower case."""
    if inspect.isawaitable(headers):
        raise VerificationError("header", "The headers are a coroutine: await it first.")
    try:
        pairs = cast("Iterable[tuple[Any, Any]]", getattr(headers, "items", lambda: headers)())
        fields: dict[str, list[str]] = {}
        for name, value in pairs:
            values = [value] if isinstance(value, str | bytes) or value is None else value
            known = fields.setdefault(_text(name).lower().replace("_", "-"), [])
            known += [_text(each) for each in values if each is not None]
    except (TypeError, ValueError):
        raise VerificationError(
            "header", "The headers must be a mapping of names to values: pass those of the request."
        ) from None
    return fields


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _values(fields: dict[str, list[str]], name: str) -> list[str]:
    # CGI, WSGI and Django's META name the header HTTP_WEBHOOK_ID.
    found = [v.strip() for v in fields.get(name) or fields.get(f"http-{name}") or []]
    if not any(found):
        raise VerificationError(
            "header",
            f"The header {name} is missing. Either the request is not a message of Penstock, or a proxy "
            "or framework removed it: pass all headers of the request.",
        )
    return found


def _single(fields: dict[str, list[str]], name: str) -> str:
    # Where a proxy repeats a header, servers join the values with a comma.
    found = {part.strip() for value in _values(fields, name) for part in value.split(",")}
    if len(found) > 1:
        raise VerificationError(
            "header", f"The header {name} is there twice, with different values."
        )
    return found.pop()


def _signatures(fields: dict[str, list[str]]) -> list[bytes]:
    """Return the signatures of version 1; others are ignored."""
    text = " ".join(_values(fields, "webhook-signature"))
    found = re.findall(r"(?:^|[\s,])v1,([A-Za-z0-9+/]+=*)", text, re.ASCII)
    if not found:
        raise VerificationError(
            "header", "The header webhook-signature has no signature that begins with v1,"
        )
    return [signature.encode() for signature in found]


def _check_time(sent: str, now: float, tolerance: float) -> None:
    if now > MILLISECONDS:
        raise VerificationError("header", "received_at must be in seconds, not milliseconds.")
    if not re.fullmatch(r"[0-9]{1,15}", sent) or int(sent) > MILLISECONDS:
        raise VerificationError(
            "header", "The header webhook-timestamp is not a number of seconds since 1970."
        )
    age = now - int(sent)
    if abs(age) <= tolerance:
        return
    advice = f"At most {tolerance:g} s are allowed. Compare the clock of this machine"
    if age > 0:
        raise VerificationError(
            "too_old",
            f"The message was signed {age:.0f} s ago. {advice}. If messages wait in a queue, verify them "
            "before, or pass received_at.",
        )
    raise VerificationError("from_future", f"The message was signed {-age:.0f} s ahead. {advice}.")


def _message(raw: bytes) -> EventMessage:
    from .types import EventMessage, EventMessageData  # noqa: PLC0415  # quick import

    try:
        return EventMessage.model_validate_json(raw)
    except ValueError:
        pass
    # A newer type may have other data. It was signed, so it is returned as it is.
    fields = _object(raw)
    data = fields.get("data")
    if not isinstance(fields.get("type"), str) or not isinstance(data, dict):
        raise VerificationError(
            "body", "The signature is right, but the body is not a message of Penstock."
        )
    shaped: Any = EventMessageData.model_construct(**cast("dict[str, Any]", data))
    return EventMessage.model_construct(**{**fields, "data": shaped})


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
