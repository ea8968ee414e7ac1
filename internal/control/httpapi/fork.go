package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// forks holds the handlers of saved turns.
type forks struct {
	rules *run.Turns
}

func (h forks) checkpoints(c *call) error {
	list, err := h.rules.Checkpoints(c.ctx(), c.principal, c.param("runId"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.Checkpoint{"checkpoints": list})
}

func (h forks) fork(c *call) error {
	var req run.ForkRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	forked, err := h.rules.Fork(c.ctx(), c.principal, c.param("runId"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, forked)
}

func (h forks) rewind(c *call) error {
	var req run.RewindRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	rewound, err := h.rules.Rewind(c.ctx(), c.principal, c.param("runId"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, rewound)
}

func (h forks) compare(c *call) error {
	group, err := h.rules.CompareForks(c.ctx(), c.principal, c.param("forkGroup"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, group)
}
