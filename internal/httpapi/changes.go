package httpapi

import "net/http"

func (a *API) runChanges(c *call) error {
	changes, err := a.svc.Files.Changes(c.ctx(), c.principal, c.param("runId"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, changes)
}

// downloadPatch sends what an agent has written, so a browser must not show it as a page of this
// origin.
func (a *API) downloadPatch(c *call) error {
	name := c.param("repository")
	patch, err := a.svc.Files.Patch(c.ctx(), c.principal, c.param("runId"), name)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Disposition", attachment(name+".diff"))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	c.write(http.StatusOK, "text/x-diff; charset=utf-8", patch)
	return nil
}
