"""An operation of the contract, and a call of it: arguments checked, nothing sent yet."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote, urlencode
from uuid import uuid4

import httpx
from pydantic import TypeAdapter, ValidationError

from . import types
from ._options import Options, PostOptions, Timeout
from ._raw import RawResponse
from .errors import InvalidResponseError

T = TypeVar("T")

Decode = Callable[[RawResponse[Any]], Any]


@dataclass(frozen=True)
class Call:
    """A request that is ready to be sent, as often as it takes."""

    method: str
    path: str
    """Below /api/v1, with its query."""
    shown: str
    """The path as it may be logged."""
    decode: Decode
    headers: Mapping[str, str]
    content: bytes | None = None
    timeout: Timeout | None = None
    retries: int | None = None
    link: bool = False
    """Whether the response is a redirect, which is followed without the key."""
    deadline: float | None = None
    """When all its tries and the pauses between them are over, by time.monotonic."""

    @property
    def repeatable(self) -> bool:
        """Whether sending it again does nothing twice."""
        return self.method == "GET" or "Idempotency-Key" in self.headers


@dataclass(frozen=True)
class Operation(Generic[T]):
    """One operation: what it takes, where it goes, what it gives."""

    id: str
    name: str
    method: str
    path: str
    response_type: Any
    path_names: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Any = None
    form: Any = None
    params: Any = None
    raw: bool = False
    """Whether `content` is the body."""
    takes_key: bool = False
    link: bool = False

    def call(
        self, arguments: Mapping[str, Any], path: Sequence[str], decode: Decode | None = None
    ) -> Call:
        """Check the arguments and make the request; TypeError or ValueError where they are wrong."""
        options, own = self._split(arguments)
        form = self.form is not None and "file" in own
        if self.params is not None:
            own = self._check(self._form if form else self._params, own)
        query = [(n.rstrip("_"), own.pop(n)) for n in self.query if n in own]  # from_ is from
        headers = {self.headers[n]: own.pop(n) for n in self.headers if n in own}
        content, media_type = self._body(own, options, form=form)
        if media_type:
            headers["Content-Type"] = media_type
        return make_call(
            self.method,
            self._fill(path),
            decode or self.decode,
            options,
            query=query,
            headers=headers,
            content=content,
            shown=self.path if "{token}" in self.path else None,
            link=self.link,
            makes_key=self.takes_key,
        )

    def decode(self, response: RawResponse[Any]) -> Any:
        """What the method gives."""
        if self.response_type is None:
            return None
        if self.response_type is bytes:
            return response.content
        return validate(self._adapter, response)

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.response_type)

    @cached_property
    def _arguments(self) -> frozenset[str]:
        keys: set[str] = set()
        for kind in (self.params, self.body, self.form):
            keys |= getattr(kind, "__annotations__", {}).keys()
        keys |= {*self.query, *self.headers}
        keys -= PostOptions.__annotations__.keys()
        return frozenset(keys)

    @cached_property
    def _params(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.params)

    @cached_property
    def _form(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.form)

    def _split(self, arguments: Mapping[str, Any]) -> tuple[PostOptions, dict[str, Any]]:
        allowed = POST_OPTIONS if self.takes_key else OPTIONS
        options: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key, value in arguments.items():
            if key in self._arguments:
                own[key] = value
            elif key in allowed:
                options[key] = value
            else:
                near = difflib.get_close_matches(key, [*self._arguments, *allowed], 1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise TypeError(f"{self.name}: unexpected keyword argument {key!r}{hint}")
        return cast("PostOptions", options), own

    def _fill(self, values: Sequence[str]) -> str:
        path = self.path
        for name, value in zip(self.path_names, values, strict=True):
            start, _, rest = path.partition("{")
            path = start + segment(f"{self.name}: {name}", value) + rest.partition("}")[2]
        return path

    def _check(self, adapter: TypeAdapter[Any], value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            raise argument_error(self.name, error) from None

    def _body(
        self, own: dict[str, Any], options: Options, *, form: bool
    ) -> tuple[bytes | None, str]:
        """The body of checked fields, and its type."""
        extra = options.get("extra_body", {})
        if form:
            return _multipart({**own, **extra})
        if self.raw:
            return own["content"], "application/octet-stream"
        if self.body is None:
            if extra:
                raise TypeError(f"{self.name}: does not accept a body")
            return None, ""
        return to_json({**own, **extra}), "application/json"


@dataclass(frozen=True)
class PageOperation(Operation[T]):
    """An operation that returns a page of T."""

    items: str = ""
    """The field of the response that holds them."""


class EventOperation(Operation[T]):
    """An operation that returns a stream of T."""

    def event(self, name: str, sequence: str, data: str) -> T:
        """An event of the stream; ValueError where it is none."""
        value: dict[str, Any] = {"event": name, "data": json.loads(data)}
        if sequence:
            value["id"] = int(sequence)
        event: T = self._adapter.validate_python(value)
        return event


OPTIONS = frozenset(Options.__annotations__)
POST_OPTIONS = frozenset(PostOptions.__annotations__) | OPTIONS


def make_call(
    method: str,
    path: str,
    decode: Decode,
    options: PostOptions,
    *,
    query: Sequence[tuple[str, Any]] = (),
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    shown: str | None = None,
    link: bool = False,
    makes_key: bool = False,
) -> Call:
    """A call from checked parts. An idempotency key is made here, once for all its tries."""
    all_headers = dict(headers or {})
    if makes_key or "idempotency_key" in options:
        key = options.get("idempotency_key", str(uuid4()))
        if not isinstance(key, str) or not 1 <= len(key) <= 255:
            raise ValueError("idempotency_key must have 1 to 255 characters")
        all_headers["Idempotency-Key"] = key
    for name, value in options.get("extra_headers", {}).items():
        all_headers["-".join(part.capitalize() for part in name.split("-"))] = value
    for name, value in all_headers.items():
        if not isinstance(value, str):
            raise TypeError(f"header {name} must be a string, not {type(value).__name__}")
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"header {name} contains characters that a header must not have")
    pairs = [*query, *options.get("extra_query", {}).items()]
    target = f"{path}{'&' if '?' in path else '?'}{query_string(pairs)}" if pairs else path
    retries = options.get("retries")
    return Call(
        method,
        target,
        shown or path,
        decode,
        all_headers,
        content,
        timeout=Timeout.of(options["timeout"]) if "timeout" in options else None,
        retries=None if retries is None else check_retries(retries),
        link=link,
    )


def check_retries(retries: Any) -> int:
    """The number of retries; TypeError or ValueError where it is none."""
    if isinstance(retries, bool) or not isinstance(retries, int):
        raise TypeError(f"retries must be a number, not {retries!r}")
    if retries < 0:
        raise ValueError("retries must not be negative")
    return retries


def segment(what: str, value: Any) -> str:
    """A part of a path. One that is empty or made of dots would lead to another endpoint."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, not {type(value).__name__}")
    if not value.strip() or value in (".", ".."):
        raise ValueError(f"{what} is {value!r}")
    return quote(value, safe="")


