package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/penstock-dev/penstock"
)

// metrics are the metrics of the HTTP layer. The zero value does nothing.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	streams  prometheus.Gauge
	dropped  prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_http_requests_total", Help: "Completed requests.",
		}, []string{"method", "route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "penstock_http_request_duration_seconds",
			Help:    "Time from the headers of a request to the end of its response. Event streams are not included.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method", "route"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "penstock_stream_clients", Help: "Current listeners to live events.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "penstock_stream_clients_dropped_total", Help: "Listeners that were disconnected for reading too slowly.",
		}),
	}
	if r != nil {
		r.MustRegister(m.requests, m.duration, m.streams, m.dropped)
	}
	return m
}

// observer logs, counts and traces requests.
type observer struct {
	log     *slog.Logger
	metrics *metrics
	tracer  trace.Tracer // nil: requests are not traced
}

func newObserver(log *slog.Logger, m *metrics, traces trace.TracerProvider) *observer {
	o := &observer{log: log, metrics: m}
	if traces != nil {
		o.tracer = traces.Tracer("github.com/penstock-dev/penstock/internal/httpapi")
	}
	return o
}

// observe logs and counts a finished request. It uses the route instead of the path, because paths
// and queries can contain credentials.
func (o *observer) observe(c *call, took time.Duration) {
	route, method := c.route.Pattern, c.r.Method
	if route == "" {
		route, method = "unmatched", "any" // callers must not be able to create labels
	}
	status := c.rec.status
	if status == 0 {
		status = statusClosed // nothing was sent: the connection is gone
	}
	o.metrics.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	if !c.isStream() {
		o.metrics.duration.WithLabelValues(method, route).Observe(took.Seconds())
	}
	level := slog.LevelInfo
	anonymous := c.principal.Team == ""
	if c.route.plain && status < 400 || status == http.StatusNotFound && anonymous {
		level = slog.LevelDebug // probes of supervisors and scanners
	}
	ctx := context.WithoutCancel(c.r.Context())
	if !o.log.Enabled(ctx, level) {
		return
	}
	run := c.r.PathValue("runId")
	if !penstock.ValidID(run) {
		run = "" // it could be any text in a path
	}
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs,
		slog.String("method", c.r.Method), slog.String("route", route), slog.Int("status", status),
		slog.Int64("bytes", c.rec.bytes), slog.Duration("duration", took), slog.String("request_id", c.requestID),
		slog.String("client", c.peer.addr.String()))
	for _, optional := range []struct{ name, value string }{
		{"key_uid", c.principal.KeyUID}, {"run_id", run}, {"error_code", string(c.code)}, {"trace_id", c.traceID()},
	} {
		if optional.value != "" {
			attrs = append(attrs, slog.String(optional.name, optional.value))
		}
	}
	o.log.LogAttrs(ctx, level, "request", attrs...)
}

// span starts the request's span if there is a tracer. otelhttp would record the path, which may
// contain a token.
func (o *observer) span(c *call) (end func()) {
	if o.tracer == nil {
		return func() {}
	}
	ctx := propagation.TraceContext{}.Extract(c.r.Context(), propagation.HeaderCarrier(c.r.Header))
	name, route := c.route.Method+" "+c.route.Pattern, c.route.Pattern
	if route == "" {
		name, route = "unmatched", "unmatched"
	}
	//nolint:spancheck // the caller ends it
	ctx, span := o.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
	c.r = c.r.WithContext(ctx)
	return func() { //nolint:spancheck // see above
		status := cmp.Or(c.rec.status, statusClosed)
		span.SetAttributes(
			attribute.String(
				"http.request.method", spanMethod(c.r.Method),
			), attribute.String("http.route", route), attribute.String("url.path", route),
			attribute.Int("http.response.status_code", status), attribute.String("client.address", c.peer.addr.String()),
			attribute.String("user_agent.original", c.r.UserAgent()), attribute.String("penstock.request_id", c.requestID),
		)
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, string(c.code))
		}
		span.End()
	}
}

// spanMethod returns the method for traces (OpenTelemetry semantic conventions for HTTP). It
// replaces an unknown method, which could be any text.
func spanMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return method
	default:
		return "_OTHER"
	}
}
