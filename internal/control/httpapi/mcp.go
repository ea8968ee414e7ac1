package httpapi

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factorymcp"
)

// mcpPaths are the paths of the factory MCP endpoint.
var mcpPaths = []string{"/mcp", Base + "/mcp/factory"}

// mcpEndpoint holds the handler of the factory MCP endpoint.
type mcpEndpoint struct {
	server  *factorymcp.Server
	rate    *keyRate // of calls
	origin  string   // for clients
	origins corsOrigins
}

// serve checks what the endpoint needs beyond the checks of each route, and passes the request on. The requests that
// a tool sends to the API count as requests of the key, too.
func (h mcpEndpoint) serve(c *call) error {
	if !h.fromHere(c.r.Header.Get("Origin")) {
		return penstock.Errorf(penstock.CodeNotAuthorized, "a page of another origin cannot use this endpoint")
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	for range factorymcp.Calls(body) {
		v, err := h.rate.take(c.ctx(), "mcp/"+c.principal.KeyUID)
		if err != nil {
			return err
		}
		if !v.admitted {
			return limited(v.reset, "this key made more than %d MCP calls in the last minute", h.rate.quota)
		}
	}
	h.server.ServeHTTP(c.w, c.r, c.principal.KeyUID, body)
	return nil
}

// fromHere reports whether no page of a foreign origin has sent the request (MCP 2025-11-25, "Security Warning" of
// Streamable HTTP). Programs send no Origin.
func (h mcpEndpoint) fromHere(origin string) bool {
	return origin == "" || origin == h.origin || sameLoopback(origin, h.origin) || slices.Contains(h.origins, origin) ||
		slices.Contains(h.origins, "*")
}

// sameLoopback reports whether both are addresses of one server on this machine, by any name that it has there.
func sameLoopback(a, b string) bool {
	x, errA := url.Parse(a)
	y, errB := url.Parse(b)
	if errA != nil || errB != nil || x.Scheme != y.Scheme || x.Port() != y.Port() {
		return false
	}
	loopback := func(u *url.URL) bool { return u.Hostname() == "localhost" || hostAddr(u.Hostname()).IsLoopback() }
	return loopback(x) && loopback(y)
}

// errNoMCPKey explains how to get a key, because the client of a person shows it.
func errNoMCPKey() error {
	return penstock.Errorf(
		penstock.CodeAuthenticationRequired, "this endpoint needs an API key: create one with penstock key create NAME "+
			"--scope factories:read --scope runs:read --scope runs:write, and send it as Authorization: Bearer psk_…",
	)
}

// mcpRoutes are the routes of the endpoint. Any key may list the tools, and each tool needs what its requests need.
func mcpRoutes(h *handlers) []Route {
	var list []Route
	for _, path := range mcpPaths {
		list = append(list, Route{
			Method: http.MethodPost, Pattern: path, Scope: anyKey, keyOnly: errNoMCPKey, handle: h.mcp.serve,
			limit: factorymcp.MaxBody, streamBody: true,
			Who: "MCP clients: agents that give work to factories",
		})
	}
	return list
}
