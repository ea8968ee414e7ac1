package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock/internal/control/run"
)

// workers holds the handlers of connected workers, and of the harnesses that they run.
type workers struct {
	rules *run.Catalog
}

func (h workers) list(c *call) error {
	workers, err := h.rules.Workers(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]run.ConnectedWorker{"workers": workers})
}

func (h workers) harnesses(c *call) error {
	harnesses, err := h.rules.Harnesses(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]run.HarnessInfo{"harnesses": harnesses})
}
