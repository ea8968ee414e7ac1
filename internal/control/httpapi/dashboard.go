package httpapi

import (
	"io"
	"net/http"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/web"
)

// dashboard matches every path without a route of its own: pages and files of the dashboard.
const dashboard = "/{page...}"

// site holds the handlers of the dashboard.
type site struct {
	files   http.Handler
	origin  string
	noRoute func(*call) error // responds where the dashboard has nothing
}

// wantsPage reports whether a browser asks for a page. Other programs get an error in JSON for a
// wrong address.
func (c *call) wantsPage() bool {
	return strings.Contains(c.r.Header.Get("Accept"), "text/html")
}

// serve serves the files of the dashboard, and its page at every other address.
func (h site) serve(c *call) error {
	path := c.r.URL.Path
	if strings.HasPrefix(path, web.Assets) {
		return h.send(c)
	}
	if !c.wantsPage() || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/webhooks/") {
		return h.noRoute(c)
	}
	return h.send(c)
}

func (h site) send(c *call) error {
	delete(c.w.Header(), "Cache-Control") // the site sets this header for each of its files
	h.files.ServeHTTP(c.w, c.r)
	return nil
}

// front serves the root path: the dashboard to a browser, and a short description to other
// programs.
func (h site) front(c *call) error {
	if c.wantsPage() {
		return h.send(c)
	}
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(
		c.w,
		"This is Penstock, a control plane for coding-agent runs.\n\nThe API is at "+h.origin+Base+" and described at "+
			h.origin+"/docs.\n",
	)
	return nil
}

// run serves the session_link of a run: its page to a browser, and a hint to other programs. It
// needs no key and shows nothing about the run.
func (h site) run(c *call) error {
	id := c.param("runId")
	if c.wantsPage() {
		return h.send(c)
	}
	if !penstock.ValidID(id) {
		return penstock.NotFound("run", id)
	}
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(
		c.w,
		"Run "+id+"\n\nTo watch it:   penstock run watch "+id+"\nOver the API:  "+h.origin+Base+"/agent/runs/"+id+"/events\n",
	)
	return nil
}
