package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
)

// keys holds the handlers of API keys.
type keys struct {
	rules *access.Keys
}

func (h keys) create(c *call) error {
	var req access.KeyRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.created(h.rules.Create(c.ctx(), c.principal, req))
}

func (h keys) list(c *call) error {
	keys, err := h.rules.List(c.ctx(), c.principal)
	return c.ok(map[string][]penstock.Key{"keys": keys}, err)
}

func (h keys) revoke(c *call) error {
	return c.done(h.rules.Revoke(c.ctx(), c.principal, c.param("uid")))
}

func (h keys) assign(c *call) error {
	var req access.KeyChange
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.ok(h.rules.Assign(c.ctx(), c.principal, c.param("uid"), req))
}

func (h keys) me(c *call) error {
	return c.respond(http.StatusOK, h.rules.Me(c.principal))
}
