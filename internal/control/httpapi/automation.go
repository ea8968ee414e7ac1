package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

// automations holds the handlers of automations.
type automations struct {
	rules     *factory.Automations
	resources *factory.Resources // edits
}

func (h automations) create(c *call) error {
	var req factory.AutomationRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	automation, err := h.resources.CreateAutomation(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, automation)
}

func (h automations) list(c *call) error {
	automations, err := h.rules.List(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.Automation{"automations": automations})
}

func (h automations) read(c *call) error {
	automation, err := h.rules.Read(c.ctx(), c.principal, c.param("uid"), c.param("auid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, automation)
}

func (h automations) update(c *call) error {
	var req factory.AutomationRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	req.Cleared = c.nulls()
	automation, err := h.resources.UpdateAutomation(c.ctx(), c.principal, c.param("uid"), c.param("auid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, automation)
}

func (h automations) delete(c *call) error {
	if err := h.resources.DeleteAutomation(c.ctx(), c.principal, c.param("uid"), c.param("auid")); err != nil {
		return err
	}
	return c.noContent()
}

func (h automations) run(c *call) error {
	source, err := c.source()
	if err != nil {
		return err
	}
	created, err := h.rules.Run(c.ctx(), c.principal, c.param("uid"), c.param("auid"), source)
	if err != nil {
		return err
	}
	c.warn(created.Warnings)
	return c.respond(http.StatusOK, created)
}

func (h deliveries) testFilter(c *call) error {
	var req factory.FilterTest
	payload, err := c.decodeWithPayload(&req)
	if err != nil {
		return err
	}
	req.Payload = json.RawMessage(payload)
	result, err := h.rules.TestFilter(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, result)
}
