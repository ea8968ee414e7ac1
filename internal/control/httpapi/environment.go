package httpapi

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// environments holds the handlers of environments and their network policies.
type environments struct {
	rules *run.Catalog
}

func (h environments) create(c *call) error {
	var config penstock.EnvironmentConfig
	if err := c.decode(&config); err != nil {
		return err
	}
	return c.created(h.rules.CreateEnvironment(c.ctx(), c.principal, config))
}

func (h environments) list(c *call) error {
	q := c.query()
	sortBy := oneOf(q, "sort_by", "name", "last_updated")
	if q.err != nil {
		return q.err
	}
	environments, err := h.rules.ListEnvironments(c.ctx(), c.principal, sortBy)
	return c.ok(map[string][]penstock.Environment{"environments": environments}, err)
}

func (h environments) read(c *call) error {
	return c.ok(h.rules.Environment(c.ctx(), c.principal, c.param("uid")))
}

func (h environments) replace(c *call) error {
	var config penstock.EnvironmentConfig
	if err := c.decode(&config); err != nil {
		return err
	}
	return c.ok(h.rules.ReplaceEnvironment(c.ctx(), c.principal, c.param("uid"), config))
}

func (h environments) delete(c *call) error {
	return c.done(h.rules.DeleteEnvironment(c.ctx(), c.principal, c.param("uid")))
}

func (h environments) listPrebuilds(c *call) error {
	prebuilds, err := h.rules.ListPrebuilds(c.ctx(), c.principal, c.param("uid"))
	return c.ok(map[string][]penstock.PreparedWorkspace{"prebuilds": prebuilds}, err)
}

func (h environments) deletePrebuild(c *call) error {
	return c.done(h.rules.DeletePrebuild(c.ctx(), c.principal, c.param("uid"), c.param("puid")))
}

func (h environments) networkPolicy(c *call) error {
	q := c.query()
	of := run.PolicyQuery{
		Environment: q.text("environment_id"), Factory: q.text("factory_uid"), Agent: q.text("agent_uid"),
	}
	if of.Factory != "" && of.Agent != "" {
		q.badf("factory_uid", "must not be set together with agent_uid: an agent has the factory that it belongs to")
	}
	if q.err != nil {
		return q.err
	}
	return c.ok(h.rules.PolicyOf(c.ctx(), c.principal, of))
}
