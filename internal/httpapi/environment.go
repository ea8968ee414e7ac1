package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/catalog"
)

func (a *API) createEnvironment(c *call) error {
	var config penstock.EnvironmentConfig
	if err := c.decode(&config); err != nil {
		return err
	}
	environment, err := a.svc.Catalog.CreateEnvironment(c.ctx(), c.principal, config)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, environment)
}

func (a *API) listEnvironments(c *call) error {
	q := c.query()
	sortBy := oneOf(q, "sort_by", "name", "last_updated")
	if q.err != nil {
		return q.err
	}
	environments, err := a.svc.Catalog.ListEnvironments(c.ctx(), c.principal, sortBy)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.Environment{"environments": environments})
}

func (a *API) environment(c *call) error {
	environment, err := a.svc.Catalog.Environment(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, environment)
}

func (a *API) replaceEnvironment(c *call) error {
	var config penstock.EnvironmentConfig
	if err := c.decode(&config); err != nil {
		return err
	}
	environment, err := a.svc.Catalog.ReplaceEnvironment(c.ctx(), c.principal, c.param("uid"), config)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, environment)
}

func (a *API) deleteEnvironment(c *call) error {
	if err := a.svc.Catalog.DeleteEnvironment(c.ctx(), c.principal, c.param("uid")); err != nil {
		return err
	}
	return c.noContent()
}

func (a *API) networkPolicy(c *call) error {
	q := c.query()
	of := catalog.PolicyQuery{
		Environment: q.text("environment_id"), Factory: q.text("factory_uid"), Agent: q.text("agent_uid"),
	}
	if of.Factory != "" && of.Agent != "" {
		q.badf("factory_uid", "must not be set together with agent_uid: an agent has the factory that it belongs to")
	}
	if q.err != nil {
		return q.err
	}
	policy, err := a.svc.Catalog.PolicyOf(c.ctx(), c.principal, of)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, policy)
}
