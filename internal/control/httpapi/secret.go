package httpapi

import (
	"net/http"

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
	secret, err := h.rules.Create(c.ctx(), c.principal, req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, secret)
}

func (h secrets) list(c *call) error {
	secrets, err := h.rules.List(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.ManagedSecret{"secrets": secrets})
}

func (h secrets) read(c *call) error {
	secret, err := h.rules.Read(c.ctx(), c.principal, c.param("name"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, secret)
}

func (h secrets) set(c *call) error {
	var req access.SecretChange
	if err := c.decode(&req); err != nil {
		return err
	}
	secret, err := h.rules.Set(c.ctx(), c.principal, c.param("name"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, secret)
}

func (h secrets) delete(c *call) error {
	if err := h.rules.Delete(c.ctx(), c.principal, c.param("name")); err != nil {
		return err
	}
	return c.noContent()
}
