package httpapi

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// budgets holds the handlers of shared budgets.
type budgets struct {
	rules *run.Budgets
}

func (h budgets) create(c *call) error {
	var req run.SharedBudgetRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	req.Cleared = c.nulls()
	return c.created(h.rules.Create(c.ctx(), c.principal, req))
}

func (h budgets) list(c *call) error {
	budgets, err := h.rules.List(c.ctx(), c.principal)
	return c.ok(map[string][]penstock.SharedBudget{"budgets": budgets}, err)
}

func (h budgets) read(c *call) error {
	return c.ok(h.rules.Read(c.ctx(), c.principal, c.param("uid")))
}

func (h budgets) update(c *call) error {
	var req run.SharedBudgetRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	req.Cleared = c.nulls()
	return c.ok(h.rules.Update(c.ctx(), c.principal, c.param("uid"), req))
}

func (h budgets) delete(c *call) error {
	return c.done(h.rules.Delete(c.ctx(), c.principal, c.param("uid")))
}
