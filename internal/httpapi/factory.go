package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
)

func (a *API) createFactory(c *call) error {
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
	factory, err := a.svc.Factories.Create(c.ctx(), c.principal, penstock.FactoryRequest{
		Name: req.Name, Alias: req.Alias, Description: req.Description, Files: req.Files, Repository: req.Repository,
	})
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, factory)
}

func (a *API) listFactories(c *call) error {
	q := c.query()
	fq := penstock.FactoryQuery{
		Limit: q.limit(penstock.DefaultLimit), Cursor: q.text("cursor"), Search: q.optional("search"),
	}
	if q.err != nil {
		return q.err
	}
	page, err := a.svc.Factories.List(c.ctx(), c.principal, fq)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, page)
}

func (a *API) factory(c *call) error {
	factory, err := a.svc.Factories.Read(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, factory)
}

func (a *API) updateFactory(c *call) error {
	var req penstock.FactoryRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	req.Cleared = c.nulls()
	factory, err := a.svc.Factories.Update(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, factory)
}

func (a *API) deleteFactory(c *call) error {
	if err := a.svc.Factories.Delete(c.ctx(), c.principal, c.param("uid")); err != nil {
		return err
	}
	return c.noContent()
}

func (a *API) syncFactory(c *call) error {
	factory, err := a.svc.Repositories.Sync(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, factory)
}

func (a *API) dispatchRun(c *call) error {
	var req penstock.DispatchRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	source, err := c.source()
	if err != nil {
		return err
	}
	dispatched, err := a.svc.Factories.Dispatch(c.ctx(), c.principal, c.param("uid"), req, source)
	if err != nil {
		return err
	}
	c.warn(dispatched.Warnings)
	return c.respond(http.StatusOK, dispatched)
}
