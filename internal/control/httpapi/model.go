package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock/internal/control/run"
)

// models holds the handler of models.
type models struct {
	rules *run.Catalog
}

func (h models) list(c *call) error {
	models, err := h.rules.Models(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, models)
}
