"""The package has what the contract has, all of it, and in both clients the same."""

from __future__ import annotations

import inspect
import keyword
import re
from pathlib import Path
from typing import Any, get_type_hints

import anyio
import httpx
import pytest
import yaml
from pydantic import BaseModel
from typing_extensions import get_overloads

from conftest import ROOT
from penstock import AsyncPenstock, Penstock, RawResponse, _operations, types
from penstock._operation import POST_OPTIONS, EventOperation, Operation, PageOperation
from penstock.testing import KEY, FakeServer

CONTRACT: dict[str, Any] = yaml.load((ROOT / "api" / "openapi.yaml").read_text(), yaml.CSafeLoader)
NAMES: dict[str, Any] = yaml.safe_load((ROOT / "sdk" / "operations.yaml").read_text())
OPERATIONS: dict[str, Operation[Any]] = {
    operation.id: operation
    for operation in vars(_operations).values()
    if isinstance(operation, Operation)
}


def follow(value: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in value:
        target: Any = CONTRACT
        for part in value["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        value = target
    return value


def documented() -> dict[str, tuple[str, str, dict[str, Any], list[dict[str, Any]]]]:
    """Every operation of the contract: method, path, itself, its parameters."""
    found: dict[str, tuple[str, str, dict[str, Any], list[dict[str, Any]]]] = {}
    for path, item in CONTRACT["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                both = item.get("parameters", []) + operation.get("parameters", [])
                parameters = [follow(p) for p in both]
                found[operation["operationId"]] = (method.upper(), path, operation, parameters)
    return found


DOCUMENTED = documented()


def method_of(client: object, name: str) -> Any:
    for part in name.split("."):
        client = getattr(client, part)
    return client


def keywords_of(method: Any) -> set[str]:
    """The keywords that the type checker knows, of every overload."""
    found: set[str] = set()
    function = method.__func__
    for variant in get_overloads(function) or [function]:
        hints = get_type_hints(variant, include_extras=True)
        (unpacked,) = hints["arguments"].__args__
        found |= get_type_hints(unpacked).keys()
    return found


def test_every_operation_has_a_method() -> None:
    own = {id_ for id_, name in NAMES.items() if isinstance(name, str)}
    aliases = {
        id_ for id_, name in NAMES.items() if isinstance(name, dict) and name["same_as"] in own
    }
    assert OPERATIONS.keys() == own
    assert own | aliases == DOCUMENTED.keys()
    for id_ in own:
        assert callable(method_of(FakeServer().client(), NAMES[id_])), id_


def test_no_method_is_the_package_s_own_invention() -> None:
    client = FakeServer().client()
    found: set[str] = set()

    def walk(resource: object, prefix: str) -> None:
        for name in dir(type(resource)):
            if not name.startswith("_") and name not in dir(Penstock.__mro__[-2]):
                value = getattr(resource, name)
                if inspect.ismethod(value):
                    found.add(prefix + name)
                elif prefix.count(".") < 3:
                    walk(value, f"{prefix}{name}.")

    walk(client, "")
    extra = {"get", "post", "put", "patch", "delete", "raw", "with_options", "close", "runs.wait"}
    assert found - extra == {name for name in NAMES.values() if isinstance(name, str)}


@pytest.mark.parametrize("id_", OPERATIONS)
def test_parameters_are_those_of_the_contract(id_: str) -> None:
    method, path, operation, parameters = DOCUMENTED[id_]
    ours = OPERATIONS[id_]
    assert (ours.method, ours.path) == (method, path)
    bodies = follow(operation.get("requestBody", {})).get("content", {})
    query = [p["name"] for p in parameters if p["in"] == "query" and p.get("x-sdk", True)]
    want = {name + "_" * keyword.iskeyword(name) for name in query}
    for kind, content in bodies.items():
        # A file is sent as it is.
        fields = {"content"} if kind == "*/*" else follow(content["schema"])["properties"].keys()
        want |= fields
    if any(p["name"] == "X-Penstock-Source" for p in parameters):
        want.add("source")
    options = set(POST_OPTIONS)
    if not any(p["name"] == "Idempotency-Key" for p in parameters):
        options.remove("idempotency_key")
    for client in (FakeServer().client(), FakeServer().async_client()):
        function = method_of(client, NAMES[id_])
        assert keywords_of(function) == want | options
        names = [n for n in inspect.signature(function).parameters if n != "arguments"]
        assert len(names) == len(re.findall(r"{", path))
        assert tuple(names) == ours.path_names


@pytest.mark.parametrize("id_", OPERATIONS)
def test_both_clients_have_the_same_surface(id_: str) -> None:
    sync, other = (
        method_of(client, NAMES[id_])
        for client in (FakeServer().client(), FakeServer().async_client())
    )
    assert inspect.getdoc(sync) == inspect.getdoc(other)
    ours, theirs = inspect.signature(sync), inspect.signature(other)
    assert ours.parameters == theirs.parameters
    result = str(theirs.return_annotation).replace("AsyncPages", "Page").replace("Async", "")
    assert result == ours.return_annotation
    assert inspect.iscoroutinefunction(other) is not isinstance(
        OPERATIONS[id_], (PageOperation, EventOperation)
    )


def test_clients_and_wait_have_the_same_parameters() -> None:
    for name in (
        "__init__",
        "with_options",
        "get",
        "post",
        "put",
        "patch",
        "delete",
        "raw",
        "close",
    ):
        ours = inspect.signature(getattr(Penstock, name)).parameters
        theirs = inspect.signature(getattr(AsyncPenstock, name)).parameters
        assert ours.keys() == theirs.keys()
        for parameter in ours.keys() - {"http_client", "method"}:
            assert ours[parameter] == theirs[parameter]
    sync, other = FakeServer().client().runs.wait, FakeServer().async_client().runs.wait
    assert inspect.signature(sync) == inspect.signature(other)


def examples() -> list[tuple[str, int, str, Any]]:
    """Every example of a response in the contract: operation, status, media type, value."""
    found: list[tuple[str, int, str, Any]] = []
    for id_, (_, _, operation, _) in DOCUMENTED.items():
        for status, response in operation["responses"].items():
            for kind, content in follow(response).get("content", {}).items():
                values = [follow(e)["value"] for e in content.get("examples", {}).values()]
                values += [content["example"]] if "example" in content else []
                found += [(id_, int(status), kind, value) for value in values]
    return [e for e in found if e[0] in OPERATIONS and e[1] < 300 and e[2] == "application/json"]


@pytest.mark.parametrize(("id_", "status", "kind", "value"), examples())
def test_examples_are_read_and_nothing_is_lost(
    id_: str, status: int, kind: str, value: Any
) -> None:
    raw = RawResponse[Any](
        status, httpx.Headers({"content-type": kind}), httpx.Response(200, json=value).content
    )
    result = OPERATIONS[id_].decode(raw)
    assert plain(
        types.InterruptResponse.model_validate({"it": result}).model_dump(
            mode="json", exclude_unset=True, by_alias=True
        )["it"]
    ) == plain(value)
    assert unknown(result) == []


def plain(value: Any) -> Any:
    """Times are the same however many zeros they end in."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return re.sub(r"(\d\d:\d\d:\d\d)(?:\.(\d*?)0*)?Z$", r"\1.\2Z", value)
    return value


def unknown(value: Any) -> list[str]:
    """Fields and variants that the types do not have."""
    if isinstance(value, list):
        return [name for item in value for name in unknown(item)]
    if isinstance(value, dict):
        return [name for item in value.values() for name in unknown(item)]
    if isinstance(value, BaseModel):
        own = [type(value).__name__] if type(value).__name__.startswith("Unknown") else []
        own += [f"{type(value).__name__}.{name}" for name in value.model_extra or {}]
        return own + [
            name for field in type(value).model_fields for name in unknown(getattr(value, field))
        ]
    return []


def test_both_clients_send_the_same() -> None:
    def ask(server: FakeServer) -> FakeServer:
        server.on("GET", "/agent/runs", json={"runs": [], "page_info": {"has_next_page": False}})
        server.on("POST", "/agent/runs", json={"run_id": "r", "task_id": "r", "state": "QUEUED"})
        server.on(
            "PUT",
            "/secrets/a%2Fb",
            json={
                "name": "a/b",
                "version": 1,
                "pending": False,
                "created_at": "2026-01-01T00:00:00.000Z",
                "updated_at": "2026-01-01T00:00:00.000Z",
            },
        )
        server.on("GET", "/new", json=[1])
        return server

    sync, other = ask(FakeServer()), ask(FakeServer())
    client = sync.client()
    client.runs.list(state=["QUEUED", "BLOCKED"], metadata={"a": "b c"}, limit=5)
    client.runs.create(prompt="p", idempotency_key="k", source="CLI", extra_body={"new": 1})
    client.get("/new", query={"a": [1, 2], "b": True})

    async def main() -> None:
        client = other.async_client()
        await client.runs.list(state=["QUEUED", "BLOCKED"], metadata={"a": "b c"}, limit=5)
        await client.runs.create(
            prompt="p", idempotency_key="k", source="CLI", extra_body={"new": 1}
        )
        await client.get("/new", query={"a": [1, 2], "b": True})

    anyio.run(main)
    assert sync.requests == other.requests
    listed, created, new = sync.requests
    assert str(listed.query) == "limit=5&state=QUEUED&state=BLOCKED&metadata%5Ba%5D=b+c"
    assert created.json == {"prompt": "p", "new": 1}
    assert created.headers["x-penstock-source"] == "CLI"
    assert created.headers["idempotency-key"] == "k"
    assert created.headers["authorization"] == f"Bearer {KEY}"
    assert str(new.query) == "a=1&a=2&b=true"


def test_generated_files_are_named_as_such() -> None:
    package = Path(types.__file__).parent
    for name in ("types", "params", "_operations", "_resources", "_async_resources"):
        assert "Do not edit" in (package / f"{name}.py").read_text()[:100]
