package httpapi

import "github.com/penstock-dev/penstock/internal/control/run"

// workers holds the handlers of connected workers, and of the harnesses that they run.
type workers struct {
	rules *run.Catalog
}

func (h workers) list(c *call) error {
	workers, err := h.rules.Workers(c.ctx(), c.principal)
	return c.ok(map[string][]run.ConnectedWorker{"workers": workers}, err)
}

func (h workers) harnesses(c *call) error {
	harnesses, err := h.rules.Harnesses(c.ctx(), c.principal)
	return c.ok(map[string][]run.HarnessInfo{"harnesses": harnesses}, err)
}
