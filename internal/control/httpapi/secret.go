package httpapi

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
)

// secrets holds the handlers of managed secrets.
type secrets struct {
	rules *access.Secrets
}

func (h secrets) create(c *call) error {
	var req access.SecretRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.created(h.rules.Create(c.ctx(), c.principal, req))
}

func (h secrets) list(c *call) error {
	secrets, err := h.rules.List(c.ctx(), c.principal)
	return c.ok(map[string][]penstock.ManagedSecret{"secrets": secrets}, err)
}

func (h secrets) read(c *call) error {
	return c.ok(h.rules.Read(c.ctx(), c.principal, c.param("name")))
}

func (h secrets) set(c *call) error {
	var req access.SecretChange
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.ok(h.rules.Set(c.ctx(), c.principal, c.param("name"), req))
}

func (h secrets) delete(c *call) error {
	return c.done(h.rules.Delete(c.ctx(), c.principal, c.param("name")))
}
