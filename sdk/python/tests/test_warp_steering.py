"""Steering runs, as the public SDK does: follow-ups, interrupts, cancels, conversations and sessions."""

from __future__ import annotations

import json
from typing import Any, Literal, cast
from uuid import uuid4

import httpx
import pytest
from warp_platform_sdk import BadRequestError, NotFoundError, UnprocessableEntityError, WarpClient

from conftest import Server
from warp_checks import OFFLINE, ended, said

SLEEPS = "demo: run sleep 600"


def started(warp: WarpClient, prompt: str) -> tuple[str, str]:
    """The ids of a run whose agent works, and of its conversation."""
    created = warp.agent.run(prompt=prompt, config={"model_id": OFFLINE})
    run = ended(warp, created.run_id, "INPROGRESS", "BLOCKED")
    assert run.conversation_id
    return created.run_id, run.conversation_id


def moments(warp: WarpClient, run_id: str) -> list[str]:
    return [event.event_type for event in warp.agent.runs.get_timeline(run_id).events]


def prepared(server: Server, run_id: str, name: str, content: bytes) -> str:
    """The id of an attachment that was uploaded as the SDK's users do: it has no method for it."""
    response = httpx.post(
        f"{server.url}/api/v1/agent/runs/{run_id}/attachments/prepare",
        headers={"Authorization": f"Bearer {server.key}"},
        json={"files": [{"filename": name, "mime_type": "text/plain"}]},
        trust_env=False,
    )
    response.raise_for_status()
    (one,) = response.json()["attachments"]
    httpx.put(one["upload_url"], content=content, trust_env=False).raise_for_status()
    return cast("str", one["attachment_id"])


def test_a_follow_up_starts_a_run_again(warp: WarpClient) -> None:
    created = warp.agent.run(prompt="demo: say one", config={"model_id": OFFLINE})
    run = ended(warp, created.run_id)
    response = warp.agent.runs.submit_followup(run.run_id, message="demo: say two", mode="normal")
    assert response.outcome == "handoff_execution"
    assert response.followup_id
    ended(warp, run.run_id)
    texts = said(warp.agent.runs.get_conversation(run.run_id).steps)
    assert any("two" in text for text in texts)


def test_a_follow_up_waits_for_a_run_that_has_not_begun(warp: WarpClient) -> None:
    created = warp.agent.run(prompt="demo: say one", config={"worker_host": "none"})
    response = warp.agent.runs.submit_followup(created.run_id, message="more")
    assert response.outcome in {"queue_pending", "queued_prompt"}
    assert warp.agent.runs.cancel(created.run_id).strip('"') == created.run_id


def test_a_follow_up_answers_a_question(warp: WarpClient) -> None:
    run_id, conversation_id = started(warp, "demo: ask Which branch?\ndemo: say thanks")
    ended(warp, run_id, "BLOCKED")
    response = warp.agent.conversations.submit_followup(conversation_id, message="main")
    assert response.run_id == run_id
    assert ended(warp, run_id).state == "SUCCEEDED"


def test_follow_ups_bring_attachments(warp: WarpClient, server: Server) -> None:
    run_id, conversation_id = started(warp, "demo: ask What?\ndemo: run cat *.txt .*/*.txt")
    ended(warp, run_id, "BLOCKED")
    first = prepared(server, run_id, "one.txt", b"content of one")
    warp.agent.conversations.submit_followup(
        conversation_id, message="This.", attachments=[{"attachment_id": first}]
    )
    ended(warp, run_id)
    second = prepared(server, run_id, "two.txt", b"content of two")
    warp.agent.runs.submit_followup(
        run_id, attachments=[{"attachment_id": second, "file_name": "two.txt"}]
    )
    ended(warp, run_id)
    names = {one.filename for one in warp.agent.runs.list_handoff_attachments(run_id).attachments}
    assert {"one.txt", "two.txt"} <= names
    with pytest.raises(UnprocessableEntityError, match="/attachments/0"):
        warp.agent.runs.submit_followup(
            run_id, message="x", attachments=[{"attachment_id": str(uuid4())}]
        )


@pytest.mark.parametrize("by", ["run", "conversation"])
def test_an_interrupt_ends_the_turn_and_keeps_the_session(
    warp: WarpClient, by: Literal["run", "conversation"]
) -> None:
    run_id, conversation_id = started(warp, SLEEPS)
    if by == "run":
        warp.agent.runs.interrupt(run_id)
    else:
        assert warp.agent.conversations.interrupt(conversation_id).run_id == run_id
    while "turn_interrupted" not in moments(warp, run_id):
        pass
    assert warp.agent.runs.retrieve(run_id).state == "INPROGRESS"
    warp.agent.runs.submit_followup(run_id, message="demo: say again")
    assert ended(warp, run_id).state == "SUCCEEDED"
    assert warp.agent.runs.retrieve(run_id).conversation_id == conversation_id


def test_cancel(warp: WarpClient) -> None:
    run_id, _ = started(warp, SLEEPS)
    # A bare JSON string, which the SDK hands on as it is.
    assert json.loads(warp.agent.runs.cancel(run_id)) == run_id
    run = warp.agent.runs.retrieve(run_id)
    assert run.state == "CANCELLED"
    assert run.is_run_type_cancellable  # whatever its state
    kinds = [event.event_type for event in warp.agent.runs.get_timeline(run_id).events]
    assert cast("Any", "run_cancelled") in kinds
    with pytest.raises(BadRequestError):
        warp.agent.runs.interrupt(run_id)


def test_conversations_and_sessions_lead_to_each_other(warp: WarpClient) -> None:
    run_id, conversation_id = started(warp, SLEEPS)
    run = warp.agent.runs.retrieve(run_id)
    assert run.session_id
    assert run.is_sandbox_running
    assert warp.agent.conversations.check_redirect(conversation_id).session_id == run.session_id
    assert warp.agent.sessions.check_redirect(run.session_id).conversation_id is None
    warp.agent.runs.cancel(run_id)
    while warp.agent.runs.retrieve(run_id).is_sandbox_running:
        pass
    assert warp.agent.conversations.check_redirect(conversation_id).session_id is None
    there = warp.agent.sessions.check_redirect(run.session_id)
    assert there.conversation_id == conversation_id
    conversation = warp.agent.conversations.retrieve(conversation_id)
    assert conversation.conversation_id == conversation_id
    assert b"sleep 600" in warp.agent.conversations.get_transcript(conversation_id).read()
    with pytest.raises(NotFoundError):
        warp.agent.conversations.retrieve(str(uuid4()))
