"""The public SDK of this API, with every response checked against the types that it declares.

An existing client reads what its types promise. The SDK builds its objects from whatever it gets,
so [checked] looks at the response itself: required fields, types, and values of enumerations.
"""

from __future__ import annotations

import inspect
import time
import types
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import httpx
from pydantic import BaseModel
from warp_platform_sdk import Omit, WarpClient
from warp_platform_sdk.types.agent import ConversationStep, RunItem

# What this API's contract has and the SDK's enumerations lack, by model and field.
OURS: dict[str, set[str]] = {
    "Harness.type": {"builtin", "opencode", "command"},
    "RunItem.source": {"WEBHOOK"},
    "StatusMessage.error_code": {
        "agent_did_nothing",
        "agent_process_failed",
        "infrastructure_timeout",
        "unpriced_model",
    },
    "Event.event_type": {
        "run_created",
        "run_claimed",
        "run_done",
        "run_blocked",
        "run_cancelled",
        "run_failed",
        "run_errored",
        "followup_received",
        "followup_delivered",
        "followup_undelivered",
        "interrupt_requested",
        "stall_ended",
        "turn_interrupted",
        "run_stalled",
        "sandbox_verified",
        "setup_step",
        "changes_saved",
        "image_not_used",
        "unborn_branch",
        "mcp_server_failed",
        "skill_note",
        "image_ready",
        "run_requeued",
        "workspace_ready",
        "push_accepted",
        "push_refused",
        "output_declared",
        "output_held",
        "output_approved",
        "output_waiting",
        "output_done",
        "output_failed",
        "output_discarded",
        "workspace_restored",
        "workspace_not_restored",
        "checkpoint_skipped",
        "checks_failed",
        "status_not_shown",
        "rewound",
        "workspace_reused",
        "any_worker",
        "mcp_server_not_used",
        "network_denied",
        "pod_created",
        "pod_lost",
        "pod_started",
        "pod_waiting",
        "budget_threshold",
    },
}

OFFLINE = "demo/offline"
ENDS = {"SUCCEEDED", "FAILED", "ERROR", "CANCELLED"}


class Checked:
    """A client, or one of its resources, whose methods check what they return."""

    def __init__(self, target: object, responses: list[httpx.Response]) -> None:
        self._target = target
        self._responses = responses

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if type(value).__name__.endswith("Resource"):
            return Checked(value, self._responses)
        if not inspect.ismethod(value):
            return value

        def call(*args: Any, **options: Any) -> Any:
            result = value(*args, **options)
            returns = get_type_hints(value)["return"]
            if isinstance(returns, type) and issubclass(returns, BaseModel):
                found = list(mismatches(returns, self._responses[-1].json(), returns.__name__))
                assert not found, "\n".join(found)
            return result

        return call


def mismatches(kind: Any, value: Any, path: str) -> Iterator[str]:
    """Where a value of JSON is not what a type of the SDK declares."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    origin = get_origin(kind)
    if inspect.isclass(kind) and issubclass(kind, BaseModel):
        yield from in_model(kind, value, path)
    elif origin in {Union, types.UnionType}:
        tries = [list(mismatches(one, value, path)) for one in get_args(kind)]
        yield from min(tries, key=len)
    elif path == "AgentConfigSnapshot.secrets":
        yield from mismatches(list[str], value, "secrets of a configuration")
    elif origin is list and isinstance(value, list):
        for number, item in enumerate(value):
            yield from mismatches(get_args(kind)[0], item, f"{path}[{number}]")
    elif origin is dict and isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield from mismatches(get_args(kind)[1], item, f"{path}[{key}]")
    elif not is_plain(kind, value, path):
        yield f"{path} is {value!r}, not {kind}"


def in_model(kind: type[BaseModel], value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path} is {value!r}, not a {kind.__name__}"
        return
    fields = cast("dict[str, Any]", value)
    for name, field in kind.model_fields.items():
        key = field.alias or name
        if key in fields:
            yield from mismatches(field.annotation, fields[key], f"{kind.__name__}.{key}")
        elif field.is_required() and type(None) not in get_args(field.annotation):
            yield f"{path} has no {key}"


def is_plain(kind: Any, value: Any, path: str) -> bool:
    if get_origin(kind) is Literal:
        ours = OURS.get(path.split("[", maxsplit=1)[0], set())
        return value in get_args(kind) or value in ours
    if kind in {Any, object}:
        return True
    if kind is datetime:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, get_origin(kind) or kind)


@contextmanager
def checked(
    url: str, key: str, headers: dict[str, str | Omit] | None = None
) -> Generator[WarpClient]:
    """A client of a server whose methods fail where a response is not what they promise."""
    responses: list[httpx.Response] = []
    http = httpx.Client(
        trust_env=False, follow_redirects=True, event_hooks={"response": [responses.append]}
    )
    options: Any = {"default_headers": headers, "http_client": http, "max_retries": 0}
    with WarpClient(api_key=key, base_url=url, **options) as client:
        yield cast("WarpClient", Checked(client, responses))


def ended(warp: WarpClient, run_id: str, *states: str) -> RunItem:
    """The run, once it is in one of the states, or over."""
    deadline = time.monotonic() + 240
    while True:
        run = warp.agent.runs.retrieve(run_id)
        if run.state in (states or ENDS):
            return run
        assert time.monotonic() < deadline, f"the run is {run.state}: {run.status_message}"
        time.sleep(0.02)


def said(steps: Iterable[ConversationStep]) -> list[str]:
    """The texts of a conversation."""
    return [
        block.text
        for step in steps
        for message in step.messages
        for block in message.content
        if block.type == "text"
    ]
