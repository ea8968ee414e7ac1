"""What a client is for, with a real server."""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

import pytest

from conftest import Server
from penstock import (
    AsyncPenstock,
    BadRequestError,
    NotFoundError,
    Penstock,
    RawResponse,
    UnprocessableEntityError,
    WaitTimeoutError,
    types,
)

OFFLINE = "demo/offline"


def test_a_run_from_beginning_to_end(client: Penstock) -> None:
    created = client.runs.create(
        prompt="demo: say hello", config={"model_id": OFFLINE}, metadata={"ticket": "OPS-1"}
    )
    run = client.runs.wait(created.run_id, timeout=240)
    assert run.state == "SUCCEEDED"
    assert run.created_at.tzinfo is not None
    assert run.metadata == {"ticket": "OPS-1"}
    client.runs.follow_up(run.run_id, message="demo: say again")
    assert client.runs.wait(run.run_id, timeout=240).execution_id == 2
    conversation = client.runs.conversation(run.run_id)
    said = [
        block.text
        for step in conversation.steps
        for message in step.messages
        for block in message.content
        if isinstance(block, types.TextBlock)
    ]
    assert any("hello" in text for text in said)
    assert client.runs.timeline(run.run_id).events[0].event_type == "run_created"
    # A configuration from a response is valid for the next run.
    assert run.agent_config is not None
    again = client.runs.create(prompt="demo: say hi", config=run.agent_config)
    assert again.run_id != run.run_id


def test_attempts_are_compared(client: Penstock) -> None:
    created = client.runs.create(
        prompt="demo: say hello",
        config={"model_id": OFFLINE},
        configs=[{"name": "a"}, {"name": "b"}],
    )
    assert created.fork_group is not None
    assert created.runs is not None
    ids = [run.run_id for run in created.runs]
    assert ids[0] == created.run_id
    names = []
    for run_id in ids:
        run = client.runs.wait(run_id, timeout=240)
        assert run.state == "SUCCEEDED"
        assert run.agent_config is not None
        names.append(run.agent_config.name)
    assert names == ["a", "b"]
    assert [run.run_id for run in client.runs.compare(created.fork_group).runs] == ids
    with pytest.raises(BadRequestError, match="/attempts"):
        client.runs.create(prompt="demo: say hello", attempts=11)


def test_cancel_gives_the_run_s_id(client: Penstock) -> None:
    run = client.runs.create(prompt="demo: ask Which branch?", config={"model_id": OFFLINE})
    assert client.runs.wait(run.run_id, until_blocked=True, timeout=240).state == "BLOCKED"
    with pytest.raises(WaitTimeoutError) as caught:
        client.runs.wait(run.run_id, timeout=0.05)
    assert isinstance(caught.value, TimeoutError)
    assert client.runs.cancel(run.run_id) == run.run_id
    assert client.runs.wait(run.run_id).state == "CANCELLED"


def test_wait_goes_on_after_an_answered_question(client: Penstock) -> None:
    run = client.runs.create(prompt="demo: ask Which branch?", config={"model_id": OFFLINE})
    client.runs.wait(run.run_id, until_blocked=True, timeout=240)
    client.runs.follow_up(run.run_id, message="main")
    # The old question is in the log still, and is not taken for a new one.
    assert client.runs.wait(run.run_id, until_blocked=True, timeout=240).state == "SUCCEEDED"


def test_artifacts_and_downloads(client: Penstock) -> None:
    run = client.runs.create(prompt="demo: say hi", config={"model_id": OFFLINE})
    client.runs.wait(run.run_id, timeout=240)
    item = client.runs.add_artifact(
        run.run_id, file=b"\x00 bytes", filename="a.bin", mime_type="application/x-test"
    )
    assert isinstance(item, types.FileArtifact)
    assert item.data.mime_type == "application/x-test"
    assert client.artifacts.download(item.data.artifact_uid) == b"\x00 bytes"
    artifact = client.artifacts.get(item.data.artifact_uid)
    assert isinstance(artifact, types.FileArtifactResponse)
    token = artifact.data.download_url.rpartition("/")[2]
    assert client.downloads.get(token) == b"\x00 bytes"
    url = "https://github.com/acme/app/pull/77"
    client.runs.add_artifact(
        run.run_id, artifact_type="PULL_REQUEST", data={"branch": "fix", "url": url}
    )
    assert client.runs.find_by_external_reference(url=url).run_id == run.run_id
    assert b"\n" in client.runs.transcript(run.run_id)


