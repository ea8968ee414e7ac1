package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock/internal/catalog"
)

// models has the handler of models.
type models struct {
	rules *catalog.Catalog
}

func (h models) list(c *call) error {
	models, err := h.rules.Models(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, models)
}
