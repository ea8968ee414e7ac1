package httpapi

import "github.com/penstock-dev/penstock/internal/control/run"

// models holds the handler of models.
type models struct {
	rules *run.Catalog
}

func (h models) list(c *call) error {
	return c.ok(h.rules.Models(c.ctx(), c.principal))
}