def test_attachments_may_be_bytes(client: Penstock) -> None:
    data = bytes(range(256))
    run = client.runs.create(
        prompt="demo: say hi",
        attachments=[{"file_name": "a.bin", "mime_type": "application/x-test", "data": data}],
    )
    (attachment,) = client.runs.handoff_attachments(run.run_id).attachments
    assert client.downloads.get(attachment.download_url.rpartition("/")[2]) == data


def test_an_interrupted_run_goes_on_with_an_uploaded_file(client: Penstock) -> None:
    run = client.runs.create(prompt="demo: run sleep 600", config={"model_id": OFFLINE})
    with client.runs.events(run.run_id) as events:
        for happened in events:
            if isinstance(happened, types.RunStateEvent) and happened.data.state == "INPROGRESS":
                break
    assert client.runs.interrupt(run.run_id).run_id is None
    conversation = client.runs.get(run.run_id).conversation_id
    assert conversation is not None
    prepared = client.conversations.prepare_attachments(
        conversation, files=[{"filename": "a.txt", "mime_type": "text/plain"}]
    )
    (slot,) = prepared.attachments
    show: Any = {"message": "demo: run cat .penstock/attachments/b.txt"}
    show["attachments"] = [{"attachment_id": slot.attachment_id, "file_name": "b.txt"}]
    with pytest.raises(UnprocessableEntityError) as caught:
        client.conversations.follow_up(conversation, **show)
    assert caught.value.code == "operation_not_supported"
    uploaded = client.uploads.put(slot.upload_url.rpartition("/")[2], content=b"what b says")
    assert uploaded.size_bytes == 11
    response = client.conversations.follow_up(conversation, **show)
    assert (response.run_id, response.outcome) == (run.run_id, "live_session")
    assert client.runs.wait(run.run_id, timeout=240).state == "SUCCEEDED"
    assert b"what b says" in client.runs.transcript(run.run_id)
    assert any(e.event_type == "turn_interrupted" for e in client.runs.timeline(run.run_id).events)
    with pytest.raises(BadRequestError, match="already ended"):
        client.conversations.interrupt(conversation)


def test_pages(client: Penstock) -> None:
    label = str(uuid4())
    ids = {
        client.runs.create(prompt="demo: say hi", metadata={"test": label}).run_id for _ in range(5)
    }
    first = client.runs.list(limit=2, sort_by="created_at", metadata={"test": label})
    assert len(first.items) == 2
    assert first.has_next_page
    assert {run.run_id for run in first} == ids
    assert [len(page.items) for page in first.pages()] == [2, 2, 1]
    last = first.next_page().next_page()
    assert not last.has_next_page
    with pytest.raises(ValueError, match="last page"):
        last.next_page()
    since = datetime(2020, 1, 1, tzinfo=timezone.utc)
    assert len(client.runs.list(created_after=since, metadata={"test": label}).items) == 5


def test_pages_that_end_early(client: Penstock) -> None:
    label = str(uuid4())
    large: Any = {"worker_host": "nowhere", "env": {"A": "x" * 120_000, "B": "x" * 120_000}}
    ids = [
        client.runs.create(prompt="x", config=large, metadata={"test": label}).run_id
        for _ in range(20)
    ]
    pages = list(client.runs.list(limit=500, metadata={"test": label}).pages())
    assert len(pages) == 2
    assert {run.run_id for page in pages for run in page.items} == set(ids)
    for run_id in ids:
        client.runs.cancel(run_id)


