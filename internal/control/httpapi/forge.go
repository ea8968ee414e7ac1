package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
)

// forges holds the handlers of connections to forges.
type forges struct {
	rules *forge.Connections
}

func (h forges) create(c *call) error {
	var req forge.ConnectRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	connection, err := h.rules.Create(c.ctx(), c.principal, req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, connection)
}

func (h forges) list(c *call) error {
	list, err := h.rules.List(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.Forge{"forges": list})
}

func (h forges) read(c *call) error {
	connection, err := h.rules.Read(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, connection)
}

func (h forges) update(c *call) error {
	var req forge.ChangeRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	req.Cleared = c.nulls()
	connection, err := h.rules.Update(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, connection)
}

func (h forges) delete(c *call) error {
	if err := h.rules.Delete(c.ctx(), c.principal, c.param("uid")); err != nil {
		return err
	}
	return c.noContent()
}

func (h forges) check(c *call) error {
	checked, err := h.rules.Check(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, checked)
}

func (h forges) repositories(c *call) error {
	list, err := h.rules.Repositories(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, list)
}

func (h forges) rotateSecret(c *call) error {
	var req forge.SecretRequest
	if err := c.decodeAny(&req); err != nil {
		return err
	}
	return c.ok(h.rules.RotateSecret(c.ctx(), c.principal, c.param("uid"), req))
}
