package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/service"
)

func (a *API) definition(c *call) error {
	files, err := a.svc.Definition(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, files)
}

func (a *API) applyDefinition(c *call) error {
	var req service.ApplyRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	applied, err := a.svc.Apply(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, applied)
}

func (a *API) validateFiles(c *call) error {
	var req struct {
		Files map[string]string `json:"files"`
	}
	if err := c.decode(&req); err != nil {
		return err
	}
	validated, err := a.svc.Validate(c.ctx(), c.principal, req.Files)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, validated)
}

func (a *API) schemaVersions(c *call) error {
	_, versions, err := a.svc.FactorySchemas()
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, versions)
}

func (a *API) schemas(c *call) error {
	text, _, err := a.svc.FactorySchemas()
	if err != nil {
		return err
	}
	c.write(http.StatusOK, "", text)
	return nil
}

func (a *API) history(c *call) error {
	q := c.query()
	limit, cursor := q.limit(penstock.DefaultLimit), q.text("cursor")
	if q.err != nil {
		return q.err
	}
	page, err := a.svc.History(c.ctx(), c.principal, c.param("uid"), limit, cursor)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, page)
}
