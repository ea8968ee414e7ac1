package httpapi

import (
	"context"
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// limits holds the handler of the limits that clients may read.
type limits struct {
	rules       func(context.Context, penstock.Principal) map[string]any // of the layers below
	requests    int                                                      // per minute, of one key
	validations int                                                      // per minute, without a key
	version     string                                                   // of the server
}

// list adds the limits of this layer, and the version, to the limits of the rules.
func (h limits) list(c *call) error {
	limits := h.rules(c.ctx(), c.principal)
	limits["requests_per_minute"] = h.requests
	limits["validations_per_minute"] = h.validations
	limits["artifact_bytes"] = run.MaxArtifactBytes
	limits["server_version"] = h.version
	return c.respond(http.StatusOK, limits)
}
