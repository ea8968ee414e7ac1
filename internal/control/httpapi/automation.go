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
	return c.created(h.resources.CreateAutomation(c.ctx(), c.principal, c.param("uid"), req))
}

func (h automations) list(c *call) error {
	automations, err := h.rules.List(c.ctx(), c.principal, c.param("uid"))
	return c.ok(map[string][]penstock.Automation{"automations": automations}, err)
}

func (h automations) read(c *call) error {
	return c.ok(h.rules.Read(c.ctx(), c.principal, c.param("uid"), c.param("auid")))
}

func (h automations) update(c *call) error {
	var req factory.AutomationRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	req.Cleared = c.nulls()
	return c.ok(h.resources.UpdateAutomation(c.ctx(), c.principal, c.param("uid"), c.param("auid"), req))
}

func (h automations) delete(c *call) error {
	return c.done(h.resources.DeleteAutomation(c.ctx(), c.principal, c.param("uid"), c.param("auid")))
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
	return c.ok(h.rules.TestFilter(c.ctx(), c.principal, c.param("uid"), req))
}
