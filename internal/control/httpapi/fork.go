package httpapi

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// forks holds the handlers of saved turns.
type forks struct {
	rules *run.Turns
}

func (h forks) checkpoints(c *call) error {
	list, err := h.rules.Checkpoints(c.ctx(), c.principal, c.param("runId"))
	return c.ok(map[string][]penstock.Checkpoint{"checkpoints": list}, err)
}

func (h forks) fork(c *call) error {
	var req run.ForkRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.ok(h.rules.Fork(c.ctx(), c.principal, c.param("runId"), req))
}

func (h forks) rewind(c *call) error {
	var req run.RewindRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.ok(h.rules.Rewind(c.ctx(), c.principal, c.param("runId"), req))
}

func (h forks) compare(c *call) error {
	return c.ok(h.rules.CompareForks(c.ctx(), c.principal, c.param("forkGroup")))
}
