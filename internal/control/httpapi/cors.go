package httpapi

import (
	"net/http"
	"slices"
)

// The headers that pages of other origins may send and read (Fetch standard, "CORS protocol").
const (
	corsMethods = "GET, POST, PUT, PATCH, DELETE"
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Mcp-Method, Mcp-Name, " +
		"Mcp-Protocol-Version, X-Penstock-Source, X-Request-Id"
	corsExposed = "Idempotent-Replayed, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, " +
		"X-Penstock-Ignored-Fields, X-Penstock-Warnings, X-Request-Id, X-Should-Retry"
)

// corsOrigins are the origins whose pages may call the API; "*": all.
type corsOrigins []string

// allow lets pages of these origins read the response. Keys are in a header, so it never allows
// credentials of the browser.
func (allowed corsOrigins) allow(c *call) {
	h := c.w.Header()
	if len(allowed) == 0 {
		return
	}
	h.Add("Vary", "Origin")
	origin := c.r.Header.Get("Origin")
	if origin == "" {
		return
	}
	if slices.Contains(allowed, "*") {
		origin = "*"
	} else if !slices.Contains(allowed, origin) {
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsExposed)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
}

// preflight responds to the preflight request of a browser.
func (c *call) preflight() bool {
	h := c.w.Header()
	if c.r.Method != http.MethodOptions || h.Get("Access-Control-Allow-Origin") == "" ||
		c.r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", "600")
	c.w.WriteHeader(http.StatusNoContent)
	return true
}
