"""Runs, as the public SDK creates, reads and lists them."""

from __future__ import annotations

import base64
import time
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest
from warp_platform_sdk import BadRequestError, NotFoundError, WarpClient
from warp_platform_sdk.types import AgentConfigSnapshotParam

from penstock import Penstock
from warp_checks import OFFLINE, ended, said


def test_a_run_from_beginning_to_end(warp: WarpClient) -> None:
    created = warp.agent.run(
        prompt="demo: say hello", config={"model_id": OFFLINE}, title="Hello", metadata={"a": "b"}
    )
    assert created.task_id == created.run_id
    run = ended(warp, created.run_id)
    assert (run.state, run.title, run.prompt) == ("SUCCEEDED", "Hello", "demo: say hello")
    assert (run.source, run.metadata) == ("API", {"a": "b"})
    assert run.started_at
    assert run.finished_at
    assert run.created_at <= run.started_at <= run.finished_at
    assert run.root_run_id == run.run_id
    assert run.execution_location == "REMOTE"
    assert run.is_run_type_cancellable
    assert run.agent_config
    assert run.agent_config.api_model_id == OFFLINE
    assert run.creator
    assert run.creator.type == "user"
    assert run.conversation_id
    conversation = warp.agent.runs.get_conversation(run.run_id)
    assert conversation.conversation_id == run.conversation_id
    assert any("hello" in text for text in said(conversation.steps))
    kinds: list[str] = [
        event.event_type for event in warp.agent.runs.get_timeline(run.run_id).events
    ]
    assert kinds[0] == "run_created"
    assert {"agent_started", "run_done", "vm_shutdown"} <= set(kinds)
    assert b"hello" in warp.agent.runs.get_transcript(run.run_id).read()
    with pytest.raises(BadRequestError):
        warp.agent.runs.cancel(run.run_id)


def test_another_agent_has_no_usage_of_a_harness(warp: WarpClient) -> None:
    run = ended(warp, warp.agent.run(prompt="demo: say x", config={"model_id": OFFLINE}).run_id)
    usage = warp.agent.runs.get_harness_usage(run.run_id)
    assert (usage.run_id, usage.conversation_id) == (run.run_id, run.conversation_id)
    assert (usage.available, usage.usage) == (False, None)


def test_actions_have_a_category_of_the_contract(warp: WarpClient) -> None:
    prompt = "demo: run echo hi\ndemo: write a.txt b\ndemo: read a.txt\ndemo: search b\ndemo: artifact a.txt"
    run = ended(warp, warp.agent.run(prompt=prompt, config={"model_id": OFFLINE}).run_id)
    steps = warp.agent.runs.get_conversation(run.run_id).steps
    blocks = [block for step in steps for message in step.messages for block in message.content]
    actions = {block.name: block.category for block in blocks if block.type == "action"}
    assert actions == {
        "run_command": "command",
        "edit_files": "files",
        "read_files": "files",
        "search_files": "search",
        "create_artifact": "documents",
    }
    assert {block.state for block in blocks if block.type == "action_result"} == {"completed"}


# What a configuration may be. Each of these runs on this server.
CONFIGS: dict[str, AgentConfigSnapshotParam] = {
    "a name and a prompt below all": {"name": "nightly", "base_prompt": "Be brief."},
    "the built-in harness": {"harness": {"type": "oz", "model_id": OFFLINE}},
    "no idle time": {"idle_timeout_minutes": 0},
    "an idle time": {"idle_timeout_minutes": 60},
    "hosted execution": {"worker_host": "warp"},
    "no credential strategy": {"credential_strategy": None},
    "a credential strategy": {"credential_strategy": "EXECUTOR"},
    "session sharing": {"session_sharing": {"public_access": "VIEWER"}},
    "memory stores": {
        "memory_stores": [{"uid": "m1", "access": "read_only", "instructions": "Read it."}]
    },
    "inference providers": {"inference_providers": {"aws": {"disabled": True, "region": "eu"}}},
    "computer use": {"computer_use_enabled": False, "computer_use_model_id": "m"},
    "secrets of a harness": {"harness_auth_secrets": {"claude_auth_secret_name": "CLAUDE"}},
    "a skill": {"skill_spec": "svc-platform"},
    "skills": {"skills": ["svc-platform", "factory-files"]},
}


@pytest.mark.parametrize("name", CONFIGS)
def test_configurations(warp: WarpClient, client: Penstock, name: str) -> None:
    config: AgentConfigSnapshotParam = {"model_id": OFFLINE, **CONFIGS[name]}
    if "harness" in config:
        del config["model_id"]
    if "harness_auth_secrets" in config:
        client.secrets.create(name="CLAUDE", value="a key of Claude")
    created = warp.agent.run(prompt="demo: say hi", config=config)
    run = ended(warp, created.run_id)
    assert run.state == "SUCCEEDED", run.status_message
    assert run.agent_config
    # What was sent is shown, under the names that were sent.
    assert holds(run.agent_config.model_dump(mode="json", by_alias=True), config)