@pytest.mark.anyio
async def test_async_pages(aclient: AsyncPenstock) -> None:
    label = str(uuid4())
    for _ in range(3):
        await aclient.runs.create(prompt="demo: say hi", metadata={"test": label})
    pages = aclient.runs.list(limit=2, sort_by="created_at", metadata={"test": label})
    assert len([run async for run in pages]) == 3
    first = await pages
    assert len(first.items) == 2
    assert [len(page.items) async for page in pages.pages()] == [2, 1]
    assert not (await first.next_page()).has_next_page


@pytest.mark.anyio
async def test_async_run_from_beginning_to_end(aclient: AsyncPenstock) -> None:
    created = await aclient.runs.create(prompt="demo: say hello", config={"model_id": OFFLINE})
    async with aclient.runs.events(created.run_id) as events:
        names = [event.event async for event in events]
    assert names[0] == "state"
    assert names[-1] == "done"
    assert (await aclient.runs.wait(created.run_id, timeout=240)).state == "SUCCEEDED"
    blocked = await aclient.runs.create(prompt="demo: ask Which?", config={"model_id": OFFLINE})
    run = await aclient.runs.wait(blocked.run_id, until_blocked=True, timeout=240)
    assert run.state == "BLOCKED"
    with pytest.raises(WaitTimeoutError):
        await aclient.runs.wait(blocked.run_id, timeout=0.05)
    with pytest.raises(NotFoundError):
        await aclient.runs.get("nothing")
    item = await aclient.runs.add_artifact(created.run_id, file=b"x", filename="a.txt")
    assert isinstance(item, types.FileArtifact)
    assert await aclient.artifacts.download(item.data.artifact_uid) == b"x"


def test_raw_responses(client: Penstock) -> None:
    raw = client.raw(client.runs.create, prompt="demo: say hi")
    assert raw.status_code == 200
    assert raw.headers["content-type"] == "application/json"
    assert raw.request_id
    created = raw.parse()
    assert created.run_id in raw.content.decode()
    assert client.raw(client.runs.get, created.run_id).parse().run_id == created.run_id
    assert len(client.raw(client.runs.list, limit=1).parse().items) == 1
    assert client.raw(client.get, "/limits").parse()["page_size"] == 500
    secret = client.raw(client.secrets.create, name="RAW", value="x")
    assert secret.status_code == 201
    assert client.raw(client.secrets.delete, "RAW").parse() is None
    with pytest.raises(NotFoundError) as caught:
        client.raw(client.runs.get, "nothing")
    assert caught.value.response.content.startswith(b"{")
    with pytest.raises(TypeError, match="no body"):
        client.raw(client.runs.events, created.run_id)
    with pytest.raises(TypeError, match="such as"):
        client.raw(len, "nothing")


@pytest.mark.anyio
async def test_async_raw_responses(aclient: AsyncPenstock) -> None:
    raw: RawResponse[types.Me] = await aclient.raw(aclient.me.get)
    assert raw.parse().scopes == ["admin"]
    page = await aclient.raw(aclient.runs.list, limit=1)
    assert page.parse().items is not None


def test_undocumented_endpoints(client: Penstock) -> None:
    environment = client.post("/agent/environments", body={"name": "undocumented"})
    path = f"/agent/environments/{environment['uid']}"
    assert client.get("/agent/environments", query={"sort_by": "name"})["environments"]
    assert client.put(path, body={"name": "changed"})["config"]["name"] == "changed"
    assert client.delete(path) is None
    factory = client.post("/factory", body={"name": "undocumented"})
    changed = client.patch(f"/factory/{factory['uid']}", body={"description": "new"})
    assert changed["description"] == "new"
    with pytest.raises(NotFoundError):
        client.get("/nothing/here")
    for path in ("agent/runs", "", "//host/agent", "https://host/"):
        with pytest.raises(ValueError, match="slash"):
            client.get(path)


