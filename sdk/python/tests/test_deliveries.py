"""Deliveries of webhooks, and why they start no run."""

from __future__ import annotations

import httpx

from penstock import Penstock


def test_why_a_delivery_started_nothing(client: Penstock) -> None:
    factory = client.factories.create(name="explained").uid
    hook = client.webhooks.create(factory, name="orders")
    wanted = {"type": ["order.refunded"]}
    client.automations.create(
        factory,
        name="refund",
        prompt="Refund it.",
        triggers=[
            {
                "provider": "webhook",
                "event": "received",
                "filter": {"webhook_ids": [hook.uid], "payload": wanted},
            }
        ],
    )
    sent = httpx.post(
        hook.ingress_url,
        json={"type": "order.created"},
        headers={"Authorization": f"Bearer {hook.secret}"},
        trust_env=False,
    )
    assert sent.status_code == 202
    [delivery] = client.deliveries.list(factory, hook.uid)
    [match] = delivery.matches
    sentence = "`type` is `order.created`; expects `order.refunded`"
    assert (match.check, match.failed_at, match.operator) == ("payload", "/type", "in")
    assert (match.actual, match.expected) == (["order.created"], ["order.refunded"])
    assert match.reason == sentence
    tested = client.automations.test_filter(
        factory, filter=wanted, delivery_id=delivery.delivery_id
    )
    check = tested.checks[-1]
    assert (check.actual, check.expected, check.reason) == (
        ["order.created"],
        ["order.refunded"],
        sentence,
    )
