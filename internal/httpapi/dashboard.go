package httpapi

import (
	"io"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/web"
)

// dashboard matches every path without a route of its own: pages and files of the dashboard.
const dashboard = "/{page...}"

// wantsPage reports whether a browser asks for a page. Other programs get an error in JSON for a
// wrong address.
func (c *call) wantsPage() bool {
	return strings.Contains(c.r.Header.Get("Accept"), "text/html")
}

// dashboard serves the files of the dashboard, and its page at every other address.
func (a *API) dashboard(c *call) error {
	path := c.r.URL.Path
	if strings.HasPrefix(path, web.Assets) {
		return c.serveSite()
	}
	if !c.wantsPage() || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/webhooks/") {
		return a.noRoute(c)
	}
	return c.serveSite()
}

func (c *call) serveSite() error {
	h := c.w.Header()
	delete(h, "Cache-Control") // the site sets this header for each of its files
	c.api.site.ServeHTTP(c.w, c.r)
	return nil
}

// front serves the root path: the dashboard to a browser, and a short description to other
// programs.
func (a *API) front(c *call) error {
	if c.wantsPage() {
		return c.serveSite()
	}
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(
		c.w,
		"This is Penstock, a control plane for coding-agent runs.\n\nThe API is at "+a.origin+Base+" and described at "+
			a.origin+"/docs.\n",
	)
	return nil
}

// runPage serves the session_link of a run: its page to a browser, and a hint to other programs. It
// needs no key and shows nothing about the run.
func (a *API) runPage(c *call) error {
	id := c.param("runId")
	if c.wantsPage() {
		return c.serveSite()
	}
	if !penstock.ValidID(id) {
		return penstock.NotFound("run", id)
	}
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(
		c.w,
		"Run "+id+"\n\nTo watch it:   penstock run watch "+id+"\nOver the API:  "+a.origin+Base+"/agent/runs/"+id+"/events\n",
	)
	return nil
}
