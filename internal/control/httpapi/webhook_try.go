package httpapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

// webhookTrials holds the handlers that try a webhook.
type webhookTrials struct {
	webhooks   *factory.Webhooks
	deliveries *factory.Deliveries
	ingress    Webhooks // nil: these routes are 404
}

// webhook returns the webhook of the path if the caller may try it.
func (h webhookTrials) webhook(c *call) (penstock.Webhook, error) {
	if h.ingress == nil {
		return penstock.Webhook{}, penstock.NotFound("webhook", c.param("wuid"))
	}
	return h.webhooks.Read(c.ctx(), c.principal, c.param("uid"), c.param("wuid"))
}

// deliver sends a delivery as the sender would. A repeated request with its idempotency key
// is at most a duplicate.
func (h webhookTrials) deliver(c *call) error {
	var req factory.TestDelivery
	payload, err := c.decodeWithPayload(&req)
	if err != nil {
		return err
	}
	req.Payload, req.PaidBy = json.RawMessage(payload), c.principal.PaidBy()
	hook, err := h.webhook(c)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(hook.UID + cmp.Or(c.r.Header.Get("Idempotency-Key"), penstock.NewID())))
	test := penstock.TestIdentity + hex.EncodeToString(sum[:16])
	if req, err = h.deliveries.TestOf(c.ctx(), hook, req, test); err != nil {
		return err
	}
	id, err := h.ingress.SendTest(c.ctx(), hook, req, test, c.peer.addr)
	if err != nil {
		return err
	}
	return c.created(h.deliveries.Tested(c.ctx(), c.principal, c.param("uid"), c.param("wuid"), id))
}

func (h webhookTrials) verify(c *call) error {
	var req factory.WebhookVerification
	if err := c.decode(&req); err != nil {
		return err
	}
	hook, err := h.webhook(c)
	if err != nil {
		return err
	}
	verified, err := h.ingress.Explain(c.ctx(), hook, req)
	if err != nil {
		return err
	}
	if verified, err = h.deliveries.Explained(c.ctx(), c.principal, verified); err != nil {
		return err
	}
	return c.respond(http.StatusOK, verified)
}
