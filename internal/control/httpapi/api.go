// Package httpapi is the HTTP layer. It has the routes of /api/v1, reads requests (limits, JSON,
// queries, keys, idempotency), writes responses, errors and live events, and implements both ends
// of the worker protocol over HTTP.
//
// Each request goes through serve, which has all checks in order: connection, key, rate, scope,
// idempotency, handler. A handler decodes, calls one method of the rules, and responds.
package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

// Options configures an API. Rules and PublicURL are required.
type Options struct {
	Rules     *control.Rules
	Log       *slog.Logger // nil: no log
	PublicURL string       // the address for clients, without a slash at the end
	Version   string       // of the server

	Webhooks Webhooks // tries webhooks; nil: these routes are 404

	RequestsPerMinute  int            // of one key; 0: no limit
	FailuresPerMinute  int            // requests with a bad key, of one client address; 0: no limit
	ValidatesPerMinute int            // validations of files without a key, of one client address; 0: no limit
	TrustedProxies     []netip.Prefix // proxies whose X-Forwarded-For and X-Forwarded-Proto count
	PlainNetworks      []netip.Prefix // whose clients may use plain HTTP, as those on loopback may
	NoMCP              bool           // the factory MCP endpoint is off
	CORSOrigins        []string       // origins whose pages may call the API; "*": all; empty: no origin

	TempDir        string        // for uploads in progress; default: the system's folder
	KeepAlive      time.Duration // between comments of an idle event stream; default 15 s
	StreamWrite    time.Duration // time limit for writing a batch of events; default 15 s
	RequestTimeout time.Duration // time limit of a request that is not a stream; default 30 s

	Metrics     http.Handler          // of /metrics; nil: 404
	MetricsOpen bool                  // /metrics needs no key
	Registerer  prometheus.Registerer // for the API's own metrics; nil: no metrics
	Tracer      trace.TracerProvider  // nil: requests are not traced
}

// Webhooks tries webhooks: the part of the ingress that the API needs.
type Webhooks interface {
	// SendTest sends a delivery to the webhook and returns its id in the log.
	SendTest(
		ctx context.Context, hook penstock.Webhook, req factory.TestDelivery, id string, client netip.Addr,
	) (deliveryID string, err error)
	// Explain says whether the webhook accepts the credential of a request, and why not.
	Explain(
		ctx context.Context, hook penstock.Webhook, req factory.WebhookVerification,
	) (factory.WebhookVerified, error)
}

// API is the http.Handler of all routes. It has the checks that each request passes. The handlers
// behind them are methods of small types, which see only the rules that they call. It starts no
// goroutines of its own.
type API struct {
	mux       *http.ServeMux
	unmatched Route         // of requests that match no other
	wait      time.Duration // time limit of a request that is not a stream

	proxies     []netip.Prefix // that are trusted
	plain       plainNetworks
	origins     corsOrigins
	auth        *authenticator
	rate        *keyRate
	idempotency *idempotency
	observer    *observer
	problems    *problems
	shutdown    *shutdown
}

// New makes an API.
func New(o Options) *API {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	o.KeepAlive = cmp.Or(o.KeepAlive, 15*time.Second)
	o.StreamWrite = cmp.Or(o.StreamWrite, 15*time.Second)
	metrics, stopping := newMetrics(o.Registerer), newShutdown()
	a := &API{
		mux: http.NewServeMux(), wait: cmp.Or(o.RequestTimeout, 30*time.Second),
		proxies: o.TrustedProxies, plain: o.PlainNetworks, origins: o.CORSOrigins,
		auth:        newAuthenticator(o.Rules.Keys, o.Rules.Sessions, o.PublicURL, o.FailuresPerMinute),
		rate:        newKeyRate(o.RequestsPerMinute, o.Rules.Keys),
		idempotency: newIdempotency(o.Rules.Responses),
		observer:    newObserver(o.Log, metrics, o.Tracer),
		problems:    &problems{origin: o.PublicURL, log: o.Log, shutdown: stopping},
		shutdown:    stopping,
	}
	a.unmatched = Route{Public: true, plain: true, handle: a.noRoute}
	for _, route := range routes(a.handlers(o, metrics)) {
		if o.NoMCP && slices.Contains(mcpPaths, route.Pattern) {
			continue
		}
		route.Public = route.Public || route.Pattern == metricsPath && o.MetricsOpen
		a.mux.HandleFunc(
			route.Method+" "+route.Pattern, func(w http.ResponseWriter, r *http.Request) { a.serve(&route, w, r) },
		)
	}
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { a.serve(&a.unmatched, w, r) })
	return a
}

// ServeHTTP serves a request with the route of its path, and logs, counts and traces it. Only exact
// paths have a route: with the router's redirects to a clean path, clients would send a POST, or
// the token in a link, twice.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := r.URL.Path; p == "" || p[0] != '/' || p != "/" && path.Clean(p) != strings.TrimSuffix(p, "/") {
		a.serve(&a.unmatched, w, r)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// Stop ends event streams so that their clients reconnect soon, ends the long polls of workers, and
// makes the server unready. It can be called repeatedly.
func (a *API) Stop() { a.shutdown.stop() }

func (a *API) drain() { a.shutdown.draining.Store(true) }

// serve handles one request: all checks of this layer in order, then the handler of the route.
func (a *API) serve(route *Route, w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	c := &call{route: route, r: r, rec: recorder{ResponseWriter: w}, peer: peerOf(r, a.proxies)}
	c.w = &c.rec
	defer a.observer.span(c)()
	c.caller = c.r.Context()
	defer c.limitWait(a.wait)()
	defer func() { a.observer.observe(c, time.Since(start)) }()
	defer a.problems.recover(c)
	c.begin()
	a.origins.allow(c)
	if c.preflight() {
		return
	}
	if err := a.admit(c); err != nil {
		a.problems.respond(c, err)
		return
	}
	if err := a.idempotency.handle(c); err != nil {
		a.problems.respond(c, err)
	}
}

// admit checks whether the handler may see the request.
func (a *API) admit(c *call) error {
	if err := a.plain.check(c); err != nil {
		return err
	}
	if p := c.r.URL.Path; strings.ContainsRune(p, 0) || !utf8.ValidString(p) {
		return penstock.Errorf(penstock.CodeNotFound, "this path does not exist")
	}
	if c.route.Public && !(c.route.KeyRead && a.auth.offered(c)) {
		return nil
	}
	if err := a.auth.authenticate(c); err != nil {
		return err
	}
	if err := a.rate.limit(c); err != nil || c.route.Public {
		return err
	}
	return c.authorize()
}

// noRoute responds with 405 if the path has a route with another method, and otherwise with 404.
func (a *API) noRoute(c *call) error {
	var allowed []string
	probe := *c.r
	for _, method := range []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	} {
		probe.Method = method
		if _, pattern := a.mux.Handler(&probe); pattern != "/" && pattern != "" && pattern != get+" "+dashboard {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 || c.r.URL.Path == "" || path.Clean(c.r.URL.Path) != c.r.URL.Path {
		a.auth.identify(c)
		return penstock.Errorf(penstock.CodeNotFound, "this path does not exist")
	}
	c.w.Header().Set("Allow", strings.Join(allowed, ", "))
	return penstock.Errorf(penstock.CodeMethodNotAllowed, "this path supports only %s", strings.Join(allowed, ", "))
}
