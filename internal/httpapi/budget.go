package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
)

func (a *API) createBudget(c *call) error {
	var req penstock.SharedBudgetRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	req.Cleared = c.nulls()
	budget, err := a.svc.Budgets.Create(c.ctx(), c.principal, req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, budget)
}

func (a *API) listBudgets(c *call) error {
	budgets, err := a.svc.Budgets.List(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.SharedBudget{"budgets": budgets})
}

func (a *API) budget(c *call) error {
	budget, err := a.svc.Budgets.Read(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, budget)
}

func (a *API) updateBudget(c *call) error {
	var req penstock.SharedBudgetRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	req.Cleared = c.nulls()
	budget, err := a.svc.Budgets.Update(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, budget)
}

func (a *API) deleteBudget(c *call) error {
	if err := a.svc.Budgets.Delete(c.ctx(), c.principal, c.param("uid")); err != nil {
		return err
	}
	return c.noContent()
}