@pytest.mark.anyio
async def test_async_undocumented_endpoints(aclient: AsyncPenstock) -> None:
    environment = await aclient.post("/agent/environments", body={"name": str(uuid4())})
    path = f"/agent/environments/{environment['uid']}"
    assert (await aclient.put(path, body={"name": "changed"}))["config"]["name"] == "changed"
    assert await aclient.delete(path) is None
    factory = await aclient.post("/factory", body={"name": str(uuid4())})
    await aclient.patch(f"/factory/{factory['uid']}", body={"description": "new"})
    assert (await aclient.get("/limits"))["page_size"] == 500


def test_null_and_absent_are_told_apart(client: Penstock) -> None:
    factory = client.factories.create(name="null", description="something")
    same = client.factories.update(factory.uid, name="nil")
    assert same.description == "something"
    cleared = client.factories.update(factory.uid, description=None)
    assert "description" not in cleared.model_fields_set
    schedule = client.schedules.create(name="s", cron_schedule="@daily", prompt="p", enabled=False)
    assert schedule.last_spawn_error is None


def test_unknown_fields_and_values_are_kept() -> None:
    run = types.RunAgentResponse.model_validate(
        {"run_id": "r", "task_id": "r", "state": "RESTING", "mood": {"good": True}}
    )
    assert run.state == "RESTING"
    assert run.model_extra == {"mood": {"good": True}}
    assert run.model_dump(exclude_unset=True)["mood"] == {"good": True}
    assert run.at_capacity is None
    assert "at_capacity" not in run.model_fields_set
    message = types.ConversationMessage.model_validate(
        {"role": "oracle", "content": [{"type": "song", "notes": 3}, {"type": "text", "text": "t"}]}
    )
    song, text = message.content
    assert isinstance(song, types.UnknownContentBlock)
    assert song.model_extra == {"notes": 3}
    assert isinstance(text, types.TextBlock)


def test_nothing_that_is_secret_is_logged(
    server: Server, client: Penstock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        key = client.keys.create(name="k", scopes=["runs:read"]).key
        client.secrets.create(name="LOGGED", value="a-value-nobody-sees")
        with pytest.raises(NotFoundError) as caught:
            client.runs.get("nothing")
    assert key
    ours = [record.getMessage() for record in caplog.records if record.name == "penstock"]
    assert "POST /keys: 201" in ours
    everything = caplog.text + repr(client) + str(caught.value) + repr(caught.value)
    for secret in (server.key, key, "a-value-nobody-sees"):
        assert secret not in everything


def test_a_secret_is_there_and_not_printed_with_what_it_belongs_to(client: Penstock) -> None:
    key = client.keys.create(name=str(uuid4()), scopes=["runs:read"])
    factory = client.factories.create(name=str(uuid4()))
    webhook = client.webhooks.create(factory.uid, name="w")
    for secret, whole in ((key.key, key), (webhook.secret, webhook)):
        assert secret
        assert secret in whole.model_dump_json()
        assert secret not in f"{whole} {whole!r}"


def test_signed_links_are_not_logged(client: Penstock, caplog: pytest.LogCaptureFixture) -> None:
    run = client.runs.create(prompt="demo: say hi")
    item = client.runs.add_artifact(run.run_id, file=b"x", filename="a.txt")
    assert isinstance(item, types.FileArtifact)
    artifact = client.artifacts.get(item.data.artifact_uid)
    assert isinstance(artifact, types.FileArtifactResponse)
    token = artifact.data.download_url.rpartition("/")[2]
    with caplog.at_level(logging.DEBUG, logger="penstock"):
        client.downloads.get(token)
        client.artifacts.download(item.data.artifact_uid)
        with pytest.raises(NotFoundError) as caught:
            client.downloads.get(token + "x")
    ours = [record.getMessage() for record in caplog.records if record.name == "penstock"]
    assert "GET /downloads/{token}: 200" in ours
    assert token not in "".join(ours) + str(caught.value)


def test_fields_that_the_server_does_not_know_are_told(
    client: Penstock, caplog: pytest.LogCaptureFixture
) -> None:
    client.runs.create(prompt="demo: say hi", extra_body={"promtp": "secret?"})
    (record,) = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert record.getMessage() == "POST /agent/runs: the server does not know /promtp"
