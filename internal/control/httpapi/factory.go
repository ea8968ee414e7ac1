package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

// factories holds the handlers of factories.
type factories struct {
	rules        *factory.Factories
	repositories *factory.Repositories
}

func (h factories) create(c *call) error {
	var req struct {
		Name        *string              `json:"name"`
		Alias       *string              `json:"alias"`
		Description *string              `json:"description"`
		Files       map[string]string    `json:"files"`
		Repository  *penstock.Repository `json:"repository"`
	}
	if err := c.decode(&req); err != nil {
		return err
	}
	factory, err := h.rules.Create(c.ctx(), c.principal, factory.FactoryRequest{
		Name: req.Name, Alias: req.Alias, Description: req.Description, Files: req.Files, Repository: req.Repository,
	})
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, factory)
}

func (h factories) list(c *call) error {
	q := c.query()
	fq := penstock.FactoryQuery{
		Limit: q.limit(penstock.DefaultLimit), Cursor: q.text("cursor"), Search: q.optional("search"),
	}
	if q.err != nil {
		return q.err
	}
	return c.ok(h.rules.List(c.ctx(), c.principal, fq))
}

func (h factories) read(c *call) error {
	return c.ok(h.rules.Read(c.ctx(), c.principal, c.param("uid")))
}

func (h factories) update(c *call) error {
	var req factory.FactoryRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	req.Cleared = c.nulls()
	return c.ok(h.rules.Update(c.ctx(), c.principal, c.param("uid"), req))
}

func (h factories) delete(c *call) error {
	return c.done(h.rules.Delete(c.ctx(), c.principal, c.param("uid")))
}

func (h factories) sync(c *call) error {
	return c.ok(h.repositories.Sync(c.ctx(), c.principal, c.param("uid")))
}

func (h factories) dispatch(c *call) error {
	var req factory.DispatchRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	source, err := c.source()
	if err != nil {
		return err
	}
	dispatched, err := h.rules.Dispatch(c.ctx(), c.principal, c.param("uid"), req, source)
	if err != nil {
		return err
	}
	c.warn(dispatched.Warnings)
	return c.respond(http.StatusOK, dispatched)
}
