"""Verification of messages: what receivers got wrong with other libraries, and what must be refused."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import pickle
import time
from email.message import Message
from pathlib import Path
from typing import Any

import httpx
import pytest

import penstock
from penstock import VerificationError, types, verify

KEY, OLD_KEY = bytes(range(200, 232)), bytes(32)
SECRET = "whsec_" + base64.b64encode(KEY).decode()
OLD = "whsec_" + base64.b64encode(OLD_KEY).decode()
BODY = (
    '{"type": "run.failed", "timestamp": "2026-02-02T09:30:00Z", "data": {"run_id": "r1", '
    '"state": "FAILED", "sequence": 7, "brand_new": "ü", "url": "https://penstock.test/r1"}}'
).encode()
NOW = 1_770_024_600


def sign(key: bytes = KEY, body: bytes = BODY, at: int = NOW, id_: str = "msg_1") -> str:
    mac = hmac.new(key, f"{id_}.{at}.".encode() + body, hashlib.sha256)
    return "v1," + base64.b64encode(mac.digest()).decode()


def headers(signature: str | None = None, at: int = NOW) -> dict[str, str]:
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(at),
        "webhook-signature": signature or sign(at=at),
    }


def refused(*args: Any, **options: Any) -> VerificationError:
    with pytest.raises(VerificationError) as caught:
        verify(*args, **{"received_at": NOW, **options})
    text = f"{caught.value!s} {caught.value!r} {caught.value.__cause__!r}"
    for secret in (SECRET, SECRET.removeprefix("whsec_"), SECRET[6:20]):
        assert secret not in text
    return caught.value


def test_the_message_is_typed() -> None:
    message = verify(BODY, headers(), SECRET, received_at=NOW)
    assert isinstance(message, types.EventMessage)
    assert (message.type, message.data.run_id, message.data.sequence) == ("run.failed", "r1", 7)
    assert (message.data.model_extra or {})["brand_new"] == "ü"
    assert message.timestamp.timestamp() == NOW


def test_the_time_is_now_by_default() -> None:
    now = int(time.time())
    assert verify(BODY, headers(at=now), SECRET).type == "run.failed"
    with pytest.raises(VerificationError, match="signed"):
        verify(BODY, headers(), SECRET)


def test_it_can_be_called_in_a_coroutine() -> None:
    async def receive() -> str:
        return verify(BODY, headers(), SECRET, received_at=NOW).type

    assert asyncio.run(receive()) == "run.failed"


@pytest.mark.parametrize("body", [BODY, bytearray(BODY), memoryview(BODY), BODY.decode()])
def test_bodies(body: bytes | str) -> None:
    assert verify(body, headers(), SECRET, received_at=NOW).data.run_id == "r1"


def _http_server() -> Message:
    fields = Message()  # of http.server
    for name, value in headers().items():
        fields[name.title()] = value
    return fields


class Werkzeug:
    """Headers of Flask: no mapping, but with items."""

    def items(self) -> list[tuple[str, str]]:
        return list(headers().items())


@pytest.mark.parametrize(
    "given",
    [
        headers(),
        {name.title(): value for name, value in headers().items()},
        {name.upper(): value for name, value in headers().items()},
        httpx.Headers(headers()),
        _http_server(),
        Werkzeug(),
        list(headers().items()),
        [(name.encode(), value.encode()) for name, value in headers().items()],  # ASGI
        {name: [value] for name, value in headers().items()},  # multiValueHeaders of a gateway
        {
            "HTTP_" + name.upper().replace("-", "_"): value for name, value in headers().items()
        },  # WSGI
        {**headers(), "x-none": None, "wsgi.version": (1, 0)},
        {**headers(), "webhook-id": " msg_1\t"},
        {**headers(), "webhook-id": ["msg_1", "msg_1"]},  # a proxy repeated it
        {**headers(), "webhook-id": "msg_1, msg_1"},
    ],
)
def test_headers_of_frameworks(given: Any) -> None:
    assert verify(BODY, given, SECRET, received_at=NOW).data.run_id == "r1"


@pytest.mark.parametrize(
    "secret",
    [
        SECRET,
        SECRET.removeprefix("whsec_"),
        SECRET + "\n",
        f"  {SECRET}\r\n",
        f'"{SECRET}"',
        SECRET.rstrip("="),
        SECRET.replace("+", "-").replace("/", "_").replace("whsec-", "whsec_"),
        [OLD, SECRET],
        (SECRET, OLD),
        iter([OLD, SECRET]),
    ],
)
def test_secrets(secret: Any) -> None:
    assert verify(BODY, headers(), secret, received_at=NOW).data.run_id == "r1"


def test_a_secret_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(SECRET + "\r\n")
    assert verify(BODY, headers(), file.read_text(), received_at=NOW).data.run_id == "r1"


@pytest.mark.parametrize(
    "signature",
    [
        f"{sign(OLD_KEY)} {sign()}",
        f"{sign()} {sign(OLD_KEY)}",
        f"v1a,{sign(OLD_KEY)[3:]} v2,abc {sign()}",
        f"{sign(OLD_KEY)}, {sign()}",  # two headers, joined
        f"{sign(OLD_KEY)},{sign()}",
        f"  {sign()}  ",
        [sign(OLD_KEY), sign()],
    ],
)
def test_several_signatures(signature: Any) -> None:
    given = {**headers(), "webhook-signature": signature}
    assert verify(BODY, given, SECRET, received_at=NOW).data.run_id == "r1"


def test_a_rotation_needs_one_secret_at_each_time() -> None:
    both = headers(f"{sign()} {sign(OLD_KEY)}")
    for secret in (SECRET, OLD, [SECRET, OLD]):
        assert verify(BODY, both, secret, received_at=NOW).data.run_id == "r1"
    assert refused(BODY, headers(), OLD).reason == "no_match"


@pytest.mark.parametrize("off", [-300, -1, 0, 1, 300])
def test_times_within_the_tolerance(off: int) -> None:
    assert verify(BODY, headers(at=NOW + off), SECRET, received_at=NOW).type == "run.failed"


def test_times_outside_the_tolerance() -> None:
    error = refused(BODY, headers(at=NOW - 301), SECRET)
    assert error.reason == "too_old"
    assert "301 s ago" in str(error)
    assert "300 s" in str(error)
    error = refused(BODY, headers(at=NOW + 7200), SECRET)
    assert error.reason == "from_future"
    assert "7200 s ahead" in str(error)
    late = verify(BODY, headers(at=NOW + 7200), SECRET, received_at=NOW, tolerance=7200)
    assert late.type == "run.failed"
    assert refused(BODY, headers(at=NOW - 2), SECRET, tolerance=1).reason == "too_old"
    assert refused(BODY, headers(), SECRET, tolerance=float("nan")).reason == "from_future"


@pytest.mark.parametrize(
    "at", ["", "soon", "1e9", "-5", "0x10", "٣", "nan", "1.5", "9" * 16, NOW * 1000, None]
)
def test_what_is_no_time(at: Any) -> None:
    signed = {**headers(sign(at=at)), "webhook-timestamp": None if at is None else str(at)}
    error = refused(BODY, signed, SECRET)
    assert error.reason == "header"
    assert "webhook-timestamp" in str(error)


def test_milliseconds_of_the_caller() -> None:
    error = refused(BODY, headers(at=NOW), SECRET, received_at=NOW * 1000)
    assert "seconds, not milliseconds" in str(error)


@pytest.mark.parametrize("name", headers())
@pytest.mark.parametrize("gone", [None, "", "  ", []])
def test_a_missing_header_is_named(name: str, gone: Any) -> None:
    error = refused(BODY, {**headers(), name: gone}, SECRET)
    assert error.reason == "header"
    assert name in str(error)
    assert "missing" in str(error)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp"])
def test_a_header_with_two_values(name: str) -> None:
    fields = [*headers().items(), (name.title(), "5")]
    error = refused(BODY, fields, SECRET)
    assert error.reason == "header"
    assert name in str(error)
    assert "twice" in str(error)


@pytest.mark.parametrize("given", [None, 5, "webhook-id: msg_1", ["webhook-id"], headers])
def test_what_is_no_headers(given: Any) -> None:
    assert refused(BODY, given, SECRET).reason == "header"


@pytest.mark.parametrize("signature", ["v1a,abc", "v2,abc", "abc", "v1", "v1,", "v1,é", sign()[3:]])
def test_no_signature_of_this_version(signature: str) -> None:
    error = refused(BODY, headers(signature), SECRET)
    assert error.reason == "header"
    assert "v1," in str(error)


def test_a_parsed_body_says_what_to_do() -> None:
    error = refused(json.loads(BODY), headers(), SECRET)
    assert error.reason == "body"
    assert "bytes that were received" in str(error)
    for body in (None, 5, [BODY], "\ud800"):
        assert refused(body, headers(), SECRET).reason == "body"


def test_a_body_that_was_printed_again() -> None:
    for body in (json.dumps(json.loads(BODY)), BODY + b"\n", b"", BODY.replace(b"r1", b"r2")):
        error = refused(body, headers(), SECRET)
        assert error.reason == "no_match"
        assert "printed again" in str(error)


def test_what_is_signed_is_the_id_and_the_time_as_well() -> None:
    assert refused(BODY, {**headers(), "webhook-id": "msg_2"}, SECRET).reason == "no_match"
    moved = {**headers(), "webhook-timestamp": str(NOW + 1)}
    assert refused(BODY, moved, SECRET).reason == "no_match"


def test_a_coroutine_is_not_awaited() -> None:
    async def later() -> Any:
        return BODY

    assert "await" in str(refused(later(), headers(), SECRET))
    waiting = later()
    assert "await" in str(refused(BODY, waiting, SECRET))
    waiting.close()


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "whsec_",
        "\n",
        None,
        5,
        b"whsec_" + base64.b64encode(KEY),
        [],
        [SECRET, ""],
        [SECRET, None],
        "whsec_!!!!",
        SECRET + "!",
        "v1," + SECRET,
        SECRET[:20],
        "whsec_" + base64.b64encode(bytes(23)).decode(),
    ],
)
def test_what_is_no_secret(secret: Any) -> None:
    # An empty key, or one byte of a secret that was cut, would let anybody sign.
    for key in (KEY, b""):
        error = refused(BODY, headers(sign(key)), secret)
        assert error.reason == "secret"
        assert "whsec_" in str(error)
        assert ("is empty" in str(error)) == (secret in ("", "whsec_", "\n", [], [SECRET, ""]))


def test_every_signature_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []
    original = hmac.compare_digest

    def compare(a: bytes, b: bytes) -> bool:
        compared.append(b)
        return original(a, b)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    verify(BODY, headers(f"{sign()} {sign(OLD_KEY)}"), [SECRET, OLD], received_at=NOW)
    assert len(compared) == 4


@pytest.mark.parametrize(
    "body",
    [
        b'{"type": "run.teleported", "timestamp": "2026-02-02T09:30:00Z", "data": {"run_id": "r1", "url": "u"}}',
        b'{"type": "run.teleported", "timestamp": 5, "data": {"run_id": "r1"}, "more": 1}',
    ],
)
def test_an_unknown_type_is_returned(body: bytes) -> None:
    message = verify(body, headers(sign(body=body)), SECRET, received_at=NOW)
    assert (message.type, message.data.run_id) == ("run.teleported", "r1")


@pytest.mark.parametrize("body", [b"", b"[]", b"5", b"{}", b'{"type": 5, "data": {}}', b"\xff"])
def test_a_signed_body_that_is_no_message(body: bytes) -> None:
    error = refused(body, headers(sign(body=body)), SECRET)
    assert error.reason == "body"
    assert "signature is right" in str(error)


def test_the_error() -> None:
    error = refused(b"", headers(), SECRET)
    assert isinstance(error, penstock.PenstockError)
    again = pickle.loads(pickle.dumps(error))
    assert (again.reason, str(again)) == (error.reason, str(error))
