package webhook

import (
	"cmp"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/request"
)

// unavailableFor is the Retry-After while the database is unavailable.
const unavailableFor = 5 * time.Second

// problems are the bodies of error responses (RFC 9457). They are built once and are the same
// for every delivery, so they reveal nothing about any.
type problems struct {
	origin string
	bodies map[int][]byte
}

func newProblems(origin string) *problems {
	a := &problems{origin: origin, bodies: map[int][]byte{}}
	for _, known := range []struct {
		code   penstock.Code
		detail string
	}{
		{penstock.CodeNotFound, "no webhook has this address"},
		{penstock.CodeMethodNotAllowed, "a webhook accepts POST only"},
		{penstock.CodeAuthenticationRequired, "the delivery has no valid credential"},
		{penstock.CodePayloadTooLarge, "the body is larger than this server allows"},
		{penstock.CodeInvalidRequest, "the body is not valid JSON in UTF-8"},
		{penstock.CodeRateLimited, "too many deliveries; try again after the time in Retry-After"},
		{penstock.CodeUnavailable, "the delivery cannot be stored now; nothing was stored"},
		{penstock.CodeInternal, "the server could not process the delivery"},
	} {
		a.bodies[known.code.Status()] = a.problem(known.code, known.detail)
	}
	a.bodies[http.StatusRequestTimeout] = request.Problem{
		Type: "about:blank", Title: "Request timeout", Status: http.StatusRequestTimeout,
		Error: "Request timeout: the body did not arrive in time", Detail: "the body did not arrive in time", Retryable: true,
	}.JSON()
	return a
}

// problem omits the path, because it may contain a token.
func (a *problems) problem(code penstock.Code, detail string) []byte {
	return request.ProblemOf(a.origin, penstock.Errorf(code, "%s", detail)).JSON()
}

// Constant header values. They are shared, so they must not be modified.
var (
	problemType = []string{request.ProblemType}
	jsonType    = []string{"application/json"}
	noStore     = []string{"no-store"}
	nosniff     = []string{"nosniff"}
	challenge   = []string{`Bearer realm="webhook"`} // RFC 9110 §15.5.2 requires one in every mode
	closing     = []string{"close"}
)

// rejectedError rejects a delivery without a log entry.
type rejectedError struct {
	status int
	label  string        // of the metric
	wait   time.Duration // the Retry-After; 0: no header
}

func (e *rejectedError) Error() string { return "the delivery is rejected: " + e.label }

// errNoWebhook rejects every request without a matching webhook.
var errNoWebhook error = &rejectedError{status: http.StatusNotFound, label: "not_found"}

// respond writes the response for a recorded delivery.
func (d *intake) respond(r factory.DeliveryResult) {
	d.deliveryID, d.label = r.DeliveryID, string(r.Outcome)
	switch r.Outcome {
	case penstock.OutcomeAccepted, penstock.OutcomeDuplicate:
		d.respondAccepted(r)
	case penstock.OutcomeRejectedAuth:
		if r.Answered {
			d.write(http.StatusOK, nil, nil)
			return
		}
		d.reject(http.StatusUnauthorized, d.label, 0)
	case penstock.OutcomeRejectedSize:
		d.reject(http.StatusRequestEntityTooLarge, d.label, 0)
		d.readOn()
	default:
		d.reason = cmp.Or(d.reason, "invalid_json")
		d.badBody(r.Detail)
	}
}

// reject writes an error response. wait becomes the Retry-After, rounded up to whole seconds; 0
// sends none.
func (d *intake) reject(status int, label string, wait time.Duration) {
	d.label = label
	h := d.w.Header()
	if wait > 0 {
		h["Retry-After"] = []string{strconv.Itoa(max(1, int(math.Ceil(wait.Seconds()))))}
	}
	if status == http.StatusUnauthorized {
		h["Www-Authenticate"] = challenge
	}
	d.write(status, problemType, d.in.problems.bodies[status])
}

// badBody writes 400 with the error of the body. The response repeats nothing of the body.
func (d *intake) badBody(detail string) {
	body := d.in.problems.bodies[http.StatusBadRequest]
	if detail != "" {
		body = d.in.problems.problem(penstock.CodeInvalidRequest, detail)
	}
	d.write(http.StatusBadRequest, problemType, body)
}

