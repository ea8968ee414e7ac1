// Package httpapi is the HTTP layer: the routes of /api/v1, what is read from a
// request before a rule of the service sees it (limits, JSON, queries, keys,
// idempotency), how answers, errors and live events are written, and both ends
// of the worker's contract over HTTP.
//
// A request goes through serve, which is the order of all checks in one place:
// connection, key, rate, scope, idempotency, handler. A handler decodes, calls
// one method of the service and responds.
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
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/api"
	"github.com/penstock-dev/penstock/internal/rate"
	"github.com/penstock-dev/penstock/internal/service"
	"github.com/penstock-dev/penstock/web"
)

// Options is what an API is made of. Service and PublicURL are required.
type Options struct {
	Service   *service.Service
	Log       *slog.Logger // nil: nothing is logged
	PublicURL string       // where clients reach the server, without a slash at the end

	RequestsPerMinute  int            // of one key; 0: no limit
	FailuresPerMinute  int            // requests with a bad key, of one client address; 0: no limit
	ValidatesPerMinute int            // validations of files without a key, of one client address; 0: no limit
	TrustedProxies     []netip.Prefix // whose X-Forwarded-For and X-Forwarded-Proto are believed
	CORSOrigins        []string       // whose pages may call the API; "*": all; none by default

	TempDir        string        // for uploads that are being received; default the system's
	KeepAlive      time.Duration // between comments of a quiet event stream; default 15 s
	StreamWrite    time.Duration // how long a listener may take to read a batch of events; default 15 s
	RequestTimeout time.Duration // how long a request that is no stream waits for its answer; default 30 s

	Metrics     http.Handler          // of /metrics; nil: 404
	MetricsOpen bool                  // /metrics needs no key
	Registerer  prometheus.Registerer // of the API's own metrics; nil: none are kept
	Tracer      trace.TracerProvider  // nil: requests are not traced
}

// API answers requests. It is an http.Handler that starts nothing by itself.
type API struct {
	svc     *service.Service
	log     *slog.Logger
	origin  string
	options Options

	mux      *http.ServeMux
	pages    http.Handler // of /docs
	site     http.Handler // the dashboard
	cookie   string       // of a session
	perKey   *limiter     // requests of a key
	failures *limiter     // bad keys and sessions of a client address
	crowd    *crowd       // callers without a key
	flights  flights
	metrics  *metrics
	tracer   trace.Tracer // nil: requests are not traced

	ratePolicy []string

	stopping context.Context //nolint:containedctx // no request's: done when Stop was called
	stop     context.CancelFunc
}

// New makes an API.
func New(o Options) *API {
	a := &API{
		svc: o.Service, origin: strings.TrimRight(o.PublicURL, "/"),
		log:    cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		perKey: newLimiter(o.RequestsPerMinute), failures: newLimiter(o.FailuresPerMinute),
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

// ServeHTTP answers a request by the route that its path names, and logs, counts
// and traces it. Only exact paths have a route: the router's own redirects to a
// cleaned path would send a POST, or a link's token, once more.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := r.URL.Path; p == "" || p[0] != '/' || p != "/" && path.Clean(p) != strings.TrimSuffix(p, "/") {
		a.serve(&unmatched, w, r)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// Stop tells those who listen to events to come back in a moment, ends the
// waiting of workers, and makes the server unready. It can be called often.
func (a *API) Stop() { a.stop() }

func (a *API) isStopping() bool { return a.stopping.Err() != nil }

// unmatched answers what no route takes.
var unmatched = Route{Public: true, plain: true, handle: (*API).noRoute}

// noRoute is 405 where another method would have found a route, else 404.
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