def holds(value: Any, part: Any) -> bool:
    """Whether a value of JSON has all of another one."""
    if isinstance(part, dict):
        return all(
            holds(value.get(key), below) or (key, below) == ("type", "oz")
            for key, below in part.items()
        )
    return bool(value == part)


def test_one_of_skills_is_the_skill(warp: WarpClient) -> None:
    run = warp.agent.run(prompt="", config={"model_id": OFFLINE, "skills": ["svc-platform"]})
    shown = ended(warp, run.run_id)
    assert shown.agent_config
    assert shown.agent_config.name == "svc-platform"
    assert shown.agent_config.skill_spec == "svc-platform"
    assert shown.agent_config.skills == ["svc-platform"]
    assert shown.agent_skill
    assert shown.agent_skill.bundled_skill_id == "svc-platform"
    assert run.run_id in {one.run_id for one in warp.agent.runs.list(skill="svc-platform")}


def test_secrets_by_name(warp: WarpClient, client: Penstock) -> None:
    client.secrets.create(name="DEPLOY_TOKEN", value="t0ps3cret")
    run = warp.agent.run(
        prompt="demo: run echo <$DEPLOY_TOKEN>",
        config={"model_id": OFFLINE, "secrets": [{"name": "DEPLOY_TOKEN"}]},
    )
    assert ended(warp, run.run_id).state == "SUCCEEDED"
    transcript = warp.agent.runs.get_transcript(run.run_id).read()
    assert b"t0ps3cret" not in transcript
    with pytest.raises(BadRequestError, match="/config/secrets/0"):
        warp.agent.run(prompt="x", config={"secrets": [{"name": "NOT_THERE"}]})


def test_a_run_goes_without_a_managed_mcp_server(warp: WarpClient) -> None:
    uid = str(uuid4())
    config: AgentConfigSnapshotParam = {
        "model_id": OFFLINE,
        "mcp_servers": {"docs": {"warp_id": uid}},
    }
    run = ended(warp, warp.agent.run(prompt="demo: say hi", config=config).run_id)
    assert run.state == "SUCCEEDED"
    assert run.agent_config
    assert run.agent_config.mcp_servers
    assert run.agent_config.mcp_servers["docs"].model_extra == {"id": uid}
    kinds: list[str] = [
        event.event_type for event in warp.agent.runs.get_timeline(run.run_id).events
    ]
    assert "mcp_server_not_used" in kinds
    with pytest.raises(BadRequestError, match="/config/mcp_servers/docs"):
        warp.agent.run(prompt="x", config={"mcp_servers": {"docs": {"warp_id": uid, "url": "x"}}})


@pytest.mark.parametrize("mode", ["normal", "plan", "orchestrate"])
def test_modes(warp: WarpClient, mode: Any) -> None:
    run = warp.agent.run(
        prompt="demo: say hi", mode=mode, interactive=False, config={"model_id": OFFLINE}
    )
    assert ended(warp, run.run_id, "BLOCKED", "SUCCEEDED").state == "SUCCEEDED"


def test_attachments(warp: WarpClient) -> None:
    data = bytes(range(256))
    run = warp.agent.run(
        prompt="demo: run sha256sum a.bin",
        config={"model_id": OFFLINE},
        attachments=[
            {
                "file_name": "a.bin",
                "mime_type": "application/x-test",
                "data": base64.b64encode(data).decode(),
            }
        ],
    )
    ended(warp, run.run_id)
    (one,) = warp.agent.runs.list_handoff_attachments(run.run_id).attachments
    assert (one.filename, one.mime_type) == ("a.bin", "application/x-test")


def test_families_and_conversations(warp: WarpClient) -> None:
    parent = warp.agent.run(prompt="demo: say hi", config={"model_id": OFFLINE}, team=False)
    ended(warp, parent.run_id)
    child = warp.agent.run(
        prompt="demo: say hi", config={"model_id": OFFLINE}, parent_run_id=parent.run_id
    )
    run = ended(warp, child.run_id)
    assert (run.parent_run_id, run.root_run_id) == (parent.run_id, parent.run_id)
    assert {one.run_id for one in warp.agent.runs.list(ancestor_run_id=parent.run_id)} == {
        child.run_id
    }
    shown = warp.agent.runs.retrieve(parent.run_id)
    assert shown.scope
    assert shown.scope.type == "User"
    assert run.conversation_id
    further = warp.agent.run(
        prompt="demo: say more", config={"model_id": OFFLINE}, conversation_id=run.conversation_id
    )
    assert ended(warp, further.run_id).conversation_id == run.conversation_id


