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
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/api"
	"github.com/penstock-dev/penstock/internal/rate"
	"github.com/penstock-dev/penstock/internal/service"
	"github.com/penstock-dev/penstock/web"
)

// Options configures an API. Service and PublicURL are required.
type Options struct {
	Service   *service.Service
	Log       *slog.Logger // nil: no log
	PublicURL string       // the address for clients, without a slash at the end
	Version   string       // of the server

	Webhooks Webhooks // tries webhooks; nil: these routes are 404

	RequestsPerMinute  int            // of one key; 0: no limit
	FailuresPerMinute  int            // requests with a bad key, of one client address; 0: no limit
	ValidatesPerMinute int            // validations of files without a key, of one client address; 0: no limit
	TrustedProxies     []netip.Prefix // proxies whose X-Forwarded-For and X-Forwarded-Proto count
	PlainNetworks      []netip.Prefix // whose clients may use plain HTTP, as those on loopback may
	CORSOrigins        []string       // origins whose pages may call the API; "*": all; empty: no origin

	TempDir        string        // for uploads in progress; default: that of the system
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
		ctx context.Context, hook penstock.Webhook, req penstock.TestDelivery, id string, client netip.Addr,
	) (deliveryID string, err error)
	// Explain says whether the webhook accepts the credential of a request, and why not.
	Explain(
		ctx context.Context, hook penstock.Webhook, req penstock.WebhookVerification,
	) (penstock.WebhookVerified, error)
}

// API is the http.Handler of all routes. It starts no goroutines of its own.
type API struct {
	svc     *service.Service
	log     *slog.Logger
	origin  string
	options Options

	mux      *http.ServeMux
	pages    http.Handler // of /docs
	site     http.Handler // the dashboard
	cookie   string       // of a session
	perKey   keyLimit     // requests of a key
	failures *limiter     // bad keys and sessions of a client address
	crowd    *crowd       // callers without a key
	flights  flights
	metrics  *metrics
	tracer   trace.Tracer // nil: requests are not traced

	ratePolicy []string

	draining atomic.Bool     // set by Server.Drain
	unready  atomic.Bool     // a readiness check was rejected and logged
	stopping context.Context //nolint:containedctx // no request's: done when Stop was called
	stop     context.CancelFunc
}

// New makes an API.
func New(o Options) *API {
	a := &API{
		svc: o.Service, origin: strings.TrimRight(o.PublicURL, "/"),
		log:    cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		perKey: newKeyLimit(o.RequestsPerMinute, o.Service.Keys), failures: newLimiter(o.FailuresPerMinute),
		crowd:      newCrowd(o.ValidatesPerMinute),
		ratePolicy: []string{fmt.Sprintf(`"default";q=%d;w=%d`, o.RequestsPerMinute, int(rate.Span.Seconds()))},
		metrics:    newMetrics(o.Registerer),
		mux:        http.NewServeMux(),
	}
	a.pages, a.site = api.Docs(a.origin), web.Handler()
	a.cookie = sessionCookie(a.origin)
	o.KeepAlive = cmp.Or(o.KeepAlive, 15*time.Second)
	o.StreamWrite = cmp.Or(o.StreamWrite, 15*time.Second)
	o.RequestTimeout = cmp.Or(o.RequestTimeout, 30*time.Second)
	a.options = o
	a.stopping, a.stop = context.WithCancel(context.Background())
	if o.Tracer != nil {
		a.tracer = o.Tracer.Tracer("github.com/penstock-dev/penstock/internal/httpapi")
	}
	for _, route := range Routes() {
		route.Public = route.Public || route.Pattern == metricsPath && o.MetricsOpen
		a.mux.HandleFunc(
			route.Method+" "+route.Pattern, func(w http.ResponseWriter, r *http.Request) { a.serve(&route, w, r) },
		)
	}
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { a.serve(&unmatched, w, r) })
	return a
}

// ServeHTTP serves a request with the route of its path, and logs, counts and traces it. Only exact
// paths have a route: with the router's redirects to a clean path, clients would send a POST, or
// the token in a link, twice.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := r.URL.Path; p == "" || p[0] != '/' || p != "/" && path.Clean(p) != strings.TrimSuffix(p, "/") {
		a.serve(&unmatched, w, r)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// Stop ends event streams so that their clients reconnect soon, ends the long polls of workers, and
// makes the server unready. It can be called repeatedly.
func (a *API) Stop() { a.stop() }

func (a *API) drain() { a.draining.Store(true) }

func (a *API) isStopping() bool { return a.stopping.Err() != nil }

// unmatched handles requests that match no route.
var unmatched = Route{Public: true, plain: true, handle: (*API).noRoute}

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
		c.identify()
		return penstock.Errorf(penstock.CodeNotFound, "this path does not exist")
	}
	c.w.Header().Set("Allow", strings.Join(allowed, ", "))
	return penstock.Errorf(penstock.CodeMethodNotAllowed, "this path supports only %s", strings.Join(allowed, ", "))
}
