package httpapi

import (
	"net/http"

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
	budget, err := h.rules.Create(c.ctx(), c.principal, req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, budget)
}

func (h budgets) list(c *call) error {
	budgets, err := h.rules.List(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.SharedBudget{"budgets": budgets})
}

func (h budgets) read(c *call) error {
	budget, err := h.rules.Read(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, budget)
}

func (h budgets) update(c *call) error {
	var req run.SharedBudgetRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	req.Cleared = c.nulls()
	budget, err := h.rules.Update(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, budget)
}

func (h budgets) delete(c *call) error {
	if err := h.rules.Delete(c.ctx(), c.principal, c.param("uid")); err != nil {
		return err
	}
	return c.noContent()
}
