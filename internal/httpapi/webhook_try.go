package httpapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/penstock-dev/penstock"
)

// triedWebhook returns the webhook of the path if the caller may try it.
func (a *API) triedWebhook(c *call) (penstock.Webhook, error) {
	if a.options.Webhooks == nil {
		return penstock.Webhook{}, penstock.NotFound("webhook", c.param("wuid"))
	}
	return a.svc.Webhooks.Read(c.ctx(), c.principal, c.param("uid"), c.param("wuid"))
}

// sendTestDelivery sends a delivery as the sender would. A repeated request with its idempotency key
// is at most a duplicate.
func (a *API) sendTestDelivery(c *call) error {
	var req penstock.TestDelivery
	payload, err := c.decodeWithPayload(&req)
	if err != nil {
		return err
	}
	req.Payload = json.RawMessage(payload)
	hook, err := a.triedWebhook(c)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(hook.UID + cmp.Or(c.r.Header.Get("Idempotency-Key"), penstock.NewID())))
	id, err := a.options.Webhooks.SendTest(c.ctx(), hook, req, "test-"+hex.EncodeToString(sum[:16]), c.peer.addr)
	if err != nil {
		return err
	}
	delivery, err := a.svc.Deliveries.Tested(c.ctx(), c.principal, c.param("uid"), c.param("wuid"), id)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, delivery)
}

func (a *API) verifyWebhookRequest(c *call) error {
	var req penstock.WebhookVerification
	if err := c.decode(&req); err != nil {
		return err
	}
	hook, err := a.triedWebhook(c)
	if err != nil {
		return err
	}
	verified, err := a.options.Webhooks.Explain(c.ctx(), hook, req)
	if err != nil {
		return err
	}
	if verified, err = a.svc.Deliveries.Explained(c.ctx(), c.principal, verified); err != nil {
		return err
	}
	return c.respond(http.StatusOK, verified)
}
