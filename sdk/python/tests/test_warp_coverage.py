"""Nothing of the public SDK is left out: neither methods nor values of enumerations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints
from uuid import uuid4

import pytest
import yaml
from pydantic import BaseModel
from warp_platform_sdk import NotFoundError, WarpClient
from warp_platform_sdk import types as sdk
from warp_platform_sdk.types import agent, agent_list_models_response, factory
from warp_platform_sdk.types.agent import (
    artifact_item,
    conversation_step,
    run_get_harness_usage_response,
    run_get_timeline_response,
    run_list_params,
)

from conftest import ROOT
from warp_checks import OURS, mismatches

CONTRACT: dict[str, Any] = yaml.load((ROOT / "api" / "openapi.yaml").read_text(), yaml.CSafeLoader)
SCHEMAS = CONTRACT["components"]["schemas"]

# What this API does not have: work items of a factory, and addresses of a hosted service.
ABSENT: dict[str, Callable[[WarpClient], object]] = {
    "factories.tasks.cancel": lambda warp: warp.factories.tasks.cancel("x", uid="y"),
    "factories.tasks.create": lambda warp: warp.factories.tasks.create(
        "x", conversation_id="y", title="z"
    ),
    "factories.tasks.delete": lambda warp: warp.factories.tasks.delete("x", uid="y"),
    "factories.tasks.get": lambda warp: warp.factories.tasks.get("x", uid="y"),
    "factories.tasks.get_by_conversation": lambda warp: warp.factories.tasks.get_by_conversation(
        "x", conversation_id="y"
    ),
    "factories.tasks.get_by_run": lambda warp: warp.factories.tasks.get_by_run("x", run_id="y"),
    "factories.tasks.list": lambda warp: warp.factories.tasks.list("x"),
    "factories.tasks.update": lambda warp: warp.factories.tasks.update("x", uid="y", title="z"),
    "networking.get_egress_ranges": lambda warp: warp.networking.get_egress_ranges(),
}


def methods(resource: object, path: str) -> Iterator[str]:
    for name, value in inspect.getmembers(resource):
        if name.startswith(("_", "with_")):
            continue
        if inspect.ismethod(value):
            yield f"{path}.{name}"
        elif type(value).__name__.endswith("Resource"):
            yield from methods(value, f"{path}.{name}")


def test_every_method_is_driven() -> None:
    tests = [path.read_text() for path in Path(__file__).parent.glob("test_warp_*.py")]
    driven = set(re.findall(r"\bwarp\.([a-z_.]+)\(", "".join(tests)))
    client = WarpClient(api_key="x", base_url="http://127.0.0.1:1")
    every: set[str] = set()
    for resource in ("agent", "factories", "networking"):
        every |= set(methods(getattr(client, resource), resource))
    assert every - driven == set()
    assert ABSENT.keys() <= every


@pytest.mark.parametrize("name", ABSENT)
def test_what_there_is_not_is_said_as_for_any_path(warp: WarpClient, name: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        ABSENT[name](warp)
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["detail"] == "this path does not exist"


def test_the_usage_of_a_harness_is_as_the_sdk_reads_it() -> None:
    operation = CONTRACT["paths"]["/agent/runs/{runId}/harness-usage"]["get"]
    example = operation["responses"]["200"]["content"]["application/json"]["example"]
    model = agent.RunGetHarnessUsageResponse
    assert list(mismatches(model, example, "RunGetHarnessUsageResponse")) == []
    usage = model.model_validate(example).usage
    assert isinstance(usage, run_get_harness_usage_response.UsageClaudeHarnessUsageEnvelope)
    assert usage.snapshot.payload.usage
    assert usage.snapshot.payload.usage.cache_creation_input_tokens
    claude = run_get_harness_usage_response.UsageClaudeHarnessUsageEnvelopeSnapshotPayloadUsage
    codex = run_get_harness_usage_response.UsageCodexHarnessUsageEnvelopeSnapshotPayloadUsage
    known = claude.model_fields.keys() | codex.model_fields.keys()
    # The ledger does not split what went to the cache by how long it stays there.
    assert SCHEMAS["HarnessTokens"]["properties"].keys() == known - {"cache_creation"}


def of(model: type[BaseModel], field: str) -> set[str]:
    """The values that the SDK has for a field."""
    return literals(model.model_fields[field].annotation)


def sent(parameters: type, field: str) -> set[str]:
    """The values that the SDK can send for a parameter."""
    return literals(get_type_hints(parameters)[field])


def literals(kind: Any) -> set[str]:
    found: set[str] = set()
    for part in get_args(kind):
        found |= {part} if isinstance(part, str) else literals(part)
    return found


def enumeration(*path: str) -> set[str]:
    """The values that the contract has: a schema, and properties of it."""
    schema = SCHEMAS[path[0]]
    for name in path[1:]:
        schema = schema["properties"][name]
        if "$ref" in schema:
            schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    return {value for value in cast("list[str]", schema["enum"]) if value}


def query(name: str) -> set[str]:
    """The values that the contract takes for a query parameter of the list of runs."""
    parameters: list[dict[str, Any]] = CONTRACT["paths"]["/agent/runs"]["get"]["parameters"]
    (schema,) = (one["schema"] for one in parameters if one.get("name") == name)
    schema = schema.get("items", schema)
    return (
        enumeration(schema["$ref"].rpartition("/")[2]) if "$ref" in schema else set(schema["enum"])
    )


# What this server returns, and what the SDK knows of it.
RETURNED: dict[str, tuple[set[str], set[str], str]] = {
    "states": (enumeration("RunState"), literals(agent.RunState), ""),
    "sources": (enumeration("RunSourceType"), literals(agent.RunSourceType), "RunItem.source"),
    "places": (enumeration("ExecutionLocation"), of(agent.RunItem, "execution_location"), ""),
    "artifacts": (
        enumeration("ArtifactType"),
        {
            *of(artifact_item.PlanArtifact, "artifact_type"),
            *of(artifact_item.PullRequestArtifact, "artifact_type"),
            *of(artifact_item.ScreenshotArtifact, "artifact_type"),
            *of(artifact_item.FileArtifact, "artifact_type"),
            *of(artifact_item.ExternalReferenceArtifact, "artifact_type"),
        },
        "",
    ),
    "pull requests": (
        enumeration("PullRequestStatus"),
        of(artifact_item.PullRequestArtifactData, "status"),
        "",
    ),
    "categories": (
        enumeration("ActionCategory"),
        of(conversation_step.MessageContentActionContentBlock, "category"),
        "",
    ),
    "actions": (
        enumeration("ActionResultBlock", "state"),
        of(conversation_step.MessageContentActionResultContentBlock, "state"),
        "",
    ),
    "roles": (enumeration("MessageRole"), of(conversation_step.Message, "role"), ""),
    "agents": (
        enumeration("AgentResponse", "agent_type"),
        of(agent.AgentResponse, "agent_type"),
        "",
    ),
    "providers": (
        enumeration("ModelInfo", "provider"),
        of(agent_list_models_response.Model, "provider"),
        "",
    ),
    "models": (
        enumeration("ModelInfo", "disable_reason"),
        of(agent_list_models_response.Model, "disable_reason"),
        "",
    ),
    "scopes": (enumeration("Scope", "type"), of(sdk.Scope, "type"), ""),
    "actors": (enumeration("RunCreatorInfo", "type"), of(sdk.UserProfile, "type"), ""),
    "follow-ups": (
        enumeration("FollowupResponse", "outcome"),
        of(agent.RunSubmitFollowupResponse, "outcome"),
        "",
    ),
    "timeline": (
        enumeration("TimelineEvent", "event_type"),
        of(run_get_timeline_response.Event, "event_type"),
        "Event.event_type",
    ),
    "forges": (enumeration("Factory", "code_forge"), of(factory.Factory, "code_forge"), ""),
    "credentials": (
        enumeration("Factory", "credential_strategy"),
        of(factory.Factory, "credential_strategy"),
        "",
    ),
}


@pytest.mark.parametrize("name", RETURNED)
def test_values_that_are_returned(name: str) -> None:
    ours, theirs, extra = RETURNED[name]
    assert ours - theirs == OURS.get(extra, set())


# What the SDK can send, and what this server takes.
SENT: dict[str, tuple[set[str], set[str]]] = {
    "states": (sent(run_list_params.RunListParams, "state"), query("state")),
    "task states": (sent(run_list_params.RunListParams, "task_status"), query("task_status")),
    "sources": (sent(run_list_params.RunListParams, "source"), query("source")),
    "orders": (sent(run_list_params.RunListParams, "sort_by"), query("sort_by")),
    "artifacts": (sent(run_list_params.RunListParams, "artifact_type"), query("artifact_type")),
    "modes": (sent(sdk.AgentRunParams, "mode"), enumeration("RunAgentRequest", "mode")),
    "types of agents": (
        sent(agent.AgentCreateParams, "agent_type"),
        enumeration("AgentResponse", "agent_type"),
    ),
}


@pytest.mark.parametrize("name", SENT)
def test_values_that_are_sent(name: str) -> None:
    theirs, ours = SENT[name]
    assert theirs
    assert theirs - ours == set()


def test_every_value_of_a_filter_is_taken(warp: WarpClient) -> None:
    for source in sent(run_list_params.RunListParams, "source"):
        warp.agent.runs.list(source=[cast("Any", source)], name=str(uuid4()))
    for state in literals(agent.RunState):
        warp.agent.runs.list(state=[cast("Any", state)], name=str(uuid4()))


def test_every_harness_is_taken(warp: WarpClient) -> None:
    for harness in of(sdk.Harness, "type"):
        kind = cast("Any", harness)
        run = warp.agent.run(prompt="x", config={"harness": {"type": kind}, "worker_host": "none"})
        shown = warp.agent.runs.retrieve(run.run_id)
        assert shown.agent_config
        assert shown.agent_config.harness
        expected = "builtin" if harness == "oz" else harness
        assert cast("str", shown.agent_config.harness.type) == expected
        warp.agent.runs.cancel(run.run_id)


def test_codes_of_errors() -> None:
    ours = enumeration("RunStatusMessage", "error_code")
    theirs = literals(sdk.ErrorCode)
    responses = {"invalid_definition", "method_not_allowed", "payload_too_large", "rate_limited"}
    assert ours - theirs == OURS["StatusMessage.error_code"] | responses
