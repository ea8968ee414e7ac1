"""What the type checkers must accept, and what they must not. Nobody runs this; mypy and pyright read it."""

from __future__ import annotations

from typing_extensions import assert_type

from penstock import (
    AsyncPage,
    AsyncPenstock,
    EventStream,
    Page,
    Penstock,
    RawResponse,
    params,
    types,
)


def synchronous(client: Penstock, config: params.AmbientAgentConfig) -> None:
    assert_type(client.runs.create(prompt="p", config=config), types.RunAgentResponse)
    assert_type(client.runs.create(prompt="p", timeout=5, retries=0), types.RunAgentResponse)
    assert_type(client.runs.list(state=["QUEUED"], limit=5), Page[types.RunItem])
    assert_type(client.runs.list().items, list[types.RunItem])
    assert_type(client.runs.cancel("r"), str)
    assert_type(client.artifacts.download("a"), bytes)
    assert_type(client.runs.events("r"), EventStream[types.RunEvent])
    assert_type(client.raw(client.runs.get, "r"), RawResponse[types.RunItem])
    assert_type(client.runs.add_artifact("r", file=b""), types.ArtifactItem)
    for event in client.runs.events("r"):
        if isinstance(event, types.RunStateEvent):
            assert_type(event.data, types.StateChange)
    client.factories.update("f", description=None)

    client.runs.create(promt="p")  # type: ignore[call-arg]
    client.runs.create(prompt=5)  # type: ignore[arg-type]
    client.runs.create(prompt=None)  # type: ignore[arg-type]
    client.runs.create(config={"modle": "x"})  # type: ignore[arg-type]
    client.runs.list(state=["RESTING"])  # type: ignore[list-item]
    client.runs.get()  # type: ignore[call-arg]
    client.runs.get(5)  # type: ignore[arg-type]
    client.runs.get("r", idempotency_key="k")  # type: ignore[call-arg]
    client.keys.create(scopes=["runs:read"])  # type: ignore[call-arg]
    client.raw(client.runs.get, 5)  # type: ignore[arg-type]
    client.runs.gte("r")  # type: ignore[attr-defined]


async def asynchronous(client: AsyncPenstock) -> None:
    assert_type(await client.runs.create(prompt="p"), types.RunAgentResponse)
    assert_type(await client.runs.list(), AsyncPage[types.RunItem])
    async for run in client.runs.list():
        assert_type(run, types.RunItem)
    async for event in client.runs.events("r"):
        assert_type(event.event, str) if isinstance(event, types.UnknownRunEvent) else None
    assert_type(await client.raw(client.runs.get, "r"), RawResponse[types.RunItem])
    await client.runs.create(promt="p")  # type: ignore[call-arg]