// respondError writes the response for a rejected delivery or an internal error. The log has
// the full internal error.
func (d *intake) respondError(err error) {
	if rejected, ok := errors.AsType[*rejectedError](err); ok {
		d.reject(rejected.status, rejected.label, rejected.wait)
		return
	}
	var known *penstock.Error
	switch code := penstock.CodeOf(err); {
	case code == penstock.CodeNotFound:
		d.reject(http.StatusNotFound, "not_found", 0)
	case code == penstock.CodeUnavailable, d.r.Context().Err() != nil:
		wait := unavailableFor
		if errors.As(err, &known) && known.RetryAfter > 0 {
			wait = known.RetryAfter
		}
		d.in.Log.WarnContext(d.r.Context(), "cannot accept a delivery", "webhook_uid", d.uid, "error", err)
		d.reject(http.StatusServiceUnavailable, "unavailable", wait)
	default:
		d.in.Log.ErrorContext(d.r.Context(), "cannot accept a delivery", "webhook_uid", d.uid, "error", err)
		d.reject(http.StatusInternalServerError, "failed", 0)
	}
}

// respondAccepted writes the id of the recorded delivery, or the response that the sender expects
// instead.
func (d *intake) respondAccepted(r factory.DeliveryResult) {
	if reply := d.reply; reply != nil {
		var kind []string
		if reply.ContentType != "" {
			kind = []string{reply.ContentType}
		}
		d.write(reply.Status, kind, reply.Body)
		return
	}
	body := `{"delivery_id":"` + r.DeliveryID + `"`
	if r.DuplicateOf != "" {
		body += `,"duplicate_of":"` + r.DuplicateOf + `"`
	}
	d.write(http.StatusAccepted, jsonType, []byte(body+"}"))
}

func (d *intake) write(status int, kind []string, body []byte) {
	d.status = status
	h := d.w.Header()
	if kind != nil {
		h["Content-Type"] = kind
	}
	if status != http.StatusNoContent {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = nosniff
	switch {
	case !d.complete():
		// net/http reads on for a while, so that the sender sees the response. The deadline
		// keeps a slow sender from holding the connection.
		h["Connection"] = closing
		d.bodyUntil(d.received.Add(d.in.BodyTime))
	case d.r.ProtoMajor == 1 && len(d.r.TransferEncoding) > 0:
		// A request with a length and chunks is the last of its connection (RFC 9112
		// §6.1), and net/http does not show which of those with chunks had a length.
		h["Connection"] = closing
	}
	d.w.WriteHeader(status)
	if d.r.Method != http.MethodHead {
		_, _ = d.w.Write(body) // the sender is gone
	}
}

// ingressMetrics are the metrics of deliveries. Their labels come from fixed lists, never from
// the sender.
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
			Name: "penstock_delivery_duration_seconds", Help: "Time from the headers of a delivery to the end of its response.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
	}
	if to != nil {
		to.MustRegister(m.deliveries, m.duration)
	}
	return m
}

// route returns the path for logs and traces.
func (d *intake) route() string {
	switch {
	case d.uid == "":
		return d.in.prefix + "{uid}"
	case d.hasToken:
		return d.in.prefix + d.uid + "/{token}"
	default:
		return d.in.prefix + d.uid
	}
}

// observe counts and logs a delivery. Accepted and rate-limited deliveries are logged at level
// debug.
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

// span starts the delivery's span if tracing is enabled. It does not use otelhttp, which
// records the path.
func (in *Ingress) span(d *intake) (end func()) {
	if in.tracer == nil {
		return func() {}
	}
	ctx := propagation.TraceContext{}.Extract(d.r.Context(), propagation.HeaderCarrier(d.r.Header))
	//nolint:spancheck // the caller ends it
	ctx, span := in.tracer.Start(
		ctx, http.MethodPost+" "+in.prefix+"{uid}", trace.WithSpanKind(trace.SpanKindServer),
	)
	d.r = d.r.WithContext(ctx)
	return func() { //nolint:spancheck // see above
		span.SetAttributes(
			attribute.String("http.route", in.prefix+"{uid}"), attribute.String("url.path", d.route()),
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
