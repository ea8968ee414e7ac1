"""Which proxy a request takes, as the environment says it.

The rules are httpx's, with two differences: an entry of NO_PROXY that httpx cannot read (a network such as fd00::/8,
an address in brackets) does not prevent a client, and a proxy that cannot be used is an error of the request
that needs it, not of a client that never does.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar
from urllib.request import getproxies

import httpx

from .errors import PenstockError

T = TypeVar("T", httpx.HTTPTransport, httpx.AsyncHTTPTransport)

DIRECT = ("all://localhost", "all://127.0.0.1", "all://[::1]")
"""Where no proxy of the environment holds: there the key would cross the network in the clear."""


class _Unusable(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Stands for a proxy that cannot be used."""

    def __init__(self, error: PenstockError) -> None:
        self.error = error

    def handle_request(self, request: httpx.Request) -> NoReturn:  # noqa: ARG002
        raise self.error

    async def handle_async_request(self, request: httpx.Request) -> NoReturn:  # noqa: ARG002
        raise self.error


def mounts(make: Callable[..., T], host: str) -> dict[str, T | _Unusable | None]:
    """The transports of httpx by URL pattern. `host` is the API's, which a network of NO_PROXY can contain."""
    found: dict[str, T | _Unusable | None] = {}
    environment = getproxies()
    skipped = [entry.strip() for entry in environment.get("no", "").split(",")]
    if "*" not in skipped:
        for scheme in ("http", "https", "all"):
            if proxy := environment.get(scheme):
                found[f"{scheme}://"] = _through(make, proxy, f"{scheme.upper()}_PROXY")
        found |= {pattern: None for entry in skipped if (pattern := _pattern(entry, host))}
    return found | dict.fromkeys(DIRECT)


def through(make: Callable[..., T], proxy: Any) -> T:
    """The transport of a proxy, or PenstockError."""
    transport = _through(make, proxy, "proxy")
    if isinstance(transport, _Unusable):
        raise transport.error
    return transport


def _through(make: Callable[..., T], proxy: Any, name: str) -> T | _Unusable:
    """The error names no URL, because that may contain a password."""
    if isinstance(proxy, str) and "://" not in proxy:
        proxy = f"http://{proxy}"
    try:
        return make(proxy=proxy)
    except ImportError:
        problem = (
            f"{name} is a SOCKS proxy, which needs another package: pip install 'httpx[socks]'"
        )
    except (httpx.InvalidURL, ValueError):
        problem = f"{name} is not the URL of a proxy such as http://proxy.example.com:3128"
    return _Unusable(PenstockError(problem))


def _pattern(entry: str, host: str) -> str | None:
    """What httpx calls an entry of NO_PROXY; None for one that does not concern this client."""
    bare = entry.strip("[]")
    try:
        network = ipaddress.ip_network(bare, strict=False)
    except ValueError:
        pattern = (
            entry
            if "://" in entry
            else f"all://{'' if entry.lower() == 'localhost' else '*'}{entry}"
        )
    else:
        address = _address(host)
        if "/" in bare:  # a pattern cannot hold a network: it counts for the API's own address
            if address is None or address.version != network.version or address not in network:
                return None
            bare = host
        pattern = f"all://[{bare}]" if network.version == 6 else f"all://{bare}"
    try:
        httpx.URL(pattern.replace("*", ""))
    except httpx.InvalidURL:
        return None
    return pattern if entry else None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