def test_filters(warp: WarpClient, client: Penstock) -> None:
    label = {"filters": str(uuid4())}
    environment = client.environments.create(name=label["filters"])
    config: AgentConfigSnapshotParam = {
        "model_id": OFFLINE,
        "name": label["filters"],
        "environment_id": environment.uid,
        "skill_spec": "svc-platform",
    }
    before = datetime.now(timezone.utc) - timedelta(minutes=1)
    made = warp.agent.run(
        prompt="demo: write a.txt b\ndemo: artifact a.txt",
        title=f"About {label['filters']}",
        config=config,
        metadata=label,
    )
    other = warp.agent.run(prompt="demo: say hi", config={"model_id": OFFLINE})
    run = ended(warp, made.run_id)
    assert run.creator
    assert run.executor
    after = datetime.now(timezone.utc) + timedelta(minutes=1)
    nobody = str(uuid4())

    def listed(**filters: Any) -> set[str]:
        return {one.run_id for one in warp.agent.runs.list(limit=500, **filters)}

    matching: list[dict[str, Any]] = [
        {"metadata": label},
        {"name": label["filters"]},
        {"environment_id": environment.uid},
        {"q": label["filters"]},
        {"model_id": OFFLINE},
        {"creator": run.creator.uid},
        {"executor": run.executor.uid},
        {"execution_location": "REMOTE"},
        {"created_after": before, "created_before": after},
        {"updated_after": before},
        {"skill": "svc-platform"},
        {"skill_spec": "svc-platform"},
        {"source": ["API"]},
        {"source": ["CLI", "API", "CUSTOM_WEBHOOK"]},
        {"state": ["SUCCEEDED"]},
        {"state": ["QUEUED", "SUCCEEDED"]},
        {"task_status": ["complete"]},
        {"task_status": ["failed", "complete"]},
        {"artifact_type": "FILE"},
        {"factory_only": False},
        {"sort_by": "agent", "sort_order": "asc"},
    ]
    deadline = time.monotonic() + 240
    while made.run_id not in listed(q=label["filters"]):  # the search has a run a little later
        assert time.monotonic() < deadline
        time.sleep(0.02)
    for filters in matching:
        assert made.run_id in listed(**filters), filters
    missing: list[dict[str, Any]] = [
        {"metadata": {"filters": nobody}},
        {"name": nobody},
        {"environment_id": "empty-environment"},
        {"q": nobody},
        {"model_id": nobody},
        {"execution_location": "LOCAL"},
        {"created_after": after},
        {"created_before": before},
        {"updated_after": after},
        {"skill": "factory-files"},
        {"source": ["CLI", "CUSTOM_WEBHOOK"]},
        {"state": ["QUEUED", "FAILED"]},
        {"task_status": ["failed", "running", "blocked", "cancelled"]},
        {"artifact_type": "SCREENSHOT"},
        {"ancestor_run_id": made.run_id},
        {"automation_id": nobody},
        {"schedule_id": nobody},
        {"factory_uid": nobody},
        {"factory_uid": [nobody, str(uuid4())]},
        {"factory_only": True},
    ]
    for filters in missing:
        assert made.run_id not in listed(**filters), filters
    assert other.run_id in listed(environment_id="empty-environment")
    refused: list[dict[str, Any]] = [
        {"limit": 0},
        {"state": ["NONE"]},
        {"cursor": "x"},
        {"sort_by": "size"},
    ]
    for filters in refused:
        with pytest.raises(BadRequestError):
            warp.agent.runs.list(**filters)


def test_pages(warp: WarpClient) -> None:
    label = {"pages": str(uuid4())}
    made = [warp.agent.run(prompt="demo: say hi", metadata=label).run_id for _ in range(5)]
    first = warp.agent.runs.list(
        limit=2, metadata=label, sort_by="created_at", sort_order="asc", team_uid="any"
    )
    assert len(first.runs) == 2
    assert [run.run_id for run in first] == made
    assert [len(page.runs) for page in first.iter_pages()] == [2, 2, 1]


def test_errors(warp: WarpClient) -> None:
    with pytest.raises(NotFoundError) as caught:
        warp.agent.runs.retrieve(str(uuid4()))
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["type"].endswith("/docs/errors/resource_not_found")
    with pytest.raises(BadRequestError, match="/prompt"):
        warp.agent.run()
    with pytest.raises(NotFoundError):
        warp.agent.get_run_by_external_reference(url="https://example.com/none")
