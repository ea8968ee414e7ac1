package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock/internal/control/run"
)

// changes holds the handlers of what a run has changed in its repositories.
type changes struct {
	rules *run.Files
}

func (h changes) list(c *call) error {
	return c.ok(h.rules.Changes(c.ctx(), c.principal, c.param("runId")))
}

// downloadPatch sends what an agent has written, so a browser must not show it as a page of this
// origin.
func (h changes) patch(c *call) error {
	name := c.param("repository")
	patch, err := h.rules.Patch(c.ctx(), c.principal, c.param("runId"), name)
	if err != nil {
		return err
	}
	header := c.w.Header()
	header.Set("Content-Disposition", attachment(name+".diff"))
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	c.write(http.StatusOK, "text/x-diff; charset=utf-8", patch)
	return nil
}
