package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/signature"
)

// webhooks holds the handlers of webhooks.
type webhooks struct {
	rules     *factory.Webhooks
	resources *factory.Resources // edits
}

func (h webhooks) create(c *call) error {
	var req factory.WebhookRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.created(h.resources.CreateWebhook(c.ctx(), c.principal, c.param("uid"), req))
}

func (h webhooks) signatureSchemes(c *call) error {
	return c.respond(http.StatusOK, map[string][]signature.Preset{"signature_schemes": signature.Presets()})
}

func (h webhooks) list(c *call) error {
	webhooks, err := h.rules.List(c.ctx(), c.principal, c.param("uid"))
	return c.ok(map[string][]penstock.Webhook{"webhooks": webhooks}, err)
}

func (h webhooks) read(c *call) error {
	return c.ok(h.rules.Read(c.ctx(), c.principal, c.param("uid"), c.param("wuid")))
}

func (h webhooks) update(c *call) error {
	var req factory.WebhookRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.ok(h.resources.UpdateWebhook(c.ctx(), c.principal, c.param("uid"), c.param("wuid"), req))
}

func (h webhooks) rotateSecret(c *call) error {
	var req factory.RotateRequest
	if err := c.decodeAny(&req); err != nil {
		return err
	}
	return c.ok(h.resources.RotateWebhookSecret(c.ctx(), c.principal, c.param("uid"), c.param("wuid"), req))
}

func (h webhooks) delete(c *call) error {
	return c.done(h.resources.DeleteWebhook(c.ctx(), c.principal, c.param("uid"), c.param("wuid")))
}
