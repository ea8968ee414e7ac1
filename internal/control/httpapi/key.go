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
	key, err := h.rules.Create(c.ctx(), c.principal, req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, key)
}

func (h keys) list(c *call) error {
	keys, err := h.rules.List(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.Key{"keys": keys})
}

func (h keys) revoke(c *call) error {
	if err := h.rules.Revoke(c.ctx(), c.principal, c.param("uid")); err != nil {
		return err
	}
	return c.noContent()
}

func (h keys) me(c *call) error {
	return c.respond(http.StatusOK, h.rules.Me(c.principal))
}
