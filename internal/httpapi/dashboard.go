package httpapi

import (
	"io"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/web"
)

// dashboard is the pattern of what no other route takes: addresses of the
// dashboard's pages, which it knows itself, and files.
const dashboard = "/{page...}"

// wantsPage reports whether it is a browser that asks for a page. A program that
// got an address wrong gets an error that it can read.
func (c *call) wantsPage() bool {
	return strings.Contains(c.r.Header.Get("Accept"), "text/html")
}

// dashboard serves the dashboard: its files, and its one page at every address
// that is not another part of the server.
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
	delete(h, "Cache-Control") // the site says how long each of its files is good
	c.api.site.ServeHTTP(c.w, c.r)
	return nil
}

// front says what this is to a program that asks the bare address; a browser
// gets the dashboard.
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

// runPage is the address of a run's session_link: its page for a browser, else
// how to see it. It needs no key and says nothing of the run.
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
