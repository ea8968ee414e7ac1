package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/signature"
)

func (a *API) createWebhook(c *call) error {
	var req penstock.WebhookRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	webhook, err := a.svc.Resources.CreateWebhook(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, webhook)
}

func (a *API) signatureSchemes(c *call) error {
	return c.respond(http.StatusOK, map[string][]signature.Preset{"signature_schemes": a.svc.Catalog.SignatureSchemes()})
}

func (a *API) listWebhooks(c *call) error {
	webhooks, err := a.svc.Webhooks.List(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.Webhook{"webhooks": webhooks})
}

func (a *API) webhook(c *call) error {
	webhook, err := a.svc.Webhooks.Read(c.ctx(), c.principal, c.param("uid"), c.param("wuid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, webhook)
}

func (a *API) updateWebhook(c *call) error {
	var req penstock.WebhookRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	webhook, err := a.svc.Resources.UpdateWebhook(c.ctx(), c.principal, c.param("uid"), c.param("wuid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, webhook)
}

func (a *API) rotateWebhookSecret(c *call) error {
	var req penstock.RotateRequest
	if err := c.decodeAny(&req); err != nil {
		return err
	}
	webhook, err := a.svc.Resources.RotateWebhookSecret(c.ctx(), c.principal, c.param("uid"), c.param("wuid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, webhook)
}

func (a *API) deleteWebhook(c *call) error {
	if err := a.svc.Resources.DeleteWebhook(c.ctx(), c.principal, c.param("uid"), c.param("wuid")); err != nil {
		return err
	}
	return c.noContent()
}
