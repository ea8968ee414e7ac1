"""The two clients."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import httpx
from typing_extensions import ParamSpec, Self, Unpack

from ._async_resources import AsyncResources
from ._connection import AsyncConnection, Connection
from ._exchange import Settings, settings
from ._operation import Call, check_retries, is_json, make_call, to_json
from ._options import Options, PostOptions, Timeout
from ._proxies import mounts, through
from ._raw import RawResponse
from ._resource import AsyncResource, Resource
from ._resources import Resources
from .errors import InvalidResponseError

P = ParamSpec("P")
T = TypeVar("T")

_UNCHANGED: Any = object()


class Penstock(Resources):
    """A synchronous client for Penstock's API.

    `api_key` and `base_url` default to PENSTOCK_API_KEY and PENSTOCK_BASE_URL, and `base_url` then to
    http://127.0.0.1:8080. Threads can share a client; processes cannot. Create a new client in a forked
    process: on a shared connection, each process would read the other's responses. Close the client, or
    use it in a `with` statement.

    `http_client` is used unchanged, with its proxies, certificates and limits, and stays open. Without
    it, httpx's defaults and environment variables (HTTPS_PROXY, SSL_CERT_FILE) apply.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | Timeout | None = Timeout(),  # noqa: B008  # it is frozen
        retries: int = 2,
        proxy: str | httpx.Proxy | None = None,
        http_client: httpx.Client | None = None,
    ) -> None:
        told = settings(api_key, base_url, timeout, retries, own_http=_own(proxy, http_client))
        self._owns_http = http_client is None
        http = http_client or httpx.Client(**_transports(httpx.HTTPTransport, proxy, told))
        super().__init__(Connection(http, told))

    def with_options(
        self, *, timeout: float | Timeout | None = _UNCHANGED, retries: int = _UNCHANGED
    ) -> Self:
        """Return a client with other defaults that shares this client's connections.

        Close only the original client.
        """
        told = _changed(self._connection.settings, timeout, retries)
        other = object.__new__(type(self))
        other._owns_http = False
        other._connection = replace(self._connection, settings=told)
        return other

    def raw(self, method: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> RawResponse[T]:
        """Call a method of this client and return the raw response: status, headers, body.

        `client.raw(client.runs.get, run_id)`. Errors are raised as usual. Their `response` is set.
        """
        owner = getattr(method, "__self__", None)
        if not isinstance(owner, Resource):
            raise TypeError("raw takes a method of this client, such as client.runs.get")
        result: Any = getattr(owner._with_raw(), method.__name__)(*args, **kwargs)  # noqa: SLF001
        return cast("RawResponse[T]", result)

    def get(
        self, path: str, *, query: Mapping[str, Any] | None = None, **options: Unpack[Options]
    ) -> Any:
        """GET an endpoint that this version does not know. `path` is relative to /api/v1.

        Returns the parsed JSON, None for an empty response, or bytes for another content type. The
        same is true of `post`, `put`, `patch` and `delete`.
        """
        return self._connection.perform(_undocumented("GET", path, query, None, options))

    def post(
        self,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        **options: Unpack[PostOptions],
    ) -> Any:
        """POST to an endpoint that this version does not know. See `get`."""
        return self._connection.perform(_undocumented("POST", path, query, body, options))

    def put(
        self,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        **options: Unpack[PostOptions],
    ) -> Any:
        """PUT to an endpoint that this version does not know. See `get`."""
        return self._connection.perform(_undocumented("PUT", path, query, body, options))

    def patch(
        self,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        **options: Unpack[PostOptions],
    ) -> Any:
        """PATCH an endpoint that this version does not know. See `get`."""
        return self._connection.perform(_undocumented("PATCH", path, query, body, options))

    def delete(
        self, path: str, *, query: Mapping[str, Any] | None = None, **options: Unpack[PostOptions]
    ) -> Any:
        """DELETE an endpoint that this version does not know. See `get`."""
        return self._connection.perform(_undocumented("DELETE", path, query, None, options))

    def close(self) -> None:
        """Close the connections, except those of a given `http_client`."""
        if self._owns_http:
            self._connection.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Penstock(base_url={self._connection.settings.base_url!r})"


class AsyncPenstock(AsyncResources):
    """A client for Penstock's API, for asyncio and trio.

    `api_key` and `base_url` default to PENSTOCK_API_KEY and PENSTOCK_BASE_URL, and `base_url` then to
    http://127.0.0.1:8080. A client belongs to one event loop. Close it, or use it in an `async with`
    statement.

    `http_client` is used unchanged, with its proxies, certificates and limits, and stays open. Without
    it, httpx's defaults and environment variables (HTTPS_PROXY, SSL_CERT_FILE) apply.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | Timeout | None = Timeout(),  # noqa: B008  # it is frozen
        retries: int = 2,
        proxy: str | httpx.Proxy | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        told = settings(api_key, base_url, timeout, retries, own_http=_own(proxy, http_client))
        self._owns_http = http_client is None
        http = http_client or httpx.AsyncClient(
            **_transports(httpx.AsyncHTTPTransport, proxy, told)
        )
        super().__init__(AsyncConnection(http, told))

    def with_options(
        self, *, timeout: float | Timeout | None = _UNCHANGED, retries: int = _UNCHANGED
    ) -> Self:
        """Return a client with other defaults that shares this client's connections.

        Close only the original client.
        """
        told = _changed(self._connection.settings, timeout, retries)
        other = object.__new__(type(self))
        other._owns_http = False
        other._connection = replace(self._connection, settings=told)
        return other

    async def raw(
        self, method: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> RawResponse[T]:
        """Call a method of this client and return the raw response: status, headers, body.

        `await client.raw(client.runs.get, run_id)`. Errors are raised as usual. Their `response` is set.
        """
        owner = getattr(method, "__self__", None)
        if not isinstance(owner, AsyncResource):
            raise TypeError("raw takes a method of this client, such as client.runs.get")
        result: Any = await getattr(owner._with_raw(), method.__name__)(*args, **kwargs)  # noqa: SLF001
        return cast("RawResponse[T]", result)

    async def get(
        self, path: str, *, query: Mapping[str, Any] | None = None, **options: Unpack[Options]
    ) -> Any:
        """GET an endpoint that this version does not know. `path` is relative to /api/v1.

        Returns the parsed JSON, None for an empty response, or bytes for another content type. The
        same is true of `post`, `put`, `patch` and `delete`.
        """
        return await self._connection.perform(_undocumented("GET", path, query, None, options))

    async def post(
        self,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        **options: Unpack[PostOptions],
    ) -> Any:
        """POST to an endpoint that this version does not know. See `get`."""
        return await self._connection.perform(_undocumented("POST", path, query, body, options))

    async def put(
        self,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        **options: Unpack[PostOptions],
    ) -> Any:
        """PUT to an endpoint that this version does not know. See `get`."""
        return await self._connection.perform(_undocumented("PUT", path, query, body, options))

    async def patch(
        self,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        **options: Unpack[PostOptions],
    ) -> Any:
        """PATCH an endpoint that this version does not know. See `get`."""
        return await self._connection.perform(_undocumented("PATCH", path, query, body, options))

    async def delete(
        self, path: str, *, query: Mapping[str, Any] | None = None, **options: Unpack[PostOptions]
    ) -> Any:
        """DELETE an endpoint that this version does not know. See `get`."""
        return await self._connection.perform(_undocumented("DELETE", path, query, None, options))

    async def close(self) -> None:
        """Close the connections, except those of a given `http_client`."""
        if self._owns_http:
            await self._connection.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncPenstock(base_url={self._connection.settings.base_url!r})"


def _own(proxy: object, http_client: object) -> bool:
    """Whether the client owns its connections."""
    if proxy is not None and http_client is not None:
        raise TypeError("with an http_client, the proxy belongs there")
    return http_client is None


def _transports(make: Any, proxy: str | httpx.Proxy | None, told: Settings) -> dict[str, Any]:
    """How an httpx client of our own connects."""
    if proxy is not None:
        return {"transport": through(make, proxy)}
    return {"transport": make(), "mounts": mounts(make, urlsplit(told.base_url).hostname or "")}


def _changed(told: Settings, timeout: Any, retries: Any) -> Settings:
    if timeout is not _UNCHANGED:
        told = replace(told, timeout=Timeout.of(timeout))
    if retries is not _UNCHANGED:
        told = replace(told, retries=check_retries(retries))
    return told


def _undocumented(
    method: str,
    path: str,
    query: Mapping[str, Any] | None,
    body: Any,
    options: Options | PostOptions,
) -> Call:
    if not isinstance(path, str) or not path.startswith("/") or path.startswith("//"):
        raise ValueError(f"a path begins with one slash, as in /agent/runs: {path!r}")
    content = None if body is None else to_json(body)
    headers = {} if content is None else {"Content-Type": "application/json"}
    pairs = list((query or {}).items())
    return make_call(
        method,
        path,
        _value,
        cast("PostOptions", options),
        query=pairs,
        headers=headers,
        content=content,
        makes_key=method == "POST",
    )


def _value(response: RawResponse[Any]) -> Any:
    if not is_json(response):
        return response.content or None
    try:
        return json.loads(response.content)
    except ValueError:
        raise InvalidResponseError(response, "the response is not JSON") from None
