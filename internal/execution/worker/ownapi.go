package worker

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// ownPrefix is the path at which a sealed run reaches the API about itself.
const ownPrefix = "/penstock"

// serveOwn forwards a request of the agent about its own run to the API, with the key of
// the execution, which the agent does not have. Everything else is 403.
func (o *outlet) serveOwn(w http.ResponseWriter, r *http.Request) {
	target, err := url.Parse(o.task.w.BaseURL)
	if err != nil {
		http.Error(w, "The worker has no address of the API.", http.StatusBadGateway)
		return
	}
	if !o.ownRoute(r) {
		http.Error(w, "A run can call only the routes of the API about itself: "+strings.Join(o.task.w.OwnRoutes, ", ")+".",
			http.StatusForbidden)
		return
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(target)
			out.Out.URL.Path = strings.TrimPrefix(out.In.URL.Path, ownPrefix)
			out.Out.URL.RawPath = ""
			out.Out.Header.Del("Cookie")
			out.Out.Header.Set("Authorization", "Bearer "+o.task.APIKey)
		},
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			o.task.log.Info("cannot reach the API for the agent", "error", err)
			http.Error(w, "The worker cannot reach the Penstock server now. Try again.", http.StatusBadGateway)
		},
	}
	proxy.ServeHTTP(w, r)
}

// ownRoute reports whether a run may make this request about itself. It rejects a path with escapes
// or empty elements, which is ambiguous.
func (o *outlet) ownRoute(r *http.Request) bool {
	path := strings.TrimPrefix(r.URL.Path, ownPrefix)
	if r.URL.RawPath != "" || strings.Contains(path, "//") {
		return false
	}
	for _, route := range o.task.w.OwnRoutes {
		method, pattern, _ := strings.Cut(route, " ")
		if r.Method == method && path == strings.Replace(pattern, "{runId}", o.task.Lease.RunID, 1) {
			return true
		}
	}
	return false
}

// ownEnvironment returns the variables with which programs of the run reach the API.
func (o *outlet) ownEnvironment() []string {
	return []string{
		"PENSTOCK_BASE_URL=" + o.origin + ownPrefix,
		// The SDKs and the command line require a key. The relay replaces it.
		"PENSTOCK_API_KEY=" + egress.Placeholder,
		"PENSTOCK_PUBLIC_URL=" + o.task.w.PublicURL,
		"PENSTOCK_RUN_ID=" + o.task.Lease.RunID,
		"PENSTOCK_CLI=" + o.exe,
	}
}
