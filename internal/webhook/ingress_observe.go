package webhook

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// ingressMetrics are the counts of deliveries. Their labels come from a list of
// ours: what a sender says is in none.
type ingressMetrics struct {
	deliveries *prometheus.CounterVec
	duration   prometheus.Histogram
}

func newIngressMetrics(to prometheus.Registerer) *ingressMetrics {
	m := &ingressMetrics{
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_deliveries_total", Help: "Requests to webhooks, by what became of them.",
		}, []string{"outcome", "reason"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "penstock_delivery_duration_seconds", Help: "Time from the headers of a delivery to the end of its answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
	}
	if to != nil {
		to.MustRegister(m.deliveries, m.duration)
	}
	return m
}

// route is the path as logs and traces show it, whether it was sent like that or
// not.
func (d *intake) route() string {
	switch {
	case d.uid == "":
		return Prefix + "{uid}"
	case d.hasToken:
		return Prefix + d.uid + "/{token}"
	default:
		return Prefix + d.uid
	}
}

// observe counts and logs a delivery that was answered. What is accepted is in
// the delivery log, and here for who debugs; so is what comes too often.
func (in *Ingress) observe(d *intake) {
	took := time.Since(d.received)
	in.metrics.deliveries.WithLabelValues(d.label, d.reason).Inc()
	in.metrics.duration.Observe(took.Seconds())
	level := slog.LevelInfo
	if d.status < http.StatusMultipleChoices || d.status == http.StatusTooManyRequests {
		level = slog.LevelDebug
	}
	if !in.Log.Enabled(d.r.Context(), level) {
		return
	}
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(
		attrs, slog.String("path", d.route()), slog.Int("status", d.status), slog.String("outcome", d.label),
		slog.Duration("duration", took),
	)
	for _, optional := range []struct{ name, value string }{
		{"reason", d.reason}, {"delivery_id", d.deliveryID}, {"client", d.clientIP},
	} {
		if optional.value != "" {
			attrs = append(attrs, slog.String(optional.name, optional.value))
		}
	}
	if span := trace.SpanContextFromContext(d.r.Context()); span.HasTraceID() {
		attrs = append(attrs, slog.String("trace_id", span.TraceID().String()))
	}
	in.Log.LogAttrs(d.r.Context(), level, "delivery", attrs...)
}

// span begins the delivery's span where there is a tracer. It is not otelhttp's,
// which records the path.
func (in *Ingress) span(d *intake) (end func()) {
	if in.tracer == nil {
		return func() {}
	}
	ctx := propagation.TraceContext{}.Extract(d.r.Context(), propagation.HeaderCarrier(d.r.Header))
	//nolint:spancheck // the caller ends it
	ctx, span := in.tracer.Start(
		ctx, http.MethodPost+" "+Prefix+"{uid}", trace.WithSpanKind(trace.SpanKindServer),
	)
	d.r = d.r.WithContext(ctx)
	return func() { //nolint:spancheck // see above
		span.SetAttributes(
			attribute.String("http.route", Prefix+"{uid}"), attribute.String("url.path", d.route()),
			attribute.Int("http.response.status_code", d.status),
			attribute.String("penstock.outcome", d.label), attribute.String("penstock.reason", d.reason),
			attribute.String("penstock.delivery_id", d.deliveryID),
		)
		if d.status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, d.label)
		}
		span.End()
	}
}
