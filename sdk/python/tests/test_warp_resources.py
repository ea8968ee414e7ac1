"""Agents, schedules, environments, models, skills and artifacts, as the public SDK manages them."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from warp_platform_sdk import BadRequestError, NotFoundError, WarpClient

from penstock import Penstock
from warp_checks import OFFLINE, ended


def test_agents(warp: WarpClient, client: Penstock) -> None:
    for name in ("AGENT_ONE", "AGENT_TWO"):
        client.secrets.create(name=name)
    made = warp.agent.agent.create(
        name="Reviewer",
        agent_type="REVIEW",
        base_model=OFFLINE,
        credential_strategy="CREATOR",
        description="Reads code.",
        mcp_servers={"docs": {"url": "https://docs.example.com/mcp", "headers": {"X-Team": "a"}}},
        memory={"auto_memory": {"enabled": False}},
        on_behalf_of_enabled=True,
        prompt="Be brief.",
        secrets=[{"name": "AGENT_ONE"}],
        skills=["svc-platform"],
        worker_host=None,
    )
    assert (made.name, made.agent_type, made.base_model) == ("Reviewer", "REVIEW", OFFLINE)
    assert (made.prompt, made.skills) == ("Be brief.", ["svc-platform"])
    assert made.mcp_servers
    assert made.mcp_servers["docs"].url == "https://docs.example.com/mcp"
    assert not made.memory.auto_memory.enabled
    assert made.available
    assert warp.agent.agent.get(made.uid) == made
    assert made.uid in {one.uid for one in warp.agent.agent.list().agents}
    assert made.uid not in {one.uid for one in warp.agent.agent.list(factory_uid="none").agents}

    changed = warp.agent.agent.update(made.uid, secrets_append=[{"name": "AGENT_TWO"}])
    assert [one.name for one in changed.secrets] == ["AGENT_ONE", "AGENT_TWO"]
    again = warp.agent.agent.update(made.uid, secrets_append=[{"name": "AGENT_TWO"}])
    assert [one.name for one in again.secrets] == ["AGENT_ONE", "AGENT_TWO"]
    changed = warp.agent.agent.update(
        made.uid, description="", prompt=None, secrets=[], skills=[], memory={"attached_stores": []}
    )
    assert (changed.description or "", changed.prompt) == ("", "Be brief.")
    assert (changed.secrets, changed.skills) == ([], [])

    run = warp.agent.run(prompt="demo: say hi", agent_identity_uid=made.uid)
    shown = ended(warp, run.run_id)
    assert shown.executor
    assert (shown.executor.uid, shown.executor.type) == (made.uid, "service_account")
    assert run.run_id in {one.run_id for one in warp.agent.runs.list(executor=made.uid)}
    warp.agent.agent.delete(made.uid)
    with pytest.raises(NotFoundError):
        warp.agent.agent.get(made.uid)


def test_the_harness_of_an_agent(warp: WarpClient) -> None:
    made = warp.agent.agent.create(name="Claude", base_harness="claude")
    assert made.base_harness == "claude"
    assert made.harness
    assert made.harness.type == "claude"
    run = warp.agent.run(prompt="x", agent_identity_uid=made.uid)
    config = warp.agent.runs.retrieve(run.run_id).agent_config
    assert config
    assert config.harness
    assert config.harness.type == "claude"
    warp.agent.runs.cancel(run.run_id)
    changed = warp.agent.agent.update(made.uid, base_harness="oz", base_model=OFFLINE)
    run = warp.agent.run(prompt="demo: say hi", agent_identity_uid=made.uid)
    assert ended(warp, run.run_id).state == "SUCCEEDED", changed
    with pytest.raises(BadRequestError, match="/base_harness"):
        warp.agent.agent.create(name="x", base_harness="none")


def test_schedules(warp: WarpClient) -> None:
    made = warp.agent.schedules.create(
        name="nightly",
        cron_schedule="30 2 * * *",
        prompt="demo: say hi",
        enabled=False,
        mode="plan",
        agent_config={"model_id": OFFLINE},
        metadata={"a": "b"},
        team=True,
    )
    assert (made.name, made.cron_schedule, made.enabled) == ("nightly", "30 2 * * *", False)
    assert made.metadata == {"a": "b"}
    assert made.agent_config
    assert made.agent_config.api_model_id == OFFLINE
    assert mode_of(made) == "plan"
    assert mode_of(warp.agent.schedules.retrieve(made.id)) == "plan"
    assert made.id in {one.id for one in warp.agent.schedules.list().schedules}
    changed = warp.agent.schedules.update(
        made.id, name="hourly", cron_schedule="@hourly", enabled=True, prompt="demo: say more"
    )
    assert (changed.name, changed.cron_schedule, changed.enabled) == ("hourly", "@hourly", True)
    assert changed.history
    assert changed.history.next_run
    assert mode_of(changed) in {None, "normal"}
    assert not warp.agent.schedules.pause(made.id).enabled
    assert warp.agent.schedules.resume(made.id).enabled
    assert warp.agent.schedules.delete(made.id).success
    with pytest.raises(NotFoundError):
        warp.agent.schedules.retrieve(made.id)
    with pytest.raises(BadRequestError, match="/cron_schedule"):
        warp.agent.schedules.create(name="x", cron_schedule="never", prompt="x")


def mode_of(schedule: Any) -> Any:
    """Its mode: the SDK sends it, and has no field for it in what comes back."""
    return (schedule.model_extra or {}).get("mode")


def test_environments(warp: WarpClient, client: Penstock) -> None:
    made = client.environments.create(
        name="Warp app",
        docker_image="debian:12",
        github_repos=[{"owner": "acme", "repo": "app"}],
        setup_commands=["make"],
        failure_session_retention_minutes=30,
    )
    run = warp.agent.run(
        prompt="x", config={"environment_id": made.uid, "worker_host": "none"}, title="There"
    )
    (shown,) = (
        one
        for one in warp.agent.list_environments(sort_by="name", team_uid="any").environments
        if one.uid == made.uid
    )
    assert (shown.config.name, shown.config.docker_image) == ("Warp app", "debian:12")
    assert shown.config.github_repos
    assert (shown.config.github_repos[0].owner, shown.config.github_repos[0].repo) == (
        "acme",
        "app",
    )
    assert shown.config.failure_session_retention_minutes == 30
    assert shown.last_task_created
    assert (shown.last_task_created.id, shown.last_task_created.title) == (run.run_id, "There")
    assert shown.creator
    assert not shown.setup_failed
    warp.agent.runs.cancel(run.run_id)
    assert warp.agent.list_environments(sort_by="last_updated").environments


def test_models_and_skills(warp: WarpClient) -> None:
    models = warp.agent.list_models()
    assert OFFLINE in {model.id for model in models.models}
    assert models.default_model_id in {model.id for model in models.models}
    disabled = {model.provider for model in models.models if model.disable_reason}
    assert disabled <= {"OPENAI", "ANTHROPIC", "GOOGLE"}
    with pytest.deprecated_call():
        skills = warp.agent.list(  # type: ignore[deprecated]
            sort_by="last_run", refresh=True, include_malformed_skills=True
        )
    assert all(variant.id for skill in skills.agents for variant in skill.variants)
    with pytest.deprecated_call():
        none = warp.agent.list(  # type: ignore[deprecated]
            repo="acme/none", sort_by="name"
        )
    assert none.agents == []


def test_artifacts(warp: WarpClient, client: Penstock) -> None:
    created = warp.agent.run(prompt="demo: say hi", config={"model_id": OFFLINE})
    run = ended(warp, created.run_id)
    plan = client.runs.add_artifact(
        run.run_id, artifact_type="PLAN", data={"content": "# First\n", "title": "The plan"}
    )
    shot = client.runs.add_artifact(
        run.run_id,
        artifact_type="SCREENSHOT",
        file=b"\x89PNG\r\n\x1a\n",
        filename="a.png",
        mime_type="image/png",
    )
    file = client.runs.add_artifact(run.run_id, file=b"bytes", filename="a.bin", title="Bytes")
    url = f"https://github.com/acme/app/pull/{uuid4().int % 10**9}"
    client.runs.add_artifact(
        run.run_id, artifact_type="PULL_REQUEST", data={"branch": "fix", "url": url}
    )
    client.runs.add_artifact(
        run.run_id,
        artifact_type="EXTERNAL_REFERENCE",
        data={"reference_type": "ticket", "url": f"{url}#1", "title": "T", "metadata": {"a": 1}},
    )
    shown = warp.agent.runs.retrieve(run.run_id).artifacts
    assert shown
    by_type = {one.artifact_type: one for one in shown}
    assert set(by_type) == {"PLAN", "SCREENSHOT", "FILE", "PULL_REQUEST", "EXTERNAL_REFERENCE"}
    pull = by_type["PULL_REQUEST"]
    assert pull.artifact_type == "PULL_REQUEST"
    assert (pull.data.url, pull.data.branch, pull.data.status) == (url, "fix", "unknown")
    for reference in (url, f"{url}#1"):
        found = warp.agent.get_run_by_external_reference(url=reference)
        assert found.run_id == run.run_id

    got = warp.agent.get_artifact(uid_of(plan))
    assert got.artifact_type == "PLAN"
    assert (got.data.content, got.data.title) == ("# First\n", "The plan")
    got = warp.agent.get_artifact(uid_of(shot))
    assert got.artifact_type == "SCREENSHOT"
    assert got.data.content_type == "image/png"
    got = warp.agent.get_artifact(uid_of(file))
    assert got.artifact_type == "FILE"
    assert (got.data.filename, got.data.size_bytes, got.data.title) == ("a.bin", 5, "Bytes")
    assert warp.agent.download_artifact(uid_of(file)).read() == b"bytes"
    assert run.conversation_id
    screenshot = warp.agent.conversations.download_screenshot(
        uid_of(shot), conversation_id=run.conversation_id
    )
    assert screenshot.read() == b"\x89PNG\r\n\x1a\n"
    with pytest.raises(NotFoundError):
        warp.agent.conversations.download_screenshot(uid_of(shot), conversation_id=str(uuid4()))
    with pytest.raises(NotFoundError):
        warp.agent.conversations.download_screenshot(
            uid_of(file), conversation_id=run.conversation_id
        )


def uid_of(artifact: Any) -> str:
    uid = artifact.data.artifact_uid
    assert isinstance(uid, str)
    return uid