def query_string(pairs: Sequence[tuple[str, Any]]) -> str:
    """Parameters as the server reads them: lists repeated, maps as name[key]=value."""
    flat: list[tuple[str, str]] = []
    for name, value in pairs:
        if isinstance(value, Mapping):
            entries = cast("Mapping[str, Any]", value)
            flat += [(f"{name}[{key}]", _text(item)) for key, item in entries.items()]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            flat += [(name, _text(item)) for item in cast("list[Any]", value)]
        else:
            flat.append((name, _text(value)))
    return urlencode(flat)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("a datetime must have a time zone")
        return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    return str(value)


def argument_error(where: str, error: ValidationError) -> TypeError | ValueError:
    """A wrong argument, told without its value, which may be a secret."""
    told = error.errors(include_url=False, include_context=False, include_input=False)
    # A dictionary may be a model as well: what is wrong with it as a dictionary says more.
    first = next((t for t in told if t["type"] != "model_type"), told[0])
    name = ".".join(str(part) for part in first["loc"] if not hasattr(types, str(part)))
    if first["type"] == "missing":
        return TypeError(f"{where}: missing keyword argument {name!r}")
    if first["type"] == "extra_forbidden":
        return TypeError(f"{where}: unexpected key {name!r}")
    kind = TypeError if first["type"].endswith("_type") else ValueError
    return kind(f"{where}: {name}: {first['msg']}")


def validate(adapter: TypeAdapter[Any], response: RawResponse[Any]) -> Any:
    """The body as what it should be."""
    if not is_json(response):
        kind = response.media_type or "no type"
        size = len(response.content)
        raise InvalidResponseError(
            response, f"the response should be JSON, not {size} bytes of {kind}"
        )
    try:
        return adapter.validate_json(response.content)
    except ValidationError as error:
        told = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in told["loc"])
        text = f"{where}: {told['msg']}" if where else told["msg"]
        raise InvalidResponseError(response, f"invalid response: {text}") from None


def is_json(response: RawResponse[Any]) -> bool:
    """Whether the response declares JSON."""
    kind = response.media_type
    return kind == "application/json" or kind.endswith("+json")


def to_json(value: Any) -> bytes:
    """A body; a model gives the fields that were set."""
    return ANY.dump_json(value, exclude_unset=True, by_alias=True)


ANY: TypeAdapter[Any] = TypeAdapter(Any)


def _multipart(fields: Mapping[str, Any]) -> tuple[bytes, str]:
    """A form, written out once: a retry must send the same bytes."""
    data = {key: str(value) for key, value in fields.items() if key != "file"}
    name = data.get("filename", "file")
    upload = (name, fields["file"], data.get("mime_type", "application/octet-stream"))
    request = httpx.Request("POST", "http://form", data=data, files={"file": upload})
    return request.read(), request.headers["content-type"]
