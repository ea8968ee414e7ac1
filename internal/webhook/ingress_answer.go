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
	"github.com/penstock-dev/penstock/internal/problem"
)

// unavailableFor is what a sender is told to wait while the database is away.
const unavailableFor = 5 * time.Second

// answers are the bodies of refusals (RFC 9457), made once: equal for every
// delivery, so that they tell nothing about any.
type answers struct {
	origin string
	bodies map[int][]byte
}

func newAnswers(origin string) *answers {
	a := &answers{origin: origin, bodies: map[int][]byte{}}
	for _, known := range []struct {
		code   penstock.Code
		detail string
	}{
		{penstock.CodeNotFound, "there is no webhook at this address"},
		{penstock.CodeMethodNotAllowed, "a webhook takes POST"},
		{penstock.CodeAuthenticationRequired, "the delivery has no valid credential"},
		{penstock.CodePayloadTooLarge, "the body is larger than a delivery may be"},
		{penstock.CodeInvalidRequest, "the body is not one JSON value in UTF-8"},
		{penstock.CodeRateLimited, "too many deliveries; try again after the time that Retry-After says"},
		{penstock.CodeUnavailable, "the delivery cannot be stored at the moment; nothing was"},
		{penstock.CodeInternal, "the server could not take the delivery"},
	} {
		a.bodies[known.code.Status()] = a.problem(known.code, known.detail)
	}
	a.bodies[http.StatusRequestTimeout] = problem.Details{
		Type: "about:blank", Title: "Request timeout", Status: http.StatusRequestTimeout,
		Error: "Request timeout: the body did not arrive in time", Detail: "the body did not arrive in time", Retryable: true,
	}.JSON()
	return a
}

// problem has no path, which may hold a token.
func (a *answers) problem(code penstock.Code, detail string) []byte {
	return problem.Of(a.origin, penstock.Errorf(code, "%s", detail)).JSON()
}

// Values of headers that never change; shared, so they are never written to.
var (
	problemType = []string{problem.ContentType}
	jsonType    = []string{"application/json"}
	noStore     = []string{"no-store"}
	nosniff     = []string{"nosniff"}
	challenge   = []string{`Bearer realm="webhook"`} // RFC 9110 §15.5.2 asks for one, whatever the mode
	closing     = []string{"close"}
)

// rejectedError is a delivery that is refused without an entry in the log.
type rejectedError struct {
	status int
	label  string        // of the metric
	wait   time.Duration // that the sender is told; 0: none
}

func (e *rejectedError) Error() string { return "the delivery is refused: " + e.label }

// errNoWebhook is told wherever there is none for the sender.
var errNoWebhook error = &rejectedError{status: http.StatusNotFound, label: "not_found"}

// respond says what became of what was recorded.
func (d *intake) respond(r penstock.DeliveryResult) {
	d.deliveryID, d.label = r.DeliveryID, string(r.Outcome)
	switch r.Outcome {
	case penstock.OutcomeAccepted, penstock.OutcomeDuplicate:
		d.respondAccepted(r.DeliveryID)
	case penstock.OutcomeRejectedAuth:
		d.reject(http.StatusUnauthorized, d.label, 0)
	case penstock.OutcomeRejectedSize:
		d.reject(http.StatusRequestEntityTooLarge, d.label, 0)
		d.readOn()
	default:
		d.reason = cmp.Or(d.reason, "invalid_json")
		d.badBody(r.Detail)
	}
}

// reject answers a refusal. wait is said in whole seconds, rounded up; 0: it is
// not said.
func (d *intake) reject(status int, label string, wait time.Duration) {
	d.label = label
	h := d.w.Header()
	if wait > 0 {
		h["Retry-After"] = []string{strconv.Itoa(max(1, int(math.Ceil(wait.Seconds()))))}
	}
	if status == http.StatusUnauthorized {
		h["Www-Authenticate"] = challenge
	}
	d.write(status, problemType, d.in.answers.bodies[status])
}

// badBody answers 400 with what is wrong with the body, which repeats nothing of
// it.
func (d *intake) badBody(detail string) {
	body := d.in.answers.bodies[http.StatusBadRequest]
	if d.reason == "content_encoding" {
		detail = "the body must not be encoded: Content-Encoding must be identity"
	}
	if detail != "" {
		body = d.in.answers.problem(penstock.CodeInvalidRequest, detail)
	}
	d.write(http.StatusBadRequest, problemType, body)
}

// respondError answers a delivery that is refused, or what stands in the way on our side, which
// the log has in full.
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

// respondAccepted answers what is recorded: with the id of its entry, or as its sender
// wants a check of the URL to be answered.
func (d *intake) respondAccepted(id string) {
	if handshake := d.handshake; handshake != nil {
		var kind []string
		if handshake.ContentType != "" {
			kind = []string{handshake.ContentType}
		}
		d.write(handshake.Status, kind, handshake.Body)
		return
	}
	d.write(http.StatusAccepted, jsonType, []byte(`{"delivery_id":"`+id+`"}`))
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
		// net/http reads on for a while, so that the sender gets to see the answer;
		// one that sends slowly shall not keep the connection with it.
		h["Connection"] = closing
		d.bodyUntil(d.received.Add(d.in.BodyTime))
	case d.r.ProtoMajor == 1 && len(d.r.TransferEncoding) > 0:
		// A request with a length and chunks is the last of its connection (RFC 9112
		// §6.1), and net/http does not show which of those with chunks had a length.
		h["Connection"] = closing
	}
	d.w.WriteHeader(status)
	if d.r.Method != http.MethodHead {
		_, _ = d.w.Write(body) // nobody is left to tell
	}
}

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
