package httpapi

import (
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// outputs holds the handlers of what agents declare.
type outputs struct {
	rules *run.Outputs
}

func (h outputs) declare(c *call) error {
	var req run.OutputRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.created(h.rules.Declare(c.ctx(), c.principal, c.param("runId"), req))
}

func (h outputs) ofRun(c *call) error {
	return c.ok(h.rules.OfRun(c.ctx(), c.principal, c.param("runId")))
}

func (h outputs) list(c *call) error {
	q := c.query()
	state := penstock.OutputState(q.text("state"))
	if q.err != nil {
		return q.err
	}
	if !slices.Contains(penstock.OutputStates(), state) {
		return penstock.Invalid("/state", "must be one of %s", request.Enumerated(penstock.OutputStates()))
	}
	return c.ok(h.rules.In(c.ctx(), c.principal, state))
}

func (h outputs) approve(c *call) error {
	return c.ok(h.rules.Approve(c.ctx(), c.principal, c.param("uid")))
}

func (h outputs) reject(c *call) error {
	return c.ok(h.rules.Reject(c.ctx(), c.principal, c.param("uid")))
}
