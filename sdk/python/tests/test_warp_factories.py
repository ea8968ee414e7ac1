"""Factories and their files, as the public SDK reads them."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest
from warp_platform_sdk import BadRequestError, NotFoundError, Omit, WarpClient

from conftest import Server
from penstock import Penstock
from warp_checks import OFFLINE, checked, ended


def files(name: str) -> dict[str, str]:
    return {
        "factory.yaml": f"""schemaVersion: v1alpha1
name: {name}
description: Sells things.
credentialStrategy: EXECUTOR
repositories:
  - {{owner: acme, name: shop}}
agentDefaults:
  model: {OFFLINE}
  workerHost: warp
""",
        "agents/lead/agent.md": "---\nagentType: FOREMAN\n---\n\nBe brief.\n",
        "agents/reviewer/agent.md": "---\nagentType: REVIEW\n---\n\nRead.\n",
    }


def test_factories(warp: WarpClient, client: Penstock) -> None:
    name = f"Shop {uuid4()}"
    made = client.factories.create(files=files(name))
    shown = warp.factories.get(made.uid)
    assert (shown.name, shown.description) == (name, "Sells things.")
    assert [(one.owner, one.repo) for one in shown.repositories] == [("acme", "shop")]
    assert shown.code_forge == "GITHUB"
    assert shown.code_forges == ["GITHUB"]
    assert shown.credential_strategy == "EXECUTOR"
    assert shown.agent_defaults.worker_host == "warp"
    assert shown.default_model == OFFLINE
    assert shown.team_uid
    found = list(warp.factories.list(search=name, limit=1, filter_team_uid=shown.team_uid))
    assert found == [shown]
    agents = warp.agent.agent.list(factory_uid=made.uid).agents
    assert {(one.name, one.agent_type) for one in agents} == {
        ("lead", "FOREMAN"),
        ("reviewer", "REVIEW"),
    }
    with pytest.raises(NotFoundError):
        warp.factories.get(str(uuid4()))


def test_all_factories_on_pages(warp: WarpClient, client: Penstock) -> None:
    word = str(uuid4())
    made = {client.factories.create(name=f"{word} {n}").uid for n in range(3)}
    first = warp.factories.list(search=word, limit=2)
    assert len(first.factories) == 2
    assert {one.uid for one in first} == made


def test_a_factory_without_repositories(warp: WarpClient, client: Penstock) -> None:
    made = client.factories.create(name=f"Empty {uuid4()}")
    shown = warp.factories.get(made.uid)
    assert (shown.repositories, shown.code_forge) == ([], "NONE")


def test_dispatch(warp: WarpClient, client: Penstock) -> None:
    made = client.factories.create(files=files(f"Desk {uuid4()}"))
    sent = warp.factories.runs.create(
        made.uid,
        prompt="demo: say hi",
        title="Look",
        ticket_ref="linear:PAY-42",
        ticket_url="https://linear.app/acme/issue/PAY-42",
    )
    assert (sent.ticket_ref, sent.foreman_agent, sent.factory_uid) == (
        "linear:PAY-42",
        "lead",
        made.uid,
    )
    assert sent.run_url
    assert sent.run_url.endswith(sent.run_id)
    run = ended(warp, sent.run_id)
    assert (run.factory_uid, run.title) == (made.uid, "Look")
    assert run.metadata
    assert (run.metadata["ticket_source"], run.metadata["ticket_id"]) == ("linear", "PAY-42")
    for factory_uid in (made.uid, [made.uid, "none"]):
        found = warp.agent.runs.list(factory_uid=factory_uid)
        assert {one.run_id for one in found} == {sent.run_id}
    assert sent.run_id in {one.run_id for one in warp.agent.runs.list(factory_only=True, limit=500)}
    adhoc = warp.factories.runs.create(made.uid, prompt="demo: say hi")
    assert adhoc.ticket_ref == f"adhoc:{adhoc.run_id}"
    with pytest.raises(BadRequestError, match="/ticket_ref"):
        warp.factories.runs.create(made.uid, prompt="x", ticket_ref="PAY-42")


def test_a_webhook_starts_a_run(warp: WarpClient, client: Penstock) -> None:
    made = client.factories.create(files=files(f"Hook {uuid4()}"))
    webhook = client.webhooks.create(made.uid, name="orders")
    automation = client.automations.create(
        made.uid,
        name="ship",
        prompt="demo: say hi",
        triggers=[
            {"provider": "webhook", "event": "received", "filter": {"webhook_ids": ["orders"]}}
        ],
    )
    response = httpx.post(
        webhook.ingress_url,
        headers={"Authorization": f"Bearer {webhook.secret}", "X-Warp-Delivery-Id": "one"},
        json={"order": 1},
        trust_env=False,
    )
    assert response.status_code == 202
    (run,) = warp.agent.runs.list(automation_id=automation.uid, source=["CUSTOM_WEBHOOK", "API"])
    assert ended(warp, run.run_id).state == "SUCCEEDED"
    assert run.trigger_url
    assert run.metadata
    assert run.metadata["automation_id"] == automation.uid


@pytest.mark.parametrize("key", ["with a key", "without a key"])
def test_files_are_validated(server: Server, key: str) -> None:
    good = [{"path": path, "content": text} for path, text in files("Shop").items()]
    bad = [*good[1:], {"path": "factory.yaml", "content": "schemaVersion: v1alpha1\nnam: x\n"}]
    headers: dict[str, str | Omit] = {} if key == "with a key" else {"Authorization": Omit()}
    with checked(f"{server.url}/api/v1", server.key, headers) as warp:
        result = warp.factories.files.validate(files=good)  # type: ignore[arg-type]
        assert (result.valid, result.diagnostics) == (True, [])
        assert result.schema_version == "v1alpha1"
        assert result.validation_scope.parser == "checked"
        result = warp.factories.files.validate(files=bad)  # type: ignore[arg-type]
        assert not result.valid
        codes = {(one.code, one.path, one.line) for one in result.diagnostics}
        assert ("FF_UNKNOWN_FIELD", "factory.yaml", 2) in codes


def test_schemas_of_files(warp: WarpClient, server: Server) -> None:
    listed = warp.factories.files.schemas.list()
    assert listed.current_version == "v1alpha1"
    (version,) = (one for one in listed.versions if one.schema_version == "v1alpha1")
    schema = warp.factories.files.schemas.retrieve(version.schema_version)
    assert schema.schema_version == "v1alpha1"
    assert httpx.get(
        f"{server.url}{httpx.URL(version.schema_url).path}", trust_env=False
    ).json() == (schema.model_dump(by_alias=True))
    for name, document in schema.documents.items():
        got = warp.factories.files.schemas.get_document(name, schema_version="v1alpha1")
        assert got == document
    with pytest.raises(NotFoundError):
        warp.factories.files.schemas.retrieve("v9")
    with pytest.raises(NotFoundError):
        warp.factories.files.schemas.get_document("none", schema_version="v1alpha1")
