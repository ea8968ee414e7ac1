package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
)

func (a *API) createSecret(c *call) error {
	var req penstock.SecretRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	secret, err := a.svc.Secrets.Create(c.ctx(), c.principal, req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, secret)
}

func (a *API) listSecrets(c *call) error {
	secrets, err := a.svc.Secrets.List(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.ManagedSecret{"secrets": secrets})
}

func (a *API) secret(c *call) error {
	secret, err := a.svc.Secrets.Read(c.ctx(), c.principal, c.param("name"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, secret)
}

func (a *API) setSecret(c *call) error {
	var req penstock.SecretChange
	if err := c.decode(&req); err != nil {
		return err
	}
	secret, err := a.svc.Secrets.Set(c.ctx(), c.principal, c.param("name"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, secret)
}

func (a *API) deleteSecret(c *call) error {
	if err := a.svc.Secrets.Delete(c.ctx(), c.principal, c.param("name")); err != nil {
		return err
	}
	return c.noContent()
}
