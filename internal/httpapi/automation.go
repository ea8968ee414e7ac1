package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/penstock-dev/penstock"
)

func (a *API) createAutomation(c *call) error {
	var req penstock.AutomationRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	automation, err := a.svc.Resources.CreateAutomation(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, automation)
}

func (a *API) listAutomations(c *call) error {
	automations, err := a.svc.Automations.List(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.Automation{"automations": automations})
}

func (a *API) automation(c *call) error {
	automation, err := a.svc.Automations.Read(c.ctx(), c.principal, c.param("uid"), c.param("auid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, automation)
}

func (a *API) updateAutomation(c *call) error {
	var req penstock.AutomationRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	req.Cleared = c.nulls()
	automation, err := a.svc.Resources.UpdateAutomation(c.ctx(), c.principal, c.param("uid"), c.param("auid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, automation)
}

func (a *API) deleteAutomation(c *call) error {
	if err := a.svc.Resources.DeleteAutomation(c.ctx(), c.principal, c.param("uid"), c.param("auid")); err != nil {
		return err
	}
	return c.noContent()
}

func (a *API) runAutomation(c *call) error {
	source, err := c.source()
	if err != nil {
		return err
	}
	created, err := a.svc.Automations.Run(c.ctx(), c.principal, c.param("uid"), c.param("auid"), source)
	if err != nil {
		return err
	}
	c.warn(created.Warnings)
	return c.respond(http.StatusOK, created)
}

func (a *API) testFilter(c *call) error {
	var req penstock.FilterTest
	payload, err := c.decodeWithPayload(&req)
	if err != nil {
		return err
	}
	req.Payload = json.RawMessage(payload)
	result, err := a.svc.Deliveries.TestFilter(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, result)
}
