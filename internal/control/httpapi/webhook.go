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
	webhook, err := h.resources.CreateWebhook(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, webhook)
}

func (h webhooks) signatureSchemes(c *call) error {
	return c.respond(http.StatusOK, map[string][]signature.Preset{"signature_schemes": signature.Presets()})
}

func (h webhooks) list(c *call) error {
	webhooks, err := h.rules.List(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.Webhook{"webhooks": webhooks})
}

func (h webhooks) read(c *call) error {
	webhook, err := h.rules.Read(c.ctx(), c.principal, c.param("uid"), c.param("wuid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, webhook)
}

func (h webhooks) update(c *call) error {
	var req factory.WebhookRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	webhook, err := h.resources.UpdateWebhook(c.ctx(), c.principal, c.param("uid"), c.param("wuid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, webhook)
}

func (h webhooks) rotateSecret(c *call) error {
	var req factory.RotateRequest
	if err := c.decodeAny(&req); err != nil {
		return err
	}
	webhook, err := h.resources.RotateWebhookSecret(c.ctx(), c.principal, c.param("uid"), c.param("wuid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, webhook)
}

func (h webhooks) delete(c *call) error {
	if err := h.resources.DeleteWebhook(c.ctx(), c.principal, c.param("uid"), c.param("wuid")); err != nil {
		return err
	}
	return c.noContent()
}
