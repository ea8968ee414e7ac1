package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
)

func (a *API) createKey(c *call) error {
	var req penstock.KeyRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	key, err := a.svc.Keys.Create(c.ctx(), c.principal, req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, key)
}

func (a *API) listKeys(c *call) error {
	keys, err := a.svc.Keys.List(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.Key{"keys": keys})
}

func (a *API) revokeKey(c *call) error {
	if err := a.svc.Keys.Revoke(c.ctx(), c.principal, c.param("uid")); err != nil {
		return err
	}
	return c.noContent()
}

func (a *API) me(c *call) error {
	return c.respond(http.StatusOK, a.svc.Keys.Me(c.principal))
}
